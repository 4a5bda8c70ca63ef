"""headway rerank: texts by their relevance to a query."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numpy
import typer

from headway.cli import options as o
from headway.cli.texts import check_counts, print_throughput, print_truncated, progress, read_texts, short
from headway.errors import OptionError, quantity
from headway.language_model import load


def command(
    query: Annotated[str, typer.Argument(help="The query.")],
    texts: Annotated[list[str] | None, typer.Argument(help="The texts.  [default: --file, else one text per line of stdin]")] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="A file with one text per line.")] = None,
    model: Annotated[str, typer.Option("--model", "-m", help="A reranker: a folder, or a Hugging Face name.")] = "BAAI/bge-reranker-base",
    top: Annotated[int | None, typer.Option(help="Number of texts to print.  [default: all]")] = None,
    batch_size: Annotated[int, typer.Option(help="Most texts in one batch.")] = 32,
    array: o.Array = o.ArrayLibrary.numpy,
    dtype: o.Dtype = "float32",
    device: o.Device = None,
    weights: o.PackedWeights = "auto",
    threads: o.Threads = None,
    ignore_config_key: o.IgnoreConfigKey = None,
    as_json: o.Json = False,
) -> None:
    """Sort texts by their relevance to a query, with a cross-encoder.

    \b
      headway rerank --model BAAI/bge-reranker-base "What do pandas eat?" "Pandas eat bamboo." "It rained all day."
      headway rerank --model ./ms-marco-MiniLM-L6-v2 "reset my password" --file lines.txt --top 3
      headway rerank --model ./bge-reranker-v2-m3 --json "query" < lines.txt

    Prints score, line number and text, most relevant first, separated by tabs. Throughput goes to stderr. The score is the model's
    output after the activation that its files name, the sigmoid by default. A query and a text that are together longer than the
    model's limit are truncated, the longer one first.

    Exit codes: 0 success, 2 invalid input, 130 interrupted.
    """
    check_counts(top=top, batch_size=batch_size)
    if not query.strip():
        raise OptionError("got an empty query, expected a text")
    lines = read_texts(texts or [], file)
    classifier = load(
        model,
        array=array.value,
        dtype=dtype,
        device=device,
        weights=weights,
        num_threads=threads,
        ignored_config_keys=ignore_config_key or (),
    ).classifier
    started = time.perf_counter()
    with progress(len(lines), batch_size) as on_batch:
        ranked = classifier.rerank(
            query,
            lines,
            top_k=top,
            batch_size=batch_size,
            on_batch=on_batch,
            on_cut=lambda cut: print_truncated(cut, classifier.max_seq_len),
        )
    seconds = time.perf_counter() - started
    print_throughput(quantity(len(lines), "text"), len(lines), seconds)
    if as_json:
        rows = [{"score": short(numpy.float32(each.score)), "line": each.index + 1, "text": each.text} for each in ranked]
        o.print_json({"model": model, "query": query, "num_texts": len(lines), "seconds": round(seconds, 4), "ranked": rows})
        return
    for each in ranked:
        print(f"{each.score:.4f}\t{each.index + 1}\t{each.text}")
