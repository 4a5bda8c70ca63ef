"""headway evaluate: exact-match accuracy on pairs of texts, or loss and perplexity on a text."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Annotated, Any, cast

import numpy
import typer

from headway.arrays import at_least_float32, from_numpy
from headway.cli import options as o
from headway.cli.progress import Shown
from headway.errors import OptionError, quantity
from headway.language_model import LanguageModel, load
from headway.runners import Architecture
from headway.train.corpus import read_text
from headway.train.pairs import Pair, read_pairs

NUM_SHOWN = 5
CHUNK = 512
"""Tokens per row and pass, which bounds the memory for attention scores and logits."""
TOKENS_PER_BATCH = 2048
MAX_WINDOW = 2048
"""Window of a model whose context has no limit."""


def command(
    file: Annotated[Path, typer.Argument(help="A .tsv file of pairs (source, tab, target per line), or a text file.")],
    model: o.Model = "stories",
    batch_size: Annotated[int, typer.Option(help="Pairs per batch.")] = 64,
    array: o.Array = o.ArrayLibrary.numpy,
    dtype: o.Dtype = "float32",
    device: o.Device = None,
    ignore_config_key: o.IgnoreConfigKey = None,
    as_json: o.Json = False,
) -> None:
    """Compare a model's greedy answers with targets, or measure its loss on a text.

    \b
      headway evaluate unseen.tsv --model reverser
      headway evaluate letters.txt --model shakespeare --json
      headway evaluate story.txt --array torch

    An answer counts if it equals the target up to surrounding spaces. The loss is the mean in nats per token over consecutive
    windows of the model's context; perplexity is exp(loss). Figures go to stdout, progress to stderr.
    Exit codes: 0 success, 2 invalid input, 130 interrupted.
    """
    if batch_size < 1:
        raise OptionError(f"got --batch-size {batch_size}, expected at least 1")
    is_pairs = file.suffix == ".tsv"
    pairs, text = (read_pairs(file), "") if is_pairs else ([], read_text(file))
    language_model = load(model, array=array.value, dtype=dtype, device=device, weights="none", ignored_config_keys=ignore_config_key or ())
    started = time.perf_counter()
    figures = _answers(language_model, pairs, batch_size) if is_pairs else _loss(language_model, text, file)
    figures = {"model": model, "file": str(file), **figures, "seconds": round(time.perf_counter() - started, 2)}
    if as_json:
        o.print_json(figures)
    else:
        _print(figures)


def _answers(model: LanguageModel, pairs: list[Pair], batch_size: int) -> dict[str, Any]:
    """Return the number of greedy answers that equal their targets, and the first that do not."""
    mistakes = []
    with Shown().bar(len(pairs), "pair") as advance:
        for first in range(0, len(pairs), batch_size):
            batch = pairs[first : first + batch_size]
            # A longer answer is wrong in any case; the same text may have more tokens than the target's own encoding.
            max_new_tokens = 2 * max(len(model.tokenizer.encode(target)) for _, target in batch) + 8
            answers = model.generate([source for source, _ in batch], temperature=0, max_new_tokens=max_new_tokens, stop="\n")
            mistakes += [
                {"source": source, "target": target, "answer": answer.text}
                for (source, target), answer in zip(batch, answers, strict=True)
                if answer.text.strip() != target.strip()
            ]
            advance(first + len(batch))
    num_exact = len(pairs) - len(mistakes)
    return {"num_pairs": len(pairs), "num_exact": num_exact, "exact_match": num_exact / len(pairs), "mistakes": mistakes[:NUM_SHOWN]}


def _loss(model: LanguageModel, text: str, file: Path) -> dict[str, Any]:
    """Return the mean loss over windows of the context; every token but the first is predicted once."""
    if model.kind != "decoder":
        raise _unsuitable(model.kind, file)
    token_ids = numpy.asarray(model.tokenizer.encode(text), numpy.int64)
    if len(token_ids) < 2:
        raise OptionError(f"got {file} with {quantity(len(token_ids), 'token')}, expected at least 2")
    num_targets = len(token_ids) - 1
    context = model.config.max_seq_len or MAX_WINDOW
    num_whole = num_targets // context
    starts = numpy.arange(num_whole) * context
    rows = max(TOKENS_PER_BATCH // context, 1)
    batches = [token_ids[starts[i : i + rows, None] + numpy.arange(context + 1)] for i in range(0, num_whole, rows)]
    if num_targets % context:
        batches.append(token_ids[None, num_whole * context :])
    total, num_done = 0.0, 0
    with Shown().bar(num_targets, "token") as advance:
        for batch in batches:
            total += _summed_loss(model, batch)
            num_done += batch[:, 1:].size
            advance(num_done)
    loss = total / num_targets
    return {"num_tokens": num_targets, "loss": loss, "perplexity": math.exp(loss) if loss < 700 else math.inf}


def _unsuitable(kind: str, file: Path) -> OptionError:
    if kind == "encoder":
        return OptionError("got an encoder, expected a decoder or an encoder–decoder", hint="choose another --model")
    return OptionError(f"got the text {file} for an encoder–decoder, expected pairs of source and target", hint="give a .tsv file")


def _summed_loss(model: LanguageModel, windows: numpy.ndarray) -> float:
    """Return the loss of windows of equal length, summed over all tokens but the first of each."""
    parts, (num_rows, length) = model.model, windows.shape
    architecture = cast(Architecture, parts.architecture)
    cache = architecture.new_kv_cache(parts.config, num_rows, length - 1, parts.weights.token_embedding)
    total = 0.0
    for first in range(0, length - 1, CHUNK):
        last = min(first + CHUNK, length - 1)
        given, targets = (
            from_numpy(numpy.ascontiguousarray(windows[:, first + shift : last + shift]), parts.array, parts.device) for shift in (0, 1)
        )
        hidden = architecture.hidden_states(given, parts.weights, parts.config, kv_cache=cache, ops=parts.ops)
        logits = architecture.logits(hidden, parts.weights, parts.config, ops=parts.ops)
        total += float(parts.ops.cross_entropy(at_least_float32(logits), targets)) * num_rows * (last - first)
    return total


def _print(figures: dict[str, Any]) -> None:
    if "loss" in figures:
        print(
            f"{quantity(figures['num_tokens'], 'token')}: loss {figures['loss']:.4f} nats per token, perplexity {figures['perplexity']:.4g}"
        )
        return
    for mistake in figures["mistakes"]:
        print(f"{mistake['source']!r}: expected {mistake['target']!r}, got {mistake['answer']!r}")
    share = 100 * figures["exact_match"]
    print(f"{figures['num_exact']:,} of {figures['num_pairs']:,} answers equal their targets: {share:.2f} %")
