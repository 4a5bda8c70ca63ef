"""The page of a prompt in Chromium."""

from __future__ import annotations

import json

import numpy as np
import pytest

import headway
from headway import functions
from headway.look import model_view
from headway.look.html import MAX_BYTES
from headway.look.model_trace import Attention, Guess, ModelTrace, Residual, Token, packed
from headway.look.model_view import ModelView
from tests.look.browser import browser, opened

PROMPT = "Once upon a time there was a"


@pytest.fixture(scope="module")
def started():
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def view():
    return headway.look(PROMPT, model="stories")


@pytest.fixture(scope="module")
def file(tmp_path_factory, view):
    path = tmp_path_factory.mktemp("look") / "story.html"
    view.save(path)
    return path


def small(*, text="a", heads=2, layers=2, length=4, vocab=50):
    """Return a trace with random numbers, and this text for every token."""
    random = np.random.default_rng(0)
    token = Token(3, text, text, "")
    attention = [
        Attention("self", layer, 1, packed(functions.softmax(random.standard_normal((heads, length, length))))) for layer in range(layers)
    ]
    row = Residual(tuple(random.random(length).tolist()), tuple((Guess(token, 0.5),) * 3 for _ in range(length)))
    logits = random.standard_normal(vocab).astype(np.float32) * 3
    named = tuple(Token(int(each), text, text, "") for each in np.argsort(-logits))
    return ModelTrace(
        text, "decoder", text, (token,) * length, (), packed(random.random((length, 4))), tuple(attention), (row,) * (layers + 1),
        length - 1, packed(logits), named,
    )  # fmt: skip


@pytest.mark.parametrize(("theme", "language", "width"), [("light", "en", 1280), ("dark", "zh", 320)])
def test_no_request_leaves_the_page_and_nothing_is_logged(started, file, theme, language, width):
    page = opened(started, file, theme=theme, language=language, width=width)
    page.page.locator(".head").nth(5).click()
    page.page.locator(".large .heat canvas").click()
    page.page.locator("td[tabindex]").first.hover()
    assert page.requests == []
    assert page.messages == []
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    page.page.context.close()


def set_options(page, options):
    """Move the sliders as a person would, and return the probabilities that the page shows by token id."""
    for name, value in options.items():
        page.locator(f"#option-{name}").evaluate(
            "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }", str(value)
        )
    rows = page.locator(".option").evaluate_all("rows => rows.map(row => [row.dataset.id, row.dataset.probability])")
    return {int(token): float(probability) for token, probability in rows}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"temperature": 0.5},
        {"temperature": 1.75, "top_k": 7},
        {"top_p": 0.8},
        {"temperature": 1.3, "top_p": 0.95, "min_p": 0.02},
        {"temperature": 0.8, "top_k": 12, "top_p": 0.9, "min_p": 0.1},
    ],
)
def test_the_sliders_give_the_probabilities_of_the_definitions(started, file, view, options):
    page = opened(started, file)
    shown = set_options(page.page, options)
    logits = view.trace.logits.array().astype(np.float64)
    right = functions.scale_by_temperature(logits, options.get("temperature", 1.0))
    for name, keep in (("top_k", functions.keep_top_k), ("top_p", functions.keep_top_p), ("min_p", functions.keep_min_p)):
        right = keep(right, options[name]) if name in options else right
    right = functions.softmax(right)
    assert len(shown) == 20
    for token, probability in shown.items():
        assert probability == pytest.approx(right[token], abs=1e-6)
    assert f"{np.count_nonzero(right)} of {len(right)} tokens" in page.page.locator("main").inner_text()
    page.page.context.close()


def test_temperature_zero_takes_the_most_likely_token(started, file, view):
    page = opened(started, file)
    shown = set_options(page.page, {"temperature": 0})
    assert [token for token, probability in shown.items() if probability] == [int(view.trace.logits.array().argmax())]
    page.page.context.close()


def test_the_attention_under_the_cursor_is_the_models(started, file, view):
    page = opened(started, file)
    own = page.page
    button = own.get_by_role("button", name="layer 2, head 1")
    button.focus()
    own.keyboard.press("Enter")
    own.locator(".large .heat canvas").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        own.keyboard.press(key)
    number = own.locator(".large .readout .number")
    layer, head, row, column = map(int, number.get_attribute("data-index").split(","))
    assert (layer, head, row, column) == (2, 1, 3, 1)
    assert float(number.get_attribute("data-number")) == view.trace.attentions[layer].weights.array()[head, row, column]
    page.page.context.close()


def test_a_token_is_never_markup(started, tmp_path):
    hostile = "<script>document.title='run'</script>"
    ModelView(small(text=hostile)).save(tmp_path / "hostile.html")
    page = opened(started, tmp_path / "hostile.html")
    assert page.page.title() == hostile
    assert page.page.locator("#app script").count() == 0
    assert hostile in page.page.locator(".tokens").inner_text()
    assert page.messages == []
    page.page.context.close()


def test_a_page_of_the_embedded_model_with_32_tokens_is_below_two_megabytes():
    view = headway.look(" ".join(["the cat"] * 16), model="stories")
    assert len(view.trace.tokens) >= 32
    assert len(view.html().encode()) < 2 * 2**20


@pytest.mark.parametrize(
    ("kilobytes", "note", "layers"),
    [(400, "float16", 8), (240, "for 2 of 8 layers", 2), (190, "Attention is left out, because", 0), (130, "most likely token only", 0)],
)
def test_a_large_page_stores_less_attention_and_says_so(started, tmp_path, monkeypatch, kilobytes, note, layers):
    monkeypatch.setattr(model_view, "MAX_BYTES", kilobytes * 1000)
    view = ModelView(small(heads=4, layers=8, length=48))
    document = view.html()
    assert len(document.encode()) <= kilobytes * 1000
    assert '"dtype":"float16"' in document or not layers
    (tmp_path / "large.html").write_text(document)
    page = opened(started, tmp_path / "large.html")
    assert note in page.page.locator("footer").inner_text()
    own = page.page
    assert own.locator(".layer").count() == layers
    if layers:
        own.get_by_role("button", name="layer 4, head 2").click()
        own.locator(".large .heat canvas").focus()
        own.keyboard.press("ArrowRight")
        number = own.locator(".large .readout .number")
        assert number.get_attribute("data-index") == "4,2,0,1"
        assert float(number.get_attribute("data-number")) == pytest.approx(view.trace.attentions[4].weights.array()[2, 0, 1], abs=1e-3)
    assert page.messages == []
    page.page.context.close()


def test_the_limit_is_five_megabytes():
    assert MAX_BYTES == 5 * 2**20


def test_two_prompts_are_shown_next_to_each_other(started, tmp_path, view):
    both = headway.look(PROMPT, model="stories", ablate=["1"], compare=PROMPT)
    both.save(tmp_path / "both.html")
    page = opened(started, tmp_path / "both.html")
    own = page.page
    own.get_by_role("button", name="layer 2, head 1", exact=True).last.click()
    assert own.locator(".head[aria-pressed=true]").count() == 2, "the choice is the same in both"
    own.locator(".large .heat canvas").nth(1).hover(position={"x": 150, "y": 150})
    number = own.locator(".large .readout .number")
    layer, head, row, column = map(int, number.get_attribute("data-index").split(","))
    assert float(number.get_attribute("data-number")) == view.trace.attentions[layer].weights.array()[head, row, column]
    assert own.locator(".part").all_inner_texts() == ["layer 1"]
    shown = own.locator(".changes tbody tr").evaluate_all("rows => rows.map(row => [row.dataset.id, row.dataset.difference])")
    right = [(token.id, after - before) for token, before, after in model_view.changes(both.trace, both.compared)]
    assert [int(token) for token, _ in shown] == [token for token, _ in right]
    np.testing.assert_allclose([float(each) for _, each in shown], [each for _, each in right], atol=1e-6)
    assert page.messages == []
    assert page.requests == []
    page.page.context.close()


def test_data_in_the_page_is_the_trace(file, view):
    text = file.read_text().partition('id="data">')[2].partition("</script>")[0]
    assert json.loads(text)["traces"] == [json.loads(view.trace.to_json())]
