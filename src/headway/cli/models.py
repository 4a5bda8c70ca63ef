"""headway models: the models on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TypedDict

from headway.cli import options as o
from headway.errors import CheckpointError
from headway.json_files import read_json_object
from headway.models import ARCHITECTURES


class Row(TypedDict):
    """One model of the list."""

    name: str
    architecture: str
    bytes: int
    can_run: bool
    reason: str
    folder: str


def command(as_json: o.Json = False) -> None:
    """List the models that need no download: the embedded one, and those in the Hugging Face cache.

    \b
      headway models
      headway models --json
      headway generate --model NAME "Once upon a time"

    In a pipe the columns are separated by tabs. Exit codes: 0 success.
    """
    from headway.checkpoints import models_here

    rows = [_describe(name, folder) for name, folder in models_here()]
    if as_json:
        o.print_json(rows)
        return
    header = ("name", "architecture", "weights", "runs here", "folder")
    lines = [(row["name"], row["architecture"], _size(row), "yes" if row["can_run"] else row["reason"], row["folder"]) for row in rows]
    if not sys.stdout.isatty():
        print("\n".join("\t".join(line) for line in (header, *lines)))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(*header, box=None, pad_edge=False)
    for line in lines:
        table.add_row(*line)
    table.columns[-1].overflow = "fold"
    Console().print(table)


def _size(row: Row) -> str:
    return f"{row['bytes'] / 1e6:,.1f} MB"


def _describe(name: str, folder: Path) -> Row:
    try:
        architecture = read_json_object(folder / "config.json").get("model_type")
    except (OSError, CheckpointError):
        architecture = None
    num_bytes = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    reason = (
        "no config.json"
        if not isinstance(architecture, str)
        else "architecture not supported"
        if architecture not in ARCHITECTURES
        else "no weights"
        if not num_bytes
        else ""
    )
    return {
        "name": name,
        "architecture": architecture if isinstance(architecture, str) else "?",
        "bytes": num_bytes,
        "can_run": not reason,
        "reason": reason,
        "folder": str(folder),
    }
