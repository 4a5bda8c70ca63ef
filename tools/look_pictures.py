"""Draw the pictures of docs/look.md with Chromium: python tools/look_pictures.py."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

import headway
from headway.look.learner import view_of_file
from headway.look.models import open_model
from tests.look.browser import browser, opened
from tests.look.live_server import serving_look

ATTENTION = """import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def scaled_dot_product_attention(query, key, value):
    scores = query @ np.swapaxes(key, -1, -2)
    scores = scores / np.sqrt(value.shape[-1])
    weights = softmax(scores)
    return weights @ value
"""
IMAGES = Path(__file__).parents[1] / "docs" / "images"
PROMPT = "Once upon a time there was a little girl who had a red"


def picture(name: str, page: Any) -> None:
    """Write a picture of a page, in 64 colours."""
    path = IMAGES / f"{name}.png"
    page.mouse.move(0, 0)
    page.evaluate("() => window.scrollTo(0, 0)")
    page.wait_for_timeout(300)
    page.screenshot(path=str(path))
    with Image.open(path) as picture:
        reduced = picture.convert("RGB").quantize(64)
    reduced.save(path, optimize=True)


def pages(folder: Path) -> dict[str, Path]:
    """Write the files that are shown."""
    headway.look("scaled_dot_product_attention").save(folder / "look-attention.html")
    headway.look(PROMPT, model="stories").save(folder / "look-model.html")
    (folder / "mine.py").write_text(ATTENTION)
    view_of_file(folder / "mine.py").save(folder / "look-learner.html")
    return {path.stem: path for path in sorted(folder.glob("*.html"))}


def prepare(name: str, page: Any) -> None:
    """Do what a reader would, so that the picture shows the result."""
    if name == "look-attention":
        box = page.locator(".inspector .heat canvas").bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.6)
    elif name == "look-model":
        page.locator("#option-temperature").evaluate("input => { input.value = 1.6; input.dispatchEvent(new Event('input')); }")
        page.locator(".head").nth(10).click()


def compare(page: Any) -> None:
    """Compare the prompt with and without a layer."""
    page.locator(".bars .option").first.wait_for()
    page.locator("#compare").click()
    page.get_by_role("button", name="layer 3, head 0", exact=True).last.click()
    page.locator("#layer-1").click()
    page.locator("button.part").wait_for()


def main() -> None:
    """Write the pictures."""
    with tempfile.TemporaryDirectory() as folder, browser() as started:
        for name, path in pages(Path(folder)).items():
            page = opened(started, path, width=1100, height=1750 if name == "look-model" else 1000).page
            prepare(name, page)
            picture(name, page)
        with serving_look(open_model("stories"), PROMPT) as serving:
            page = started.new_page(viewport={"width": 1100, "height": 1500})
            page.goto(f"{serving.url}#theme=dark&lang=en")
            compare(page)
            picture("look-compare", page)


if __name__ == "__main__":
    main()
