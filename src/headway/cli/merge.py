"""headway merge: a model folder with a LoRA adapter merged into its weights."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from headway.checkpoints import merge_adapter, resolve_model


def command(
    model: Annotated[str, typer.Option(help="Hugging Face folder or name of the base model.")],
    adapter: Annotated[Path, typer.Option(help="Folder of the LoRA adapter, as the library PEFT saves it.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")],
) -> None:
    """Write a model folder with a LoRA adapter merged into its weights.

    \b
      headway merge --model Qwen/Qwen2-0.5B --adapter ./my-adapter --out ./merged
      headway merge --model ./base --adapter ./my-adapter -o ./merged
      headway generate --model ./base --adapter ./my-adapter "Once upon a time"

    Each tensor keeps its number format. To use an adapter without writing a folder, pass --adapter to generate, chat, serve or batch.

    Exit codes: 0 success, 2 invalid input, 130 interrupted.
    """
    count = merge_adapter(resolve_model(model), adapter, out)
    print(f"{out}: updated {count} {'matrix' if count == 1 else 'matrices'}", file=sys.stderr)
