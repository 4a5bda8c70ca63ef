"""headway embed: texts to vectors, or the texts nearest to one."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy
import typer

from headway.cli import options as o
from headway.cli.progress import Shown
from headway.errors import OptionError
from headway.files import replacing
from headway.language_model import Embedder, load


def command(
    texts: Annotated[list[str] | None, typer.Argument(help="The texts; without them and --file, a text per line of stdin.")] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="A file with a text on every line.")] = None,
    model: o.Model = "stories",
    similar: Annotated[str | None, typer.Option(help="Print no vectors, but the texts nearest to this one.")] = None,
    top: Annotated[int, typer.Option(help="How many of the nearest.")] = 5,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the vectors to this .npy file, a row each, in float32.")] = None,
    normalize: Annotated[bool | None, typer.Option(help="Bring every vector to length 1, or leave it.  [default: the model's own]")] = None,
    prompt: Annotated[str | None, typer.Option(help="The name of one of the model's own prompts.  [default: the model's own]")] = None,
    batch_size: Annotated[int, typer.Option(help="How many texts run together at most.")] = 32,
    array: o.Array = o.ArrayLibrary.numpy,
    dtype: o.Dtype = "float32",
    device: o.Device = None,
    ignore_config_key: o.IgnoreConfigKey = None,
    as_json: o.Json = False,
) -> None:
    """Turn texts into vectors, or find the texts that are nearest to one.

    \b
      headway embed --model sentence-transformers/all-MiniLM-L6-v2 "A man is eating." "Someone has a meal."
      headway embed --model ./all-MiniLM-L6-v2 --file lines.txt --out vectors.npy
      headway embed --model ./all-MiniLM-L6-v2 --file lines.txt --similar "Where do I change my password?" --top 3

    Vectors go to stdout, a JSON array per line; with --similar it is score, line number and text, the nearest first, between tabs.
    The pace goes to stderr. Any model will do: one with sentence-transformers' files is pooled as they say, any other by the mean
    of its tokens' vectors, which for stories, the default, says little. A text longer than the model reads is cut at its end.

    Exit codes: 0 done, 2 bad input, 130 interrupted.
    """
    _check(similar=similar, top=top, out=out, prompt=prompt, batch_size=batch_size)
    lines = _texts(texts or [], file)
    embedder = load(
        model, array=array.value, dtype=dtype, device=device, weights="none", ignored_config_keys=ignore_config_key or ()
    ).embedder
    if not embedder.options.is_declared:
        print(f"{model} does not say how to pool: the mean over a text's tokens, brought to length 1", file=sys.stderr)
    started = time.perf_counter()
    if similar is not None:
        prompt = embedder.prompt_name("document", "passage", "corpus")
    with _progress(len(lines), batch_size) as on_batch:
        vectors = embedder.embed(
            lines, batch_size=batch_size, is_normalized=normalize, prompt=prompt, on_batch=on_batch, on_cut=partial(_say_cut, embedder)
        )
    seconds = time.perf_counter() - started
    print(f"{_count(len(lines))}, {vectors.shape[1]} numbers each: {seconds:.2f} s, {len(lines) / seconds:,.0f} texts/s", file=sys.stderr)
    figures = {"model": model, "num_texts": len(lines), "hidden_size": vectors.shape[1], "seconds": round(seconds, 4)}
    if similar is not None:
        _print_nearest(_nearest(embedder, similar, lines, vectors, normalize)[:top], {**figures, "similar": similar}, as_json=as_json)
    else:
        _print_vectors(vectors, out, figures, as_json=as_json)


def _check(*, similar: str | None, top: int, out: Path | None, prompt: str | None, batch_size: int) -> None:
    for name, number in (("--top", top), ("--batch-size", batch_size)):
        if number < 1:
            raise OptionError(f"came: {name} {number}; expected: at least 1")
    if similar is not None and not similar.strip():
        raise OptionError("came: --similar with nothing in it; expected: the text whose nearest are looked for")
    for name, value in (("--out", out), ("--prompt", prompt)):
        if similar is not None and value is not None:
            raise OptionError(
                f"came: --similar and {name}; expected: one of them; a search prints texts, and takes the model's own prompts"
            )
    if out is not None and out.suffix != ".npy":
        raise OptionError(f"came: --out {out}; expected: a name that ends in .npy, the form the vectors are written in")


def _texts(texts: list[str], file: Path | None) -> list[str]:
    """The texts of the arguments, or the lines of a file or of stdin.

    Errors   OptionError for both, none, a line without text, or a file that cannot be read or is no UTF-8.
    """
    if texts and file:
        raise OptionError("came: both texts and --file; expected: one of them")
    if texts:
        return texts
    if file is None and sys.stdin.isatty():
        raise OptionError('came: no texts; expected: texts, as in: headway embed "one" "two"; or --file; or a text per line on stdin')
    try:
        content = file.read_text(encoding="utf-8-sig") if file else sys.stdin.read()
    except UnicodeDecodeError as error:
        raise OptionError(f"came: {file}, which is no UTF-8 ({error}); expected: text, a line each; convert it first") from error
    except OSError as error:
        raise OptionError(
            f"came: --file {file}; expected: a file with a text on every line, that can be read ({error.strerror})"
        ) from error
    lines = content.removesuffix("\n").split("\n") if content else []
    lines, place = [line.removesuffix("\r") for line in lines], file or "stdin"
    empty = next((number for number, line in enumerate(lines, start=1) if not line.strip()), None)
    if empty is not None:
        raise OptionError(f"came: {place} with nothing on line {empty}; expected: a text on every line; take the line out")
    if not lines:
        raise OptionError(f"came: {place} without a line; expected: at least one text")
    return lines


@contextmanager
def _progress(num_texts: int, batch_size: int) -> Iterator[Callable[[int], None] | None]:
    """A bar on stderr, for a person who has more than one batch to wait for."""
    if num_texts <= batch_size or not sys.stderr.isatty():
        yield None
        return
    with Shown().bar(num_texts, "text") as advance:
        yield advance


def _say_cut(embedder: Embedder, cut: list[int]) -> None:
    print(
        f"{_count(len(cut))} longer than {embedder.max_seq_len:,} tokens, cut at the end; the first is number {cut[0] + 1}",
        file=sys.stderr,
    )


def _nearest(
    embedder: Embedder, similar: str, lines: list[str], vectors: numpy.ndarray, is_normalized: bool | None
) -> list[dict[str, Any]]:
    """Every line with its score, the nearest first; of equals the one that stands first."""
    (one,) = embedder.embed([similar], is_normalized=is_normalized, prompt=embedder.prompt_name("query"))
    scores = embedder.similarity(one, vectors)
    order = numpy.argsort(-scores, kind="stable").tolist()
    return [{"score": _short(scores[index]), "line": index + 1, "text": lines[index]} for index in order]


def _print_nearest(nearest: list[dict[str, Any]], figures: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        o.print_json({**figures, "nearest": nearest})
        return
    for each in nearest:
        print(f"{each['score']:.4f}\t{each['line']}\t{each['text']}")


def _print_vectors(vectors: numpy.ndarray, out: Path | None, figures: dict[str, Any], *, as_json: bool) -> None:
    if out:
        with replacing(out) as temporary, temporary.open("wb") as file:
            numpy.save(file, vectors)
        figures = {**figures, "out": str(out)}
    rows = [] if out else [[_short(number) for number in vector] for vector in vectors]
    if as_json:
        o.print_json(figures if out else {**figures, "vectors": rows})
        return
    for row in rows:
        o.print_json(row)


def _short(number: numpy.float32) -> float:
    """A number that prints with as few digits as float32 needs, which is half of float64's."""
    return float(str(number))


def _count(number: int) -> str:
    return "1 text" if number == 1 else f"{number:,} texts"
