"""headway train: texts, or pairs of texts, to a model."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.cli import options as o
from headway.cli.progress import Interruption, Shown
from headway.errors import HeadwayError, OptionError
from headway.train.options import TrainingOptions

DEFAULT = TrainingOptions()


def command(
    context: typer.Context,
    files: Annotated[list[Path] | None, typer.Argument(help="Texts; for transformer, pairs: source, tab, target on each line.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the run, and of the model at the end.")] = Path("model"),
    stories: Annotated[int | None, typer.Option(help="Train on this many stories from the story writer, instead of files.")] = None,
    source_file: Annotated[Path | None, typer.Option(help="Pairs in two files: the sources, one on each line.")] = None,
    target_file: Annotated[Path | None, typer.Option(help="The targets, each on the line of its source.")] = None,
    tokenizer: Annotated[str, typer.Option(help="bpe (trained on the texts), bytes, or characters (those of the texts).")] = "bpe",
    vocab_size: Annotated[int | None, typer.Option(help="Of the bpe.  [default: 4096]")] = None,
    invented_share: Annotated[float, typer.Option(help="Share of the stories with invented names, 0 to 1.")] = 0.0,
    init_from: Annotated[
        str | None, typer.Option("--from", help="Model to start from, with its tokenizer.  [default: random weights]")
    ] = None,
    validation_share: Annotated[float, typer.Option(help="How much is held back to validate on.")] = 0.05,
    architecture: Annotated[str, typer.Option(help="gpt2, llama, qwen3, or transformer for pairs.")] = DEFAULT.architecture,
    context_: Annotated[int, typer.Option("--context", help="Tokens per sequence.")] = DEFAULT.context,
    num_layers: Annotated[int, typer.Option(help="Layers; for transformer in both halves.")] = DEFAULT.num_layers,
    num_heads: Annotated[int, typer.Option(help="Attention heads per layer.")] = DEFAULT.num_heads,
    num_kv_heads: Annotated[int | None, typer.Option(help="Key and value heads, of llama and qwen3.  [default: as many]")] = None,
    hidden_size: Annotated[int, typer.Option(help="Width.")] = DEFAULT.hidden_size,
    intermediate_size: Annotated[int | None, typer.Option(help="Width in the feed-forward.  [default: 4 widths, gated 8/3]")] = None,
    dropout: Annotated[float, typer.Option(help="Share of the activations to forget.")] = DEFAULT.dropout,
    batch_size: Annotated[int, typer.Option(help="Sequences per step, over all processes.")] = DEFAULT.batch_size,
    num_steps: Annotated[int, typer.Option(help="Optimizer steps.")] = DEFAULT.num_steps,
    learning_rate: Annotated[float, typer.Option(help="The highest; falls along a cosine.")] = DEFAULT.learning_rate,
    min_learning_rate: Annotated[float, typer.Option(help="The last.")] = DEFAULT.min_learning_rate,
    warmup_steps: Annotated[int, typer.Option(help="Steps of linear warm-up.")] = DEFAULT.warmup_steps,
    weight_decay: Annotated[float, typer.Option(help="AdamW's, on matrices.")] = DEFAULT.weight_decay,
    beta1: Annotated[float, typer.Option(help="AdamW's memory of gradients.")] = DEFAULT.beta1,
    beta2: Annotated[float, typer.Option(help="AdamW's memory of their squares.")] = DEFAULT.beta2,
    max_gradient_norm: Annotated[float, typer.Option(help="Longer gradients are shortened to this.")] = DEFAULT.max_gradient_norm,
    dtype: Annotated[str, typer.Option(help="Of the products: float32, bfloat16, or auto for the faster.")] = DEFAULT.dtype,
    weights_dtype: Annotated[str, typer.Option(help="Of the written weights: float32, bfloat16 or float16.")] = DEFAULT.weights_dtype,
    device: Annotated[str, typer.Option(help="cpu, cuda, …")] = DEFAULT.device,
    is_sharded: Annotated[bool, typer.Option("--sharded", help="Each process holds its share of the weights only (FSDP).")] = False,
    eval_every: Annotated[int, typer.Option(help="Steps between two validation losses.")] = DEFAULT.eval_every,
    save_every_seconds: Annotated[float, typer.Option(help="Between two states for --resume.")] = DEFAULT.save_every_seconds,
    seed: Annotated[int, typer.Option(help="Of the weights, the batches and the stories.")] = DEFAULT.seed,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out, with its own options.")] = False,
) -> None:
    """Train a model on texts or on pairs of texts, and write a folder that `headway generate --model` opens.

    \b
      headway train --out shakespeare shakespeare.txt
      headway train --out reverser --architecture transformer --tokenizer characters pairs.tsv
      headway train --out shakespeare --resume
      torchrun --nproc-per-node 2 -m headway train --out shakespeare shakespeare.txt

    Needs torch: pip install 'headway[torch]'. Killed or interrupted, the run goes on with --resume from its last saved state;
    beside --resume only options that leave the model and the batches as they are may be given, such as --learning-rate.
    Exit codes: 0 done, 2 bad input, 130 interrupted.
    """
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise OptionError("came: no torch; expected: torch to train with; run: pip install 'headway[torch]'") from error
    from headway.train.distributed import end, join, leave

    processes = join()
    try:
        _train(context, out, processes)
    except (HeadwayError, OSError):
        if processes.is_first:
            raise
        sys.exit(2)  # the first process says it
    finally:
        leave()
    end(processes)


def _train(context: typer.Context, out: Path, processes: Any) -> None:
    from headway.train.run import Data, finish, resume, start

    shown = Shown(is_silent=not processes.is_first)
    options, data = _given(context)
    if context.params["resume"]:
        if data:
            raise OptionError(f"came: {', '.join(sorted(data))} beside --resume; expected: none; the run goes on with its own data")
        run = resume(out, processes=processes, **options)
        shown.say(f"resuming at step {run.step}")
    else:
        run = start(out, TrainingOptions(**options), Data(**data), say=shown.say, processes=processes)
    with Interruption() as interruption, shown.bar(run.options.num_steps, "step") as advance:
        is_done = run.train(lambda progress: _report(progress, shown, advance), interruption.has_come)
    if not is_done:
        shown.say(f"stopped at step {run.step}; to go on: headway train --out {out} --resume")
        raise KeyboardInterrupt
    finish(run, out, say=shown.say)
    shown.say(f'done in {run.seconds:,.0f} s; to try it: headway generate --model {out} "…"')
    if processes.is_first:
        loss = run.curve[-1]["validation_loss"]
        o.print_json({"model": str(out), "step": run.step, "seconds": round(run.seconds, 1), "validation_loss": loss})


def _report(progress: Any, shown: Shown, advance: Callable[..., None]) -> None:
    advance(progress.step, f"loss {progress.loss:.3f}  {progress.tokens_per_second:,.0f} tokens/s")
    if progress.validation_loss is not None:
        shown.say(
            f"step {progress.step}: loss {progress.loss:.4f}, validation loss {progress.validation_loss:.4f}, "
            f"learning rate {progress.learning_rate:.2e}"
        )


def _given(context: typer.Context) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was said about the training and about the data, without what was left at its default."""
    given = {
        name.removesuffix("_"): value
        for name, value in context.params.items()
        if (source := context.get_parameter_source(name)) is not None and source.name == "COMMANDLINE" and value not in (None, [])
    }
    fields = {field.name for field in dataclasses.fields(TrainingOptions)}
    names = {"files": "files", "stories": "num_stories", "source_file": "source", "target_file": "target"}
    names |= {name: name for name in ("tokenizer", "vocab_size", "invented_share", "validation_share")}
    options = {name: value for name, value in given.items() if name in fields}
    return options, {names[name]: value for name, value in given.items() if name in names}
