"""A generation that takes sampling settings: the probabilities of its draws are those that the settings mean."""

from __future__ import annotations

import pytest

from tests.practice.diagnosis.checks.judging import verdict_on

GENERATE = """
import torch
from torch.nn import functional as F

@torch.no_grad()
def generate(model, idx, max_new_tokens, temperature=1.0, top_k=None, top_p=None):
    for _ in range(max_new_tokens):
        logits = model(idx[:, -model.context_size:])[:, -1, :] / temperature
        if top_k is not None:
            largest = torch.topk(logits, min(top_k, logits.size(-1))).values
            logits[logits < largest[:, [-1]]] = -float("inf")
        if top_p is not None:
            ordered, order = logits.sort(descending=True)
            shares = ordered.softmax(-1)
            ordered[shares.cumsum(-1) - shares >= top_p] = -float("inf")
            logits = ordered.gather(-1, order.argsort(-1))
        idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)), dim=1)
    return idx
"""


@pytest.mark.parametrize("form", ["", ">=", "ordered"])
def test_sampling_by_the_settings_is_correct(tmp_path, form):
    text = GENERATE
    if form == ">=":  # without the token that crosses the limit
        text = text.replace("shares.cumsum(-1) - shares >= top_p", "(shares.cumsum(-1) > top_p) & (shares < shares.amax(-1, True))")
    if form == "ordered":  # draws among the k largest
        text = text.replace("largest = ", "logits, order = ").replace(".values", "").replace("largest[:, [-1]]", "logits[:, [-1]]")
        text = text.replace(
            "idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)), dim=1)",
            "token = torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)\n"
            "        idx = torch.cat((idx, order.gather(-1, token) if top_k is not None else token), dim=1)",
        )
    assert verdict_on(tmp_path, text).is_correct


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("/ temperature", "* temperature"),
        ("/ temperature", ""),
        ("largest[:, [-1]]", "largest[:, [0]]"),
        ("largest[:, [-1]]", "largest[:, [-1]] - 100"),
        ("ordered.softmax(-1)", "logits.softmax(-1)"),
    ],
)
def test_sampling_from_other_probabilities_is_found(tmp_path, right, wrong):
    assert GENERATE.count(right) == 1
    verdict = verdict_on(tmp_path, GENERATE.replace(right, wrong))
    assert [cause.name for cause in verdict.causes] == ["sampling_differs"]


BRANCH = """
        token = torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)
        if temperature == 0:
            token = warm.argmax(-1, keepdim=True)
        idx = torch.cat((idx, token), dim=1)
"""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("argmax(-1, keepdim=True)", "argmax(-1)"),
        ("argmax(-1, keepdim=True)", "argmin(-1, keepdim=True)"),
        ("torch.topk(logits, min(top_k, logits.size(-1))).values", "torch.topk(logits, min(top_k, logits.size(-1)))"),
    ],
)
def test_a_wrong_branch_of_a_setting_is_found(tmp_path, right, wrong):
    text = GENERATE.replace("[:, -1, :] / temperature", "[:, -1, :]\n        warm, logits = logits, logits / (temperature or 1.0)")
    text = text.replace("        idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)), dim=1)\n", BRANCH[1:])
    assert verdict_on(tmp_path, text).is_correct
    assert text.count(right) == 1
    verdict = verdict_on(tmp_path, text.replace(right, wrong))
    assert [cause.name for cause in verdict.causes] == ["sampling_differs"]


@pytest.mark.parametrize("check", ["assert temperature > 0", "if temperature <= 0:\n        raise ValueError(temperature)"])
def test_a_temperature_of_zero_may_be_refused(tmp_path, check):
    assert verdict_on(tmp_path, GENERATE.replace("    for _ in range", f"    {check}\n    for _ in range")).is_correct
