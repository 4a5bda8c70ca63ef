"""headway train: train a model on texts or on pairs of texts."""

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
    files: Annotated[list[Path] | None, typer.Argument(help="Text files; for transformer, pairs: source, tab, target per line.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the run and, at the end, of the model.")] = Path("model"),
    stories: Annotated[
        int | None, typer.Option(help="Train on this number of generated stories instead of files; from a clone of the repository only.")
    ] = None,
    source_file: Annotated[Path | None, typer.Option(help="Pairs in two files: one source per line.")] = None,
    target_file: Annotated[Path | None, typer.Option(help="The targets, one per line.")] = None,
    tokenizer: Annotated[str, typer.Option(help="bpe (trained on the texts), bytes, or characters (those of the texts).")] = "bpe",
    vocab_size: Annotated[int | None, typer.Option(help="Vocabulary size of the bpe tokenizer.  [default: 4096]")] = None,
    invented_share: Annotated[float, typer.Option(help="Share of the generated stories with invented names, 0 to 1.")] = 0.0,
    init_from: Annotated[
        str | None, typer.Option("--from", help="Model to start from, with its tokenizer.  [default: random weights]")
    ] = None,
    validation_share: Annotated[float, typer.Option(help="Share of the data held back for validation.")] = 0.05,
    architecture: Annotated[
        str, typer.Option(help="A decoder's model_type, such as gpt2, llama or qwen3, or transformer for pairs.")
    ] = DEFAULT.architecture,
    context_: Annotated[int, typer.Option("--context", help="Tokens per sequence.")] = DEFAULT.context,
    num_layers: Annotated[
        int, typer.Option(help="Number of layers; for transformer, of the encoder and of the decoder.")
    ] = DEFAULT.num_layers,
    num_heads: Annotated[int, typer.Option(help="Attention heads per layer.")] = DEFAULT.num_heads,
    num_kv_heads: Annotated[int | None, typer.Option(help="Key and value heads, as of llama and qwen3.  [default: --num-heads]")] = None,
    hidden_size: Annotated[int, typer.Option(help="Width of the hidden states.")] = DEFAULT.hidden_size,
    intermediate_size: Annotated[
        int | None, typer.Option(help="Width inside the feed-forward.  [default: 4 × hidden size; 8/3 × if gated]")
    ] = None,
    dropout: Annotated[float, typer.Option(help="Dropout rate.")] = DEFAULT.dropout,
    batch_size: Annotated[int, typer.Option(help="Sequences per step, over all processes.")] = DEFAULT.batch_size,
    num_steps: Annotated[int, typer.Option(help="Optimizer steps.")] = DEFAULT.num_steps,
    learning_rate: Annotated[float, typer.Option(help="Peak learning rate, followed by cosine decay.")] = DEFAULT.learning_rate,
    min_learning_rate: Annotated[float, typer.Option(help="Learning rate at the end.")] = DEFAULT.min_learning_rate,
    warmup_steps: Annotated[int, typer.Option(help="Steps of linear warm-up.")] = DEFAULT.warmup_steps,
    weight_decay: Annotated[float, typer.Option(help="Weight decay of AdamW, on matrices only.")] = DEFAULT.weight_decay,
    beta1: Annotated[float, typer.Option(help="Decay rate of AdamW's first moment.")] = DEFAULT.beta1,
    beta2: Annotated[float, typer.Option(help="Decay rate of AdamW's second moment.")] = DEFAULT.beta2,
    max_gradient_norm: Annotated[float, typer.Option(help="Gradient clipping: largest norm.")] = DEFAULT.max_gradient_norm,
    dtype: Annotated[str, typer.Option(help="Dtype of matrix products: float32, bfloat16, or auto for the faster.")] = DEFAULT.dtype,
    weights_dtype: Annotated[str, typer.Option(help="Dtype of the saved weights: float32, bfloat16 or float16.")] = DEFAULT.weights_dtype,
    device: Annotated[str, typer.Option(help="cpu, cuda, …")] = DEFAULT.device,
    is_sharded: Annotated[bool, typer.Option("--sharded", help="Shard the weights over the processes (FSDP).")] = False,
    eval_every: Annotated[int, typer.Option(help="Steps between validations.")] = DEFAULT.eval_every,
    save_every_seconds: Annotated[float, typer.Option(help="Seconds between saved states for --resume.")] = DEFAULT.save_every_seconds,
    seed: Annotated[int, typer.Option(help="Random seed of weights, batches and stories.")] = DEFAULT.seed,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out with its own options.")] = False,
) -> None:
    """Train a model on texts or on pairs of texts, and write a folder that `headway generate --model` opens.

    \b
      headway train --out shakespeare shakespeare.txt
      headway train --out reverser --architecture transformer --tokenizer characters pairs.tsv
      headway train --out shakespeare --resume
      torchrun --nproc-per-node 2 -m headway train --out shakespeare shakespeare.txt

    Needs torch: pip install 'headway[torch]'. A run that was interrupted or killed continues with --resume from its last saved
    state; with --resume only options that keep the model and the batches are accepted, such as --learning-rate.
    Exit codes: 0 success, 2 invalid input, 130 interrupted.
    """
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise OptionError("torch is not installed", hint="run: pip install 'headway[torch]'") from error
    from headway.train.distributed import end, join, leave

    processes = join()
    try:
        _train(context, out, processes)
    except (HeadwayError, OSError):
        if processes.is_first:
            raise
        sys.exit(2)  # the first process prints it
    finally:
        leave()
    end(processes)


def _train(context: typer.Context, out: Path, processes: Any) -> None:
    from headway.train.run import Data, finish, resume, start

    shown = Shown(is_silent=not processes.is_first)
    options, data = _given(context)
    if context.params["resume"]:
        if data:
            raise OptionError(f"{', '.join(sorted(data))} and --resume cannot be combined", hint="a resumed run uses its own data")
        run = resume(out, processes=processes, **options)
        shown.say(f"resuming at step {run.step}")
    else:
        run = start(out, TrainingOptions(**options), Data(**data), say=shown.say, processes=processes)
    with Interruption() as interruption, shown.bar(run.options.num_steps, "step") as advance:
        advance(run.step)
        is_done = run.train(lambda progress: _report(progress, shown, advance), interruption.is_requested)
    if not is_done:
        shown.say(f"stopped at step {run.step}; to continue: headway train --out {out} --resume")
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
    """Return the options of training and those of the data that were given on the command line, without defaults."""
    given = {
        name.removesuffix("_"): value
        for name, value in context.params.items()
        if (source := context.get_parameter_source(name)) is not None and source.name == "COMMANDLINE" and value not in (None, [])
    }
    fields = {field.name for field in dataclasses.fields(TrainingOptions)}
    names = {"files": "files", "stories": "num_stories", "source_file": "source", "target_file": "target"}
    names |= {name: name for name in ("tokenizer", "vocab_size", "invented_share", "validation_share")}
    for name in given.keys() & {"source_file", "target_file"}:
        given[name] = Path(given[name])  # older versions of Typer leave strings in the context
    if "files" in given:
        given["files"] = [Path(file) for file in given["files"]]
    options = {name: value for name, value in given.items() if name in fields}
    return options, {names[name]: value for name, value in given.items() if name in names}
