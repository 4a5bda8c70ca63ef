"""Draw the pictures of README and the documentation: real commands and what they print, as SVG files.

Run `make pictures` after a change of wording. `tests/test_pictures.py` compares the committed pictures with what the commands print.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "images"
WIDTH = 108

FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" xml:space="preserve">
<style>
.{unique_id}-matrix {{ font-family: Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono CJK SC", monospace; font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: arial, sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""
"""Rich's own format without the fonts that it loads from the network."""


@dataclass(frozen=True)
class Picture:
    """One picture.

    name     of the SVG file
    command  as a reader types it
    source   a file in the same folder that is shown above the command, or None
    """

    name: str
    command: str
    source: str | None = None


PICTURES = (
    Picture("check", "headway check attention.py --lang en", "attention.py"),
    Picture("check.zh-CN", "headway check attention.py --lang zh", "attention.py"),
    Picture("practice", "headway practice list --lang en"),
    Picture("generate", 'headway generate --seed 3 "Once upon a time"'),
)


def printed(picture: Picture) -> str:
    """Run the command of a picture and return what it prints to stdout."""
    with tempfile.TemporaryDirectory() as folder:
        if picture.source:
            shutil.copy(FOLDER / picture.source, folder)
        if "practice" in picture.command:
            _run("headway practice start --no-watch", folder)
        return _run(picture.command, folder)


def _run(command: str, folder: str) -> str:
    arguments = [sys.executable, "-m", "headway", *re.findall(r'"[^"]*"|\S+', command)[1:]]
    environment = os.environ | {"FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "PYTHONIOENCODING": "utf-8"}
    result = subprocess.run(
        [each.strip('"') for each in arguments], cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8"
    )
    if result.returncode not in (0, 1):
        raise RuntimeError(f"{command}: {result.stderr}")
    return result.stdout.replace(folder, "~/practice")


def drawn(picture: Picture, output: str) -> str:
    """Return the SVG file of a command and its output."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    if picture.source:
        console.print(Syntax((FOLDER / picture.source).read_text().rstrip(), "python", theme="ansi_dark", line_numbers=True))
        console.print()
    console.print(Text(f"$ {picture.command}", style="bold"))
    console.print(Text.from_ansi(output.rstrip("\n")))
    return console.export_svg(title="", code_format=FORMAT, unique_id=f"headway-{picture.name.replace('.', '-')}")


def main() -> None:
    """Draw every picture."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        path = FOLDER / f"{picture.name}.svg"
        path.write_text(drawn(picture, printed(picture)), encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
