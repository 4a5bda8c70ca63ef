"""Draw the pictures of docs/look.md with Chromium: python tools/look_pictures.py."""

from __future__ import annotations

import tempfile
from pathlib import Path

from PIL import Image

import headway
from headway.look.learner import view_of_file
from tests.look.browser import browser, opened

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


def small(path: Path) -> None:
    """Reduce a picture to 64 colours."""
    with Image.open(path) as picture:
        reduced = picture.convert("RGB").quantize(64)
    reduced.save(path, optimize=True)


def main() -> None:
    """Write the pictures."""
    with tempfile.TemporaryDirectory() as name, browser() as started:
        folder = Path(name)
        headway.look("scaled_dot_product_attention").save(folder / "attention.html")
        headway.look(PROMPT, model="stories").save(folder / "story.html")
        (folder / "mine.py").write_text(ATTENTION)
        view_of_file(folder / "mine.py").save(folder / "mine.html")
        for picture, file, theme, language in (
            ("look-attention", "attention.html", "light", "en"),
            ("look-learner", "mine.html", "light", "en"),
            ("look-model", "story.html", "light", "en"),
            ("look-model-zh", "story.html", "dark", "zh"),
        ):
            own = opened(
                started, folder / file, width=1100, height=1750 if file == "story.html" else 1000, theme=theme, language=language
            ).page
            if file == "attention.html":
                box = own.locator(".inspector .heat canvas").bounding_box()
                own.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.6)
            elif file == "story.html":
                own.locator("#option-temperature").evaluate("input => { input.value = 1.6; input.dispatchEvent(new Event('input')); }")
                own.locator(".head").nth(10).click()
            own.wait_for_timeout(300)
            own.screenshot(path=str(IMAGES / f"{picture}.png"))
            small(IMAGES / f"{picture}.png")


if __name__ == "__main__":
    main()
