"""A real Chromium for the tests of pages; without one they are skipped."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager

import pytest


def chromium_path() -> str:
    """Return the path of Chromium, or skip the test."""
    pytest.importorskip("playwright", reason="needs playwright")
    found = os.environ.get("HEADWAY_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    return found


class Opened:
    """A page, with all that it wrote to the console and all requests beyond its own file.

    page       of playwright
    messages   errors and warnings of the console, and uncaught exceptions
    requests   addresses that the page asked for, its own left out
    """

    def __init__(self, page):
        self.page = page
        self.messages, self.requests = [], []
        page.on("console", lambda each: self.messages.append(each.text) if each.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.messages.append(str(error)))

    def guard(self, own):
        """Abort every request except those that start with `own`."""

        def handle(route):
            if route.request.url.startswith((own, "about:")):
                route.continue_()
            else:
                self.requests.append(route.request.url)
                route.abort()

        self.page.route("**/*", handle)


@contextmanager
def browser():
    """Yield a browser."""
    path = chromium_path()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield started
        finally:
            started.close()


def opened(started, path, *, width=1280, height=900, theme="light", language="en"):
    """Open a file in a new context."""
    context = started.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(120_000)
    page = Opened(context.new_page())
    page.guard(path.as_uri())
    page.page.goto(f"{path.as_uri()}#theme={theme}&lang={language}")
    page.page.wait_for_selector("main")
    return page
