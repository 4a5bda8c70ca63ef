"""The page in a real browser: Debian's Chromium, driven by playwright."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import headway
from headway.server.model_pool import DeclaredModel
from headway.server.page import page_files
from headway.server.served_model import ServedModel
from tests.server.conftest import Running, running

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium found; install it, for example with apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """A function that opens a URL in a window of its own; the test fails for an error on the page's console."""
    contexts, problems = [], []

    def open_url(url: str, *, allowed: str = "^$", **options: Any) -> Any:
        context = browser.new_context(**{"locale": "en-US", "viewport": {"width": 1000, "height": 700}} | options)
        context.set_default_timeout(120_000)
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console", lambda message: message.type == "error" and not re.search(allowed, message.text) and problems.append(message.text)
        )
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(url)
        return page

    yield open_url
    for context in contexts:
        context.close()
    assert not problems


def ask(page: Any, text: str) -> str:
    """Send a message and return the answer."""
    page.wait_for_selector("#model option", state="attached")
    page.fill("#input", text)
    page.keyboard.press("Enter")
    page.locator("article.assistant").last.locator("button").wait_for()
    return page.locator("article.assistant .text").last.inner_text()


def set_longest(page: Any, tokens: int) -> None:
    page.evaluate(
        "([id, value]) => { const i = document.getElementById(id); i.value = value; i.dispatchEvent(new Event('input')); }",
        ["max_tokens", tokens],
    )


@pytest.mark.slow
def test_the_model_answers_token_by_token(server: Running, open_page: Callable[..., Any]) -> None:
    page = open_page(server.url)
    page.fill("#seed", "7")
    set_longest(page, 48)
    answer = ask(page, "Once upon a time")
    body = {"messages": [{"role": "user", "content": "Once upon a time"}], "max_tokens": 48, "seed": 7}
    with server.client() as client:
        reply = client.post("/v1/chat/completions", json=body)
    assert answer == reply.json()["choices"][0]["message"]["content"].strip()
    assert "tokens" in page.locator("article.assistant footer").inner_text()


@pytest.mark.slow
def test_probabilities_of_tokens_are_shown_on_hover_and_with_the_keyboard(server: Running, open_page: Callable[..., Any]) -> None:
    page = open_page(server.url)
    page.check("#log-probs")
    set_longest(page, 32)
    answer = ask(page, "The fox")
    tokens = page.locator(".token")
    assert "".join(tokens.all_text_contents()).strip() == answer.strip()
    tokens.nth(3).hover()
    assert page.locator("#tooltip tr").count() >= 5
    assert page.locator("#tooltip tr.chosen td").first.inner_text().strip('"') == tokens.nth(3).text_content()
    assert "%" in page.locator("#tooltip").inner_text()
    page.mouse.move(1, 1)
    tokens.nth(0).focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#tooltip tr.chosen td").first.inner_text().strip('"') == tokens.nth(1).text_content()
    assert page.evaluate("document.activeElement.getAttribute('aria-describedby')") == "tooltip"


@pytest.mark.slow
def test_stop_keeps_the_text_and_regenerate_replaces_it(server: Running, open_page: Callable[..., Any]) -> None:
    page = open_page(server.url)
    page.wait_for_selector("#model option", state="attached")
    set_longest(page, 4096)
    page.route(
        "**/v1/chat/completions",
        lambda route: route.continue_(post_data=route.request.post_data.replace('"stream"', '"ignore_eos":true,"stream"')),
    )
    page.fill("#input", "Once")
    page.keyboard.press("Enter")
    page.locator("article.assistant .text", has_text=re.compile(".{10}")).wait_for()
    page.keyboard.press("Escape")
    page.locator("article.assistant button").wait_for()
    assert page.locator("article.assistant .text").text_content()
    assert page.locator("#send").is_visible()
    set_longest(page, 16)
    page.locator("article.assistant button").click()
    page.locator("article.assistant footer", has_text="16 tokens").wait_for()
    assert page.locator("article").count() == 2


@pytest.mark.slow
def test_a_conversation_and_the_system_prompt_are_sent(server: Running, open_page: Callable[..., Any]) -> None:
    page, sent = open_page(server.url), []
    page.on("request", lambda request: sent.append(request.post_data_json) if request.method == "POST" else None)
    page.fill("#system", "Answer briefly.")
    set_longest(page, 16)
    first = ask(page, "One")
    ask(page, "Two")
    assert [message["role"] for message in sent[1]["messages"]] == ["system", "user", "assistant", "user"]
    assert sent[1]["messages"][0]["content"] == "Answer briefly."
    assert sent[1]["messages"][2]["content"].strip() == first.strip()
    assert "temperature" not in sent[0], "the model's own value"
    page.click("#new")
    assert page.locator("article").count() == 0


def test_the_files_of_the_page_need_no_key_and_nothing_else_is_under_their_path(serve: Callable[..., Running]) -> None:
    with serve(api_keys=("secret",)).client() as client:
        assert client.get("/page/main.js").status_code == 200
        assert client.get("/page/../v1/models").status_code == 401
        assert client.get("/page/..%2Fv1%2Fmodels").status_code == 404
        assert client.post("/page/main.js").status_code == 405


@pytest.mark.slow
def test_a_server_with_a_key_asks_for_it(serve: Callable[..., Running], open_page: Callable[..., Any]) -> None:
    page = open_page(serve(api_keys=("secret",)).url, allowed="401")
    page.locator("#key-form").wait_for()
    page.fill("#key", "wrong")
    page.click("#key-form button")
    page.get_by_text("does not accept this key").wait_for()
    page.fill("#key", "secret")
    page.click("#key-form button")
    page.wait_for_selector("#key-form", state="hidden")
    set_longest(page, 16)
    assert ask(page, "Once upon a time")


@pytest.mark.slow
def test_a_model_that_is_being_loaded_is_named(open_page: Callable[..., Any]) -> None:
    going = threading.Event()

    def load() -> ServedModel:
        assert going.wait(600)
        return ServedModel("late", headway.load("stories"))

    with running(DeclaredModel("late", load, lambda: 0)) as server:
        page = open_page(server.url)
        set_longest(page, 8)
        page.wait_for_selector("#model option", state="attached")
        page.fill("#input", "Hello")
        page.keyboard.press("Enter")
        footer = page.locator("article.assistant footer")
        footer.get_by_text("late is being loaded").wait_for()
        going.set()
        footer.get_by_text("tokens").wait_for()
        assert "being loaded" not in footer.inner_text()


@pytest.mark.slow
def test_an_error_of_the_server_is_shown(server: Running, open_page: Callable[..., Any]) -> None:
    page = open_page(server.url, allowed="400")
    ask(page, "word " * 2000)
    assert "expected at most" in page.locator("#error").inner_text()
    assert page.locator("#error").get_attribute("role") == "alert"


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en-US", "zh-CN"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_fits_320_pixels_in_both_languages_and_themes(
    server: Running, open_page: Callable[..., Any], language: str, theme: str
) -> None:
    page = open_page(server.url, locale=language, color_scheme=theme, viewport={"width": 320, "height": 640})
    page.click("#show-settings")
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    is_dark = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0] < 128")
    assert is_dark == (theme == "dark")
    assert page.locator("#send").inner_text() == ("Send" if language == "en-US" else "发送")
    page.click("#language")
    assert page.locator("#send").inner_text() == ("发送" if language == "en-US" else "Send")
    assert page.locator("html").get_attribute("lang") == ("zh-Hans" if language == "en-US" else "en")
    nameless = page.evaluate("""() => [...document.querySelectorAll('button, input, select, textarea')].filter(e => e.checkVisibility()
        && !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim())).map(e => e.outerHTML)""")
    assert nameless == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 1000])
def test_a_long_answer_scrolls_and_the_message_field_stays_visible(server: Running, open_page: Callable[..., Any], width: int) -> None:
    page = open_page(server.url, viewport={"width": width, "height": 400})
    set_longest(page, 256)
    ask(page, "Once upon a time\n" * 10)
    field = page.locator("#input").bounding_box()
    assert field["y"] + field["height"] <= 400
    assert page.evaluate("(() => { const l = document.getElementById('log'); return l.scrollHeight > l.clientHeight; })()")
    assert page.evaluate("document.documentElement.scrollHeight") <= 400


def test_both_languages_have_the_same_texts() -> None:
    source = page_files()["texts.js"].decode()
    english, chinese = source.split("  en: {")[1].split("};")[0].split("  zh: {")
    names = [re.findall(r"(?:^|[,{]) *(\w+): [\"{]", part, re.MULTILINE) for part in (english, chinese)]
    assert names[0] == names[1]
    used = set(re.findall(r'data-(?:text|label|placeholder)="(\w+)"', page_files()["index.html"].decode()))
    assert used
    assert used <= set(names[0])


def test_the_policy_allows_only_files_of_the_server(client: Any) -> None:
    reply = client.get("/")
    assert reply.status_code == 200
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    html = reply.text
    assert not re.search(r"<script(?![^>]*src=)|<style| style=| on\w+=|https?://", html)
    for name in re.findall(r'(?:src|href)="(page/[^"]+)"', html):
        assert client.get(f"/{name}").status_code == 200, name


@pytest.mark.parametrize("name", ["../app.py", "..%2Fapp.py", "page.py", "", "index.html/x", "%00"])
def test_only_files_of_the_page_are_served(client: Any, name: str) -> None:
    assert client.get(f"/page/{name}").status_code == 404


def test_every_module_names_files_that_exist() -> None:
    folder = Path(__file__).parents[2] / "src/headway/server/page"
    assert set(page_files()) == {path.name for path in folder.iterdir()}
    for name, content in page_files().items():
        for imported in re.findall(r'from "\./([^"]+)"', content.decode()):
            assert imported in page_files(), name


@pytest.mark.slow
def test_the_page_links_to_headway_look_which_shows_the_last_message(serve: Callable[..., Running], open_page: Callable[..., Any]) -> None:
    page = open_page(serve(api_keys=("secret",), has_look=True).url, allowed="401")
    page.fill("#key", "secret")
    page.click("#key-form button")
    page.wait_for_selector("#key-form", state="hidden")
    set_longest(page, 16)
    ask(page, "The fox <b>ran</b>")
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Look inside").click()
    look = opened.value
    look.locator(".bars .option").first.wait_for()
    assert look.locator("#prompt-0").input_value() == "The fox <b>ran</b>"
    look.locator("#head-0").click()
    look.locator("button.part", has_text="layer 0, head 0").wait_for()


def test_headway_look_needs_a_key_and_is_served_only_where_the_settings_say_so(serve: Callable[..., Running], client: Any) -> None:
    assert client.get("/look/").status_code == 404
    assert 'id="look" hidden' in client.get("/").text
    body = {"prompt": "Once", "model": "stories", "ablate": ["0.1"]}
    with serve(api_keys=("secret",), has_look=True).client() as other:
        page = other.get("/look/")
        assert "connect-src 'self'" in page.headers["content-security-policy"]
        assert "unsafe" not in page.headers["content-security-policy"]
        assert other.post("/look/trace", json=body).status_code == 401
        key = {"Authorization": "Bearer secret"}
        assert other.post("/look/trace", json=body, headers=key).json()["trace"]["ablated"] == [[0, 1]]
        assert other.post("/look/trace", json=body | {"model": "other"}, headers=key).status_code == 404
        wrong = other.post("/look/trace", json=body | {"ablate": ["99"]}, headers=key)
        assert wrong.status_code == 400
        assert "to switch off" in wrong.json()["error"]["message"]
