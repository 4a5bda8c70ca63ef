"""The options that several subcommands share."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer

from headway.cli.progress import Work
from headway.language_model import Chunk, LanguageModel, load


class ArrayLibrary(StrEnum):
    """The array libraries that a model can run on."""

    numpy = "numpy"
    torch = "torch"
    jax = "jax"
    mlx = "mlx"


class Weights(StrEnum):
    """How the weights of a decoder are packed."""

    auto = "auto"
    plain = "plain"
    float32 = "float32"
    bfloat16 = "bfloat16"
    int8 = "int8"
    int4 = "int4"


class Cache(StrEnum):
    """How the compiled kernels keep keys and values."""

    float32 = "float32"
    bfloat16 = "bfloat16"
    int16 = "int16"
    int8 = "int8"


class EarlyStopping(StrEnum):
    """When a beam search ends."""

    true = "true"
    false = "false"
    never = "never"


Model = Annotated[str, typer.Option("--model", "-m", help="stories (embedded), a folder, or a hub name such as Qwen/Qwen2-0.5B")]
MaxNewTokens = Annotated[int | None, typer.Option("--max-new-tokens", "-n", help="How many tokens to add at most.")]
Temperature = Annotated[
    float | None, typer.Option(help="0 always takes the most likely token; above 1 is more surprising.  [default: the model's own]")
]
TopK = Annotated[int | None, typer.Option(help="Sample from the k most likely tokens only; 0 for all.")]
TopP = Annotated[float | None, typer.Option(help="Sample from the most likely tokens that reach this probability together.")]
MinP = Annotated[float | None, typer.Option(help="Sample from tokens at least this share as likely as the most likely one.")]
Seed = Annotated[int | None, typer.Option(help="The same seed gives the same text.  [default: a new one each time]")]
NumBeams = Annotated[
    int | None, typer.Option(help="Search for the likeliest text, so many continuations side by side.  [default: the model's own, else 1]")
]
NumBest = Annotated[int | None, typer.Option(help="Print so many of the texts that the search found, the best first.")]
LengthPenalty = Annotated[float | None, typer.Option(help="Above 0 the search favours long texts, below short ones.  [default: 1]")]
EarlyEnd = Annotated[
    EarlyStopping | None,
    typer.Option(
        "--early-stopping",
        help="When the search ends: true, when as many texts have ended as there are beams; false, when no better one is likely; "
        "never, when none is possible.  [default: false]",
    ),
]
NoRepeatNgramSize = Annotated[int | None, typer.Option(help="Never say a run of so many tokens twice; 0 to allow it.")]
Stop = Annotated[list[str] | None, typer.Option(help="Stop before this text; may be given several times.")]
Array = Annotated[ArrayLibrary, typer.Option(help="The array library that computes.")]
Dtype = Annotated[
    str, typer.Option(help="float32, bfloat16, float16 or float64; on NumPy half precision saves memory and is 10 times slower.")
]
PackedWeights = Annotated[
    Weights,
    typer.Option(
        "--weights",
        help="For numpy: pack a decoder's weights for the compiled kernels; plain runs the definitions. "
        "auto is int8 for gpt2, llama, qwen2 and qwen3, else plain.",
    ),
]
CacheKind = Annotated[
    Cache | None,
    typer.Option(
        "--cache", help="How the compiled kernels keep keys and values.  [default: that of float32 and bfloat16 weights, else int16]"
    ),
]
Threads = Annotated[int | None, typer.Option(help="Threads of the compiled kernels.  [default: one per core]")]
Device = Annotated[str | None, typer.Option(help="For torch: cpu, cuda, …  [default: the library's own]")]
IgnoreConfigKey = Annotated[list[str] | None, typer.Option(help="A key of config.json that you know to change nothing.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def load_shown(model: str, weights: Weights, cache: Cache | None, threads: int | None, **options: Any) -> LanguageModel:
    """Load a model; what has to be done once before it can run is shown on stderr."""
    with Work() as work:
        kind = None if cache is None else cache.value
        return load(model, weights=weights.value, cache=kind, num_threads=threads, progress=work.progress, **options)


def sampling(**given: Any) -> dict[str, Any]:
    """The options of generation that were given: the others stay the model's own. A top-k, or a size of runs, of 0 switches it off."""
    options = {name: value for name, value in given.items() if value is not None}
    if given.get("early_stopping") in ("true", "false"):
        options["early_stopping"] = given["early_stopping"] == "true"
    return options | {name: None for name in ("top_k", "no_repeat_ngram_size") if given.get(name) == 0}


def print_stream(chunks: Iterator[Chunk], *, before: str = "", quiet: bool = False) -> tuple[str, dict[str, Any]]:
    """Write chunks to stdout as they come, and the pace to stderr; return the text and the figures.

    What a search found besides is written below, a text a line. Interrupted, what was printed stays, its line is ended, and
    KeyboardInterrupt goes on.
    """
    started, first, number, texts, last = time.perf_counter(), None, 0, [], Chunk("")

    def write(text: str) -> None:
        if not quiet:
            sys.stdout.write(text)
            sys.stdout.flush()

    try:
        write(before)
        for last in chunks:
            first = first if first is not None else time.perf_counter() - started
            number += 1
            texts.append(last.text)
            write(last.text)
        for other in last.alternatives:
            write(f"\n{before}{other.text}")
    finally:
        write("\n")
        figures = _figures(last, number, first or 0.0, time.perf_counter() - started)
        print(_pace(figures), file=sys.stderr)
    return "".join(texts), figures


def _figures(last: Chunk, number: int, first: float, total: float) -> dict[str, Any]:
    figures: dict[str, Any] = {"finish_reason": last.finish_reason, "num_new_tokens": number, "seconds_to_first_token": round(first, 4)}
    if last.score is None:
        return figures | {"tokens_per_second": round((number - 1) / max(total - first, 1e-9), 1) if number > 1 else 0.0}
    others = [
        {"text": other.text, "score": other.score, "finish_reason": other.finish_reason, "num_new_tokens": len(other.token_ids)}
        for other in last.alternatives
    ]
    return figures | {"tokens_per_second": round(number / max(total, 1e-9), 1), "score": last.score, "alternatives": others}


def _pace(figures: dict[str, Any]) -> str:
    reasons = {"stop": "the text ended", "length": "as long as allowed", None: "interrupted"}
    said = f"{figures['num_new_tokens']} tokens ({reasons[figures['finish_reason']]}): "
    if "score" in figures:
        return f"{said}found after {figures['seconds_to_first_token']:.3f} s"
    return f"{said}the first after {figures['seconds_to_first_token']:.3f} s, then {figures['tokens_per_second']:,.0f} tokens/s"


def print_json(value: Any) -> None:
    """One JSON object on stdout."""
    print(json.dumps(value, ensure_ascii=False))
