"""headway models: what is on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headway.cli import options as o
from headway.models import ARCHITECTURES


def command(as_json: o.Json = False) -> None:
    """List the models that need no download: the embedded one, and those in the Hugging Face cache.

    \b
      headway models
      headway models --json
      headway generate --model NAME "Once upon a time"

    Exit codes: 0 done.
    """
    from headway.checkpoints import models_here

    rows = [_describe(name, folder) for name, folder in models_here()]
    if as_json:
        o.print_json(rows)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("name", "architecture", "weights", "runs here", "folder", box=None, pad_edge=False)
    for row in rows:
        table.add_row(
            row["name"], row["architecture"], f"{row['bytes'] / 1e6:,.1f} MB", "yes" if row["can_run"] else row["reason"], row["folder"]
        )
    Console(soft_wrap=True).print(table)


def _describe(name: str, folder: Path) -> dict[str, Any]:
    try:
        architecture = json.loads((folder / "config.json").read_text()).get("model_type")
    except (OSError, ValueError, AttributeError):  # no file, no JSON, or JSON that is no object
        architecture = None
    num_bytes = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    reason = (
        "no config.json"
        if architecture is None
        else "architecture not built"
        if architecture not in ARCHITECTURES
        else "no weights"
        if not num_bytes
        else ""
    )
    return {
        "name": name,
        "architecture": architecture or "?",
        "bytes": num_bytes,
        "can_run": not reason,
        "reason": reason,
        "folder": str(folder),
    }
