"""headway evaluate: how well a model does on pairs of texts, or on a text."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Annotated, Any

import numpy
import typer

from headway.arrays import at_least_float32, from_numpy
from headway.cli import options as o
from headway.cli.progress import Shown
from headway.errors import OptionError
from headway.language_model import LanguageModel, load
from headway.train.corpus import read_text
from headway.train.pairs import Pair, read_pairs

NUM_SHOWN = 5
CHUNK = 512
"""Tokens per row and pass, so that neither the scores nor the logits are those of a whole window."""
TOKENS_PER_BATCH = 2048


def command(
    file: Annotated[Path, typer.Argument(help="Pairs (source, tab, target on each line) in a file named .tsv; a text in any other.")],
    model: o.Model = "stories",
    batch_size: Annotated[int, typer.Option(help="Pairs that are answered together.")] = 64,
    array: o.Array = o.ArrayLibrary.numpy,
    dtype: o.Dtype = "float32",
    device: o.Device = None,
    ignore_config_key: o.IgnoreConfigKey = None,
    as_json: o.Json = False,
) -> None:
    """Compare a model's greedy answers with the targets of pairs; or measure its mean loss on a text.

    \b
      headway evaluate unseen.tsv --model reverser
      headway evaluate letters.txt --model shakespeare --json
      headway evaluate story.txt --array torch

    An answer counts where it is the target exactly, but for spaces around it. The loss is in nats per token, over windows of the
    model's context one behind the other; perplexity is e to that power. Figures go to stdout, progress to stderr.
    Exit codes: 0 done, 2 bad input, 130 interrupted.
    """
    if batch_size < 1:
        raise OptionError(f"came: --batch-size {batch_size}; expected: at least 1")
    is_pairs = file.suffix == ".tsv"
    pairs, text = (read_pairs(file), "") if is_pairs else ([], read_text(file))
    language_model = load(
        model, array=array.value, dtype=dtype, device=device, weights="none", ignored_config_keys=ignore_config_key or ()
    )
    started = time.perf_counter()
    figures = _answers(language_model, pairs, batch_size) if is_pairs else _loss(language_model, text, file)
    figures = {"model": model, "file": str(file), **figures, "seconds": round(time.perf_counter() - started, 2)}
    if as_json:
        o.print_json(figures)
    else:
        _print(figures)


def _answers(model: LanguageModel, pairs: list[Pair], batch_size: int) -> dict[str, Any]:
    """How many greedy answers are the targets, and the first that are not."""
    mistakes = []
    with Shown().bar(len(pairs), "pair") as advance:
        for first in range(0, len(pairs), batch_size):
            batch = pairs[first : first + batch_size]
            # A longer answer is wrong anyhow; the same text may take other tokens than the target's own.
            room = 2 * max(len(model.tokenizer.encode(target)) for _, target in batch) + 8
            answers = model.generate([source for source, _ in batch], temperature=0, max_new_tokens=room, stop="\n")
            mistakes += [
                {"source": source, "target": target, "answer": answer.text}
                for (source, target), answer in zip(batch, answers, strict=True)
                if answer.text.strip() != target.strip()
            ]
            advance(first + len(batch))
    num_exact = len(pairs) - len(mistakes)
    return {"num_pairs": len(pairs), "num_exact": num_exact, "exact_match": num_exact / len(pairs), "mistakes": mistakes[:NUM_SHOWN]}


def _loss(model: LanguageModel, text: str, file: Path) -> dict[str, Any]:
    """The mean loss over windows of the context, each token but the first one predicted once."""
    engine = model.engine
    if engine.architecture.KIND != "decoder":
        raise OptionError(_not_for(engine.architecture.KIND, file))
    token_ids = numpy.asarray(model.tokenizer.encode(text), numpy.int64)
    if len(token_ids) < 2:
        raise OptionError(f"came: {file} with {len(token_ids)} tokens; expected: at least two, the second of which can be predicted")
    num_targets, context = len(token_ids) - 1, engine.config.max_seq_len
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


def _not_for(kind: str, file: Path) -> str:
    if kind == "encoder":
        return (
            f"came: {file}, for an encoder, which writes nothing; expected: a model that continues texts or answers; take another --model"
        )
    return f"came: {file}, a text, for a model that answers; expected: pairs of source and target in a file named .tsv"


def _summed_loss(model: LanguageModel, windows: numpy.ndarray) -> float:
    """The loss of windows of one length, summed over all tokens but the first of each."""
    engine, (num_rows, length) = model.engine, windows.shape
    cache = engine.architecture.new_kv_cache(engine.config, num_rows, length - 1, engine.weights.token_embedding)
    total = 0.0
    for first in range(0, length - 1, CHUNK):
        last = min(first + CHUNK, length - 1)
        given, targets = (
            from_numpy(numpy.ascontiguousarray(windows[:, first + shift : last + shift]), engine.array, engine.device) for shift in (0, 1)
        )
        hidden = engine.architecture.hidden_states(given, engine.weights, engine.config, kv_cache=cache, ops=engine.ops)
        logits = engine.architecture.logits(hidden, engine.weights, engine.config, ops=engine.ops)
        total += float(engine.ops.cross_entropy(at_least_float32(logits), targets)) * num_rows * (last - first)
    return total


def _print(figures: dict[str, Any]) -> None:
    if "loss" in figures:
        print(f"{figures['num_tokens']:,} tokens: loss {figures['loss']:.4f} nats per token, perplexity {figures['perplexity']:.4g}")
        return
    for mistake in figures["mistakes"]:
        print(f"{mistake['source']!r}: expected {mistake['target']!r}, came {mistake['answer']!r}")
    share = 100 * figures["exact_match"]
    print(f"{figures['num_exact']:,} of {figures['num_pairs']:,} answers are the targets exactly: {share:.2f} %")
