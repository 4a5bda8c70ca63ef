"""The options that several subcommands share."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer

from headway.language_model import Piece


class ArrayLibrary(StrEnum):
    """The array libraries that a model can run on."""

    numpy = "numpy"
    torch = "torch"
    jax = "jax"
    mlx = "mlx"


Model = Annotated[str, typer.Option("--model", "-m", help="stories (embedded), a folder, or a hub name such as Qwen/Qwen2-0.5B")]
MaxNewTokens = Annotated[int, typer.Option("--max-new-tokens", "-n", help="How many tokens to add at most.")]
Temperature = Annotated[
    float | None, typer.Option(help="0 always takes the most likely token; above 1 is more surprising.  [default: the model's own]")
]
TopK = Annotated[int | None, typer.Option(help="Sample from the k most likely tokens only; 0 for all.")]
TopP = Annotated[float | None, typer.Option(help="Sample from the most likely tokens that reach this probability together.")]
MinP = Annotated[float | None, typer.Option(help="Sample from tokens at least this share as likely as the most likely one.")]
Seed = Annotated[int | None, typer.Option(help="The same seed gives the same text.  [default: a new one each time]")]
Stop = Annotated[list[str] | None, typer.Option(help="Stop before this text; may be given several times.")]
Array = Annotated[ArrayLibrary, typer.Option(help="The array library that computes.")]
Dtype = Annotated[
    str, typer.Option(help="float32, bfloat16, float16 or float64; on NumPy half precision saves memory and is 10 times slower.")
]
Device = Annotated[str | None, typer.Option(help="For torch: cpu, cuda, …  [default: the library's own]")]
IgnoreConfigKey = Annotated[list[str] | None, typer.Option(help="A key of config.json that you know to change nothing.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def sampling(**given: Any) -> dict[str, Any]:
    """The sampling options that were given: the others stay the model's own. A top-k of 0 switches it off."""
    options = {name: value for name, value in given.items() if value is not None}
    return options | ({"top_k": None} if given.get("top_k") == 0 else {})


def print_stream(pieces: Iterator[Piece], *, before: str = "", quiet: bool = False) -> tuple[str, dict[str, Any]]:
    """Write pieces to stdout as they come, and the pace to stderr; return the text and the figures.

    Interrupted, what was printed stays, its line is ended, and KeyboardInterrupt goes on.
    """
    started, first, number, texts, reason = time.perf_counter(), None, 0, [], None

    def write(text: str) -> None:
        if not quiet:
            sys.stdout.write(text)
            sys.stdout.flush()

    try:
        write(before)
        for piece in pieces:
            first = first if first is not None else time.perf_counter() - started
            number += 1
            reason = piece.finish_reason
            texts.append(piece.text)
            write(piece.text)
    finally:
        write("\n")
        pace = (number - 1) / max(time.perf_counter() - started - (first or 0), 1e-9) if number > 1 else 0.0
        figures = {
            "finish_reason": reason,
            "num_new_tokens": number,
            "seconds_to_first_token": round(first or 0.0, 4),
            "tokens_per_second": round(pace, 1),
        }
        print(_pace(figures), file=sys.stderr)
    return "".join(texts), figures


def _pace(figures: dict[str, Any]) -> str:
    reasons = {"stop": "the text ended", "length": "as long as allowed", None: "interrupted"}
    return (
        f"{figures['num_new_tokens']} tokens ({reasons[figures['finish_reason']]}): the first after "
        f"{figures['seconds_to_first_token']:.3f} s, then {figures['tokens_per_second']:,.0f} tokens/s"
    )


def print_json(value: Any) -> None:
    """One JSON object on stdout."""
    print(json.dumps(value, ensure_ascii=False))
