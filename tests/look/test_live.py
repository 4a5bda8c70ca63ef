"""The page of `headway look --serve`, in Chromium and by its requests."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from headway import functions
from headway.errors import OptionError
from headway.look.live import LiveRequest, answer
from headway.look.models import open_model
from tests.look.browser import Opened, browser
from tests.look.live_server import TOKEN, serving_look

httpx = pytest.importorskip("httpx", reason="needs httpx")
pytest.importorskip("uvicorn", reason="needs the extra serve")

PROMPT = "Once upon a time"


@pytest.fixture(scope="module")
def serving():
    with serving_look(open_model("stories"), PROMPT) as found:
        yield found


@pytest.fixture(scope="module")
def started():
    with browser() as found:
        yield found


@pytest.fixture
def page(serving, started):
    """The page with the first prompt; at the end it must have logged nothing and asked no other server."""
    context = started.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(120_000)
    opened = Opened(context.new_page())
    opened.guard(serving.url)
    opened.page.goto(f"{serving.url}#theme=light&lang=en")
    opened.page.wait_for_selector(".token")
    yield opened.page
    assert opened.messages == []
    assert opened.requests == []
    context.close()


def ready(page):
    """Wait until no request runs."""
    page.locator("[role=status]:empty").wait_for(state="attached")
    assert page.locator("[role=alert]").inner_text() == ""


def shown_ids(page, pane=0):
    """Return the token ids that a pane shows."""
    return [int(each) for each in page.locator(".tokens").nth(pane).locator(".id").all_inner_texts()]


def shown_probabilities(page, pane=0):
    """Return the probabilities that a pane shows, by token id."""
    rows = (
        page.locator(".bars")
        .nth(pane)
        .locator(".option")
        .evaluate_all("rows => rows.map(row => [row.dataset.id, row.dataset.probability])")
    )
    return {int(token): float(probability) for token, probability in rows}


def check_probabilities(page, trace, pane=0):
    right = functions.softmax(trace.logits.array().astype(np.float64))
    shown = shown_probabilities(page, pane)
    assert list(shown) == [each.id for each in trace.named[:20]]
    np.testing.assert_allclose(list(shown.values()), right[list(shown)], atol=1e-6)


@pytest.mark.slow
def test_a_prompt_is_edited_with_the_keyboard(page, serving):
    field = page.locator("#prompt-0")
    assert field.input_value() == PROMPT
    field.fill("The cat <b>sat</b>")
    field.press("Enter")
    ready(page)
    right = serving.model.trace("The cat <b>sat</b>")
    assert shown_ids(page) == [each.id for each in right.tokens]
    check_probabilities(page, right)
    assert page.evaluate("document.activeElement.id") == "prompt-0"
    assert page.locator("#app b").count() == 0


@pytest.mark.slow
def test_a_sampled_token_and_a_chosen_token_are_appended(page, serving):
    before = serving.model.trace(PROMPT)
    ids = [each.id for each in before.tokens]
    page.locator("#option-temperature").evaluate("input => { input.value = 0; input.dispatchEvent(new Event('input')); }")
    page.locator("#sample-0").click()
    ready(page)
    ids.append(int(before.logits.array().argmax()))
    assert shown_ids(page) == ids
    second = serving.model.trace(ids)
    chosen = second.named[3]
    page.locator(f"#append-0-{chosen.id}").click()
    ready(page)
    ids.append(chosen.id)
    assert shown_ids(page) == ids
    assert page.locator("#prompt-0").input_value() == serving.model.tokenizer.decode(ids)
    assert page.locator("#option-temperature").input_value() == "0", "the options stay"


@pytest.mark.slow
def test_a_head_and_a_layer_are_switched_off_and_on(page, serving):
    page.get_by_role("button", name="layer 2, head 1", exact=True).click()
    page.get_by_role("button", name="Switch off layer 2, head 1").click()
    ready(page)
    check_probabilities(page, serving.model.trace(PROMPT, ablate=["2.1"]))
    assert page.evaluate("document.activeElement.id") == "head-0"
    page.locator("#layer-0").click()
    ready(page)
    check_probabilities(page, serving.model.trace(PROMPT, ablate=["2.1", "2"]))
    assert page.locator("button.part").all_inner_texts() == ["layer 2, head 1 ×", "layer 2 ×"]
    page.locator("button.part").first.click()
    ready(page)
    page.locator("button.part").first.click()
    ready(page)
    check_probabilities(page, serving.model.trace(PROMPT))


@pytest.mark.slow
def test_two_prompts_are_compared(page, serving):
    page.locator("#compare").click()
    page.locator("#head-1").click()
    ready(page)
    whole, ablated = serving.model.trace(PROMPT), serving.model.trace(PROMPT, ablate=["0.0"])
    check_probabilities(page, whole)
    check_probabilities(page, ablated, 1)
    rows = page.locator(".changes tbody tr").evaluate_all("rows => rows.map(row => [row.dataset.id, row.dataset.difference])")
    first, second = (functions.softmax(each.logits.array().astype(np.float64)) for each in (whole, ablated))
    for token, difference in rows:
        assert float(difference) == pytest.approx(second[int(token)] - first[int(token)], abs=1e-6)
    page.locator("#prompt-1").fill("The dog")
    page.locator("#run-1").click()
    ready(page)
    assert shown_ids(page, 1) == serving.model.tokenizer.encode("The dog")
    assert shown_ids(page) == serving.model.tokenizer.encode(PROMPT)
    page.locator("#compare").click()
    assert page.locator(".tokens").count() == 1


@pytest.mark.slow
@pytest.mark.parametrize(("language", "theme"), [("en", "dark"), ("zh", "light")])
def test_an_error_is_shown_and_the_page_fits_320_pixels(serving, started, language, theme):
    context = started.new_context(viewport={"width": 320, "height": 640})
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(f"{serving.url}#theme={theme}&lang={language}&prompt=The dog")
    page.locator("#compare").click()
    assert page.locator("#compare").inner_text() == ("Show one prompt" if language == "en" else "只显示一个提示")
    assert shown_ids(page) == serving.model.tokenizer.encode("The dog"), "the prompt of the address"
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 320
    page.locator("#prompt-1").fill("word " * 600)
    page.locator("#run-1").click()
    page.locator("[role=alert]", has_text="expected at most 512").wait_for()
    assert page.locator("#prompt-1").input_value().startswith("word")
    assert shown_ids(page, 1) == shown_ids(page)
    context.close()


@pytest.fixture
def client(serving):
    with httpx.Client(base_url=serving.url, timeout=600) as found:
        yield found


def test_the_page_has_a_strict_policy_in_its_header(client):
    reply = client.get("")
    assert reply.status_code == 200
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert reply.headers["referrer-policy"] == "no-referrer", "the address is a secret"
    assert reply.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 404),
        ("/trace", {}, 404),
        ("/secret/", {}, 404),
        (f"/{TOKEN}x/", {}, 404),
        (f"/{TOKEN}/other", {}, 404),
        (f"/{TOKEN}/../", {}, 404),
        (f"/{TOKEN}/", {"host": "evil.example"}, 403),
        (f"/{TOKEN}/", {"host": "127.0.0.1"}, 403),
        (f"/{TOKEN}/", {"origin": "http://evil.example"}, 403),
        (f"/{TOKEN}/", {"origin": "null"}, 403),
    ],
)
def test_other_paths_hosts_and_origins_are_refused(serving, path, headers, status):
    assert httpx.get(f"http://127.0.0.1:{serving.port}{path}", headers=headers, timeout=600).status_code == status


def test_localhost_is_the_same_host(serving):
    assert httpx.get(serving.url, headers={"host": f"localhost:{serving.port}"}, timeout=600).status_code == 200


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b'{"prompt": "Once"}', "application/json", 200),
        (b'{"prompt": "Once"}', "text/plain", 415),
        (b'{"prompt": "Once", "ablate": ["99"]}', "application/json", 400),
        (b'{"prompt": ""}', "application/json", 400),
        (b'{"prompt": [-1]}', "application/json", 400),
        (b'{"prompt": [99999]}', "application/json", 400),
        (b'{"prompt": "\\ud800"}', "application/json", 400),
        (b"{", "application/json", 400),
        (b'"' + b"x" * 1_000_001 + b'"', "application/json", 413),
    ],
)
def test_requests_are_checked(client, body, kind, status):
    reply = client.post("trace", content=body, headers={"content-type": kind})
    assert reply.status_code == status
    assert ("trace" in reply.json()) == (status == 200)
    assert ("error" in reply.json()) == (status != 200)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"prompt": 3}', b'{"prompt": [true]}', b'{"prompt": "x", "target": [1.5]}', b'{"prompt": "x", "ablate": "3"}',
             b'{"prompt": "x", "more": 1}', b'{"prompt": "x", "model": 3}', b"[" * 100_000]
)  # fmt: skip
def test_a_body_that_is_no_request_is_refused(body):
    with pytest.raises(OptionError):
        LiveRequest.from_json(body)


def test_an_answer_is_kept_small_and_says_so(serving):
    request = LiveRequest("Once upon a time " * 20)
    whole, small = answer(serving.model, request), answer(serving.model, request, most_bytes=600_000)
    assert len(small) <= 600_000 < len(whole)
    assert b"because the page would otherwise be larger" in small


@pytest.mark.slow
def test_the_command_prints_its_address_and_ends_with_an_interrupt(tmp_path):
    command = [sys.executable, "-m", "headway", "look", "--serve", "--lang", "en"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}) as process:
        assert process.stderr is not None
        url = re.search(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", process.stderr.readline())[0]
        process.stderr.readline()
        assert "<title>stories</title>" in httpx.get(url, timeout=600).text
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 0
    assert "Traceback" not in rest
