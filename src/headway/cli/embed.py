"""headway embed: vectors of texts, or the texts nearest to a query."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import numpy
import typer

from headway.cli import options as o
from headway.cli.texts import check_counts, print_throughput, print_truncated, progress, read_texts, short
from headway.errors import OptionError, quantity
from headway.files import write_array
from headway.language_model import Embedder, load


def command(
    texts: Annotated[list[str] | None, typer.Argument(help="The texts.  [default: --file, else one text per line of stdin]")] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="A file with one text per line.")] = None,
    model: o.Model = "stories",
    similar: Annotated[str | None, typer.Option(help="Print the texts nearest to this one instead of vectors.")] = None,
    top: Annotated[int, typer.Option(help="Number of nearest texts to print.")] = 5,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the vectors to this .npy file: float32, one row per text.")] = None,
    normalize: Annotated[bool | None, typer.Option(help="Normalize every vector to length 1, or not.  [default: the model's own]")] = None,
    prompt: Annotated[str | None, typer.Option(help="The name of one of the model's prompts.  [default: the model's own]")] = None,
    batch_size: Annotated[int, typer.Option(help="Most texts in one batch.")] = 32,
    array: o.Array = o.ArrayLibrary.numpy,
    dtype: o.Dtype = "float32",
    device: o.Device = None,
    weights: o.PackedWeights = "auto",
    threads: o.Threads = None,
    ignore_config_key: o.IgnoreConfigKey = None,
    as_json: o.Json = False,
) -> None:
    """Embed texts as vectors, or find the texts nearest to a query.

    \b
      headway embed --model sentence-transformers/all-MiniLM-L6-v2 "A man is eating." "Someone has a meal."
      headway embed --model ./all-MiniLM-L6-v2 --file lines.txt --out vectors.npy
      headway embed --model ./all-MiniLM-L6-v2 --file lines.txt --similar "Where do I change my password?" --top 3

    Vectors go to stdout, one JSON array per line; with --similar, score, line number and text, nearest first, separated by tabs.
    Throughput goes to stderr. A model with sentence-transformers files is pooled as they say, any other by the mean over its
    tokens. A text longer than the model's limit is truncated at its end. The default model, stories, is no embedding model.

    Exit codes: 0 success, 2 invalid input, 130 interrupted.
    """
    _check(similar=similar, top=top, out=out, prompt=prompt, batch_size=batch_size)
    lines = read_texts(texts or [], file)
    embedder = load(
        model,
        array=array.value,
        dtype=dtype,
        device=device,
        weights=weights,
        num_threads=threads,
        ignored_config_keys=ignore_config_key or (),
    ).embedder
    if not embedder.options.is_declared:
        print(f"{model} names no pooling: using the mean over a text's tokens, normalized to length 1", file=sys.stderr)
    started = time.perf_counter()
    if similar is not None:
        prompt = embedder.prompt_name("document", "passage", "corpus")
    with progress(len(lines), batch_size) as on_batch:
        vectors = embedder.embed(
            lines,
            batch_size=batch_size,
            is_normalized=normalize,
            prompt=prompt,
            on_batch=on_batch,
            on_cut=lambda cut: print_truncated(cut, embedder.max_seq_len),
        )
    seconds = time.perf_counter() - started
    print_throughput(f"{quantity(len(lines), 'text')}, {vectors.shape[1]} dimensions", len(lines), seconds)
    figures = {"model": model, "num_texts": len(lines), "hidden_size": vectors.shape[1], "seconds": round(seconds, 4)}
    if similar is not None:
        _print_nearest(_nearest(embedder, similar, lines, vectors, normalize)[:top], {**figures, "similar": similar}, as_json=as_json)
    else:
        _print_vectors(vectors, out, figures, as_json=as_json)


def _check(*, similar: str | None, top: int, out: Path | None, prompt: str | None, batch_size: int) -> None:
    check_counts(top=top, batch_size=batch_size)
    if similar is not None and not similar.strip():
        raise OptionError("got an empty --similar, expected a text")
    for name, value in (("--out", out), ("--prompt", prompt)):
        if similar is not None and value is not None:
            raise OptionError(
                f"--similar and {name} cannot be combined", hint="a search prints texts and uses the model's own prompts; leave one out"
            )
    if out is not None and out.suffix != ".npy":
        raise OptionError(f"got --out {out}, expected a name that ends in .npy")


def _nearest(
    embedder: Embedder, similar: str, lines: list[str], vectors: numpy.ndarray, is_normalized: bool | None
) -> list[dict[str, Any]]:
    """Return every line with its score, nearest first; ties keep the order of the lines."""
    (one,) = embedder.embed([similar], is_normalized=is_normalized, prompt=embedder.prompt_name("query"))
    scores = embedder.similarity(one, vectors)
    order = numpy.argsort(-scores, kind="stable").tolist()
    return [{"score": short(scores[index]), "line": index + 1, "text": lines[index]} for index in order]


def _print_nearest(nearest: list[dict[str, Any]], figures: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        o.print_json({**figures, "nearest": nearest})
        return
    for each in nearest:
        print(f"{each['score']:.4f}\t{each['line']}\t{each['text']}")


def _print_vectors(vectors: numpy.ndarray, out: Path | None, figures: dict[str, Any], *, as_json: bool) -> None:
    if out:
        write_array(out, vectors)
        figures = {**figures, "out": str(out)}
    rows = [] if out else [[short(number) for number in vector] for vector in vectors]
    if as_json:
        o.print_json(figures if out else {**figures, "vectors": rows})
        return
    for row in rows:
        o.print_json(row)
