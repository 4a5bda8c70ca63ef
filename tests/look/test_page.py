"""The page of a trace in Chromium: alone, correct, and usable with a keyboard and on a telephone."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import headway
from headway import functions
from headway.look.examples import example_inputs
from headway.look.html import Panel, in_script
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


def test_a_large_trace_is_sampled_to_five_megabytes_and_says_so():
    def many(x):
        for _ in range(90):
            x = x * 1.0001
        return x

    trace = record(many, np.random.default_rng(0).standard_normal((64, 64))).trace
    document = View(same("many"), (Panel(same("many"), trace),)).html()
    assert 10**6 < len(document.encode()) <= 5 * 2**20
    assert '"kept":[[' in document


def test_a_notebook_shows_the_page_in_a_frame_without_access_to_the_notebook():
    frame = headway.look("softmax", np.array([1.0, 2.0]))._repr_html_()
    assert frame.startswith('<iframe srcdoc="')
    assert 'sandbox="allow-scripts"' in frame
    assert "<script" not in frame


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
