"""The page of a trace in Chromium: alone, correct, and usable with a keyboard and on a telephone."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import headway
from headway import functions
from headway.look.definitions import view_of_trace
from headway.look.examples import example_inputs
from headway.look.html import Panel, in_script
from headway.look.models import open_model
from headway.look.recording import record
from headway.look.view import View
from headway.practice.message import same
from tests.look.browser import browser, opened


@pytest.fixture(scope="module")
def started():
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def inputs():
    return example_inputs(functions.scaled_dot_product_attention)


@pytest.fixture(scope="module")
def file(tmp_path_factory, inputs):
    path = tmp_path_factory.mktemp("look") / "attention.html"
    headway.look("scaled_dot_product_attention", **inputs).save(path)
    return path


def hover(page, row, column, rows, columns):
    """Move the pointer to a cell of the inspector's heat map, found from the layout that the page reports."""
    canvas = page.locator(".inspector .heat canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    left = 15
    width, height = (box["width"] - left - 2) / columns, (box["height"] - 18 - 2) / rows
    page.mouse.move(box["x"] + left + (column + 0.5) * width, box["y"] + 18 + (row + 0.5) * height)


def shown_number(page):
    """Return the number in the readout, with the index that precedes it."""
    text = page.locator(".readout").inner_text()
    indices = [int(each) for each in re.findall(r"=(\d+)[,\]]", text)]
    return indices, float(page.locator(".readout .number").get_attribute("data-number"))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_request_leaves_the_page_and_nothing_is_logged(started, file, theme, language):
    page = opened(started, file, theme=theme, language=language)
    page.page.locator("details.inner summary").first.click()
    page.page.locator(".inspector .heat canvas").first.click()
    assert page.requests == []
    assert page.messages == []
    assert page.page.evaluate("document.documentElement.dataset.theme") == theme
    assert page.page.locator("#language").inner_text() == ("English" if language == "zh" else "中文")
    page.page.context.close()


def test_the_number_under_the_pointer_is_numpys(started, file, inputs):
    page = opened(started, file)
    right = functions.scaled_dot_product_attention(**inputs)
    seen = set()
    for row in range(right.shape[1]):
        for column in range(right.shape[2]):
            hover(page.page, row, column, *right.shape[1:])
            index, number = shown_number(page.page)
            assert number == right[tuple(index)]
            seen.add(tuple(index))
    assert len(seen) == right[0].size
    page.page.context.close()


def test_a_slice_is_chosen_with_its_slider(started, file, inputs):
    page = opened(started, file)
    slider = page.page.locator(".slices input")
    slider.focus()
    slider.press("End")
    hover(page.page, 0, 0, 5, 3)
    index, number = shown_number(page.page)
    assert index[0] == 3
    assert number == functions.scaled_dot_product_attention(**inputs)[tuple(index)]
    page.page.context.close()


def test_the_page_works_with_the_keyboard_alone(started, file, inputs):
    page = opened(started, file)
    own = page.page
    own.locator(".chip", has_text="weights").first.focus()
    own.keyboard.press("Enter")
    own.locator(".inspector .heat canvas").first.focus()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        own.keyboard.press(key)
    index, number = shown_number(own)
    assert index == [0, 1, 1]
    assert number == functions.attention_weights(inputs["query"], inputs["key"], is_causal=True)[0, 1, 1]
    assert own.locator(".operand").all_inner_texts() == ["query[0, 1, :]", "key[0, :, :]"]  # a softmax reads every key
    page.page.context.close()


def test_a_clicked_element_shows_its_row_and_column(started, file):
    page = opened(started, file)
    hover(page.page, 2, 1, 5, 3)
    page.page.mouse.down()
    page.page.mouse.up()
    (_, row, column), _ = shown_number(page.page)
    assert page.page.locator(".operand").all_inner_texts() == [f"weights[0, {row}, :]", f"value[0, :, {column}]"]
    page.page.context.close()


@pytest.mark.parametrize("width", [320, 768, 1280])
def test_no_width_needs_sideways_scrolling(started, file, width):
    page = opened(started, file, width=width)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    page.page.context.close()


def test_text_of_a_value_is_never_markup(started, tmp_path):
    hostile = "</script><script>document.title = 'run'</script><img src=x onerror=\"document.title='run'\">"
    headway.look(lambda x, y: x + y, hostile, "<b>").save(tmp_path / "hostile.html")
    page = opened(started, tmp_path / "hostile.html")
    assert page.page.title() != "run"
    assert page.page.locator("img, b").count() == 0
    assert "<b>" in page.page.locator(".arguments").inner_text()
    assert page.messages == []
    page.page.context.close()


def test_json_in_a_script_cannot_end_it():
    text = in_script({"x": "</script><!--\u2028"})
    assert "<" not in text
    assert json.loads(text) == {"x": "</script><!--\u2028"}


def test_the_policy_allows_only_the_pages_own_script(file):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', file.read_text())[1]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"https?:", policy)


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    """The page of a function with a loop, a call, and a NaN."""

    def double(x):
        twice = 2 * x
        return 1 * twice

    def repeat(x):
        for _ in range(3):
            x = double(x)
        return x

    path = tmp_path_factory.mktemp("look") / "loop.html"
    headway.look(repeat, np.array([1.0, np.nan, -3.0])).save(path)
    return path


def test_a_loop_shows_the_values_of_each_run_and_a_call_unfolds(started, loop):
    page = opened(started, loop)
    own = page.page
    row = own.locator(".row", has_text="x = double(x)")
    assert "run 1 of 3" in row.locator(".runs").inner_text()
    for number in (1, 2, 3):
        row.locator(".chip", has_text="x").first.click()
        own.locator(".inspector .heat canvas").focus()
        own.keyboard.press("ArrowRight")
        own.keyboard.press("ArrowLeft")
        assert shown_number(own)[1] == 2.0**number
        row.locator(".runs input").press("ArrowRight")
    assert "run 3 of 3" in row.locator(".runs").inner_text()
    assert own.get_by_text("twice = 2 * x").count() == 0, "calls are folded"
    row.locator("summary", has_text="double").focus()
    own.keyboard.press("Enter")
    assert "twice" in row.locator("details .chip", has_text="twice").inner_text()
    assert page.messages == []
    page.page.context.close()


def test_nan_is_counted_and_shown(started, loop):
    page = opened(started, loop)
    chip = page.page.locator(".arguments .chip").first
    assert "NaN × 1" in chip.inner_text()
    assert "-3 … 1" in chip.inner_text()
    chip.click()
    page.page.locator(".inspector .heat canvas").focus()
    page.page.keyboard.press("ArrowRight")
    assert page.page.locator(".readout").inner_text().endswith("= nan")
    page.page.context.close()


def test_the_names_of_the_axes_are_in_the_chips_and_in_the_readout(started, file):
    page = opened(started, file)
    chip = page.page.locator(".chip", has_text="weights").first
    assert "(num_heads=4, query_len=5, key_len=7)" in chip.inner_text()
    hover(page.page, 1, 2, 5, 3)
    assert page.page.locator(".readout").inner_text().startswith("return[num_heads=0, query_len=1, value_dim=2] = ")
    page.page.context.close()


@pytest.mark.slow
def test_the_page_of_a_whole_forward_with_32_tokens_is_below_two_megabytes():
    model = open_model("stories").checkpoint
    ids = np.arange(100, 132)[None]
    trace = record(model.architecture.hidden_states, ids, model.weights, model.config).trace
    (hidden,) = [value for step in trace.call.steps for value in step.values if value.name == "return"]
    right = model.architecture.hidden_states(ids, model.weights, model.config)
    np.testing.assert_array_equal(hidden.numbers, right[np.ix_(*hidden.kept)].ravel())
    assert len(view_of_trace(trace).html().encode()) < 2 * 10**6


def test_the_same_array_is_summarized_once_for_all_its_names():
    x = np.ones((3, 4))
    call = record(lambda a, b: a + b, x, x).trace.call
    assert call.arguments[0].numbers is call.arguments[1].numbers
    assert [value.name for value in call.arguments] == ["a", "b"]


def test_a_large_trace_is_sampled_and_says_so(started, tmp_path):
    def many(x):
        for _ in range(90):
            x = x * 1.0001
        return x

    trace = record(many, np.random.default_rng(0).standard_normal((64, 64))).trace
    View(same("many"), (Panel(same("many"), trace),)).save(tmp_path / "many.html")
    assert 10**5 < (tmp_path / "many.html").stat().st_size <= 2 * 10**6
    page = opened(started, tmp_path / "many.html")
    assert re.search(r"\d+ × \d+ of 64 × 64 elements are stored", page.page.locator(".inspector").inner_text())
    page.page.context.close()


def test_a_notebook_shows_the_page_in_a_frame_without_access_to_the_notebook():
    frame = headway.look("softmax", np.array([1.0, 2.0]))._repr_html_()
    assert frame.startswith('<iframe srcdoc="')
    assert 'sandbox="allow-scripts"' in frame
    assert "<script" not in frame


@pytest.mark.parametrize("arguments", [("softmax", np.array([1.0, 2.0])), ("stories", "Once")])
def test_ipython_on_a_terminal_shows_the_text(arguments):
    view = headway.look(headway.load("stories"), "Once") if arguments[0] == "stories" else headway.look(*arguments)
    bundle = view._repr_mimebundle_()
    assert bundle["text/plain"] == str(view)
    assert "softmax" in str(view) or "Logit lens" in str(view)


def test_the_frame_of_a_notebook_works(started, tmp_path):
    frame = headway.look("softmax", np.array([[1.0, 2.0]]))._repr_html_()
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><title>notebook</title><body><main>Notebook</main>{frame}")
    page = opened(started, path)
    inner = page.page.frame_locator("iframe")
    inner.locator(".chip", has_text="weights").first.click()
    assert "weights" in inner.locator(".inspector h2").inner_text()
    assert page.messages == []
    page.page.context.close()
