"""headway classify: the classes of texts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numpy
import typer

from headway.cli import options as o
from headway.cli.texts import check_counts, print_throughput, print_truncated, progress, read_texts, short
from headway.errors import quantity
from headway.language_model import load


def command(
    texts: Annotated[list[str] | None, typer.Argument(help="The texts.  [default: --file, else one text per line of stdin]")] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="A file with one text per line.")] = None,
    model: Annotated[str, typer.Option("--model", "-m", help="A classifier: a folder, or a Hugging Face name.")] = (
        "distilbert/distilbert-base-uncased-finetuned-sst-2-english"
    ),
    top: Annotated[int, typer.Option(help="Number of labels to print per text.")] = 1,
    batch_size: Annotated[int, typer.Option(help="Most texts in one batch.")] = 32,
    array: o.Array = o.ArrayLibrary.numpy,
    dtype: o.Dtype = "float32",
    device: o.Device = None,
    weights: o.PackedWeights = "auto",
    threads: o.Threads = None,
    ignore_config_key: o.IgnoreConfigKey = None,
    as_json: o.Json = False,
) -> None:
    """Classify texts with a model that has a sequence-classification head.

    \b
      headway classify "I love it." "It broke after a day."
      headway classify --model ./my-classifier --file lines.txt --top 3
      headway classify --model ./my-classifier --json < lines.txt

    Prints the labels of a text on one line, the most likely first, each followed by its score, separated by tabs. Throughput goes to
    stderr. A text longer than the model's limit is truncated at its end.

    Exit codes: 0 success, 2 invalid input, 130 interrupted.
    """
    check_counts(top=top, batch_size=batch_size)
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
        labels = classifier.classify(
            lines,
            top_k=top,
            batch_size=batch_size,
            on_batch=on_batch,
            on_cut=lambda cut: print_truncated(cut, classifier.max_seq_len),
        )
    seconds = time.perf_counter() - started
    print_throughput(quantity(len(lines), "text"), len(lines), seconds)
    if as_json:
        rows = [[{"label": each.name, "score": short(numpy.float32(each.score))} for each in row] for row in labels]
        o.print_json({"model": model, "num_texts": len(lines), "seconds": round(seconds, 4), "labels": rows})
        return
    for row in labels:
        print("\t".join(f"{each.name}\t{each.score:.4f}" for each in row))
