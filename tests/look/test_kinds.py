"""Pages of encoders and encoder–decoders: every card, and a decoder's tokens that are appended."""

from __future__ import annotations

import json

import pytest
import torch
import transformers

from headway.checkpoints import load_checkpoint
from headway.look.live import LiveRequest, answer
from headway.look.model_view import ModelView
from headway.look.models import TracedModel
from tests.look.browser import browser, opened
from tests.look.test_model_trace import IDS, MODELS, TARGET, Words

CARDS = {
    "bert": ["Tokens", "Next token after t22", "Self-attention", "Logit lens", "Norm of the residual stream"],
    "t5": [
        "Source tokens, read by the encoder",
        "Target tokens, written by the decoder",
        "Next token after t2",
        "Self-attention of the encoder",
        "Self-attention",
        "Cross-attention: target to source",
        "Logit lens",
        "Norm of the residual stream",
    ],
}


@pytest.fixture(scope="module", params=["bert", *(pytest.param(name, marks=pytest.mark.slow) for name in CARDS if name != "bert")])
def model(request, tmp_path_factory):
    config, kind = MODELS[request.param]
    torch.manual_seed(0)
    transformers.set_seed(0)
    folder = tmp_path_factory.mktemp(request.param)
    kind(config).eval().save_pretrained(folder)
    return request.param, TracedModel(request.param, load_checkpoint(folder), Words())


def test_the_page_has_a_card_for_every_part(model, tmp_path):
    name, traced = model
    trace = traced.trace(IDS, target=TARGET if name == "t5" else None, ablate=["1.2"])
    ModelView(trace, traced.trace(IDS, target=TARGET if name == "t5" else None)).save(tmp_path / "page.html")
    with browser() as started:
        page = opened(started, tmp_path / "page.html", width=320)
        titles = page.page.locator(".card > h2").all_inner_texts()
        assert [each for each in titles if not each.startswith("Largest changes")] == CARDS[name]
        for canvas in page.page.locator(".large .heat canvas").all():
            canvas.focus()
            page.page.keyboard.press("ArrowRight")
        numbers = page.page.locator(".large .readout .number")
        assert numbers.count() == 2 * len({each.kind for each in trace.attentions})
        assert page.page.evaluate("() => document.documentElement.scrollWidth") <= 320
        assert page.messages == []


def test_a_token_is_appended_to_the_target(model):
    name, traced = model
    if name == "bert":
        pytest.skip("an encoder continues nothing")
    body = json.dumps({"prompt": IDS, "target": [*TARGET, 7], "ablate": []}).encode()
    found = json.loads(answer(traced, LiveRequest.from_json(body)))["trace"]
    assert [each["id"] for each in found["tokens"]] == [0, *TARGET, 7]
    assert [each["id"] for each in found["source"]] == IDS
