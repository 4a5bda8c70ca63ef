"""headway train: texts to a model."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.cli import options as o
from headway.errors import OptionError


def command(
    files: Annotated[list[Path] | None, typer.Argument(help="Text files to train on.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the run, and of the model at the end.")] = Path("model"),
    stories: Annotated[int | None, typer.Option(help="Train on this many stories from the story writer, instead of files.")] = None,
    tokenizer: Annotated[str, typer.Option(help="bpe (trained on the texts), or bytes.")] = "bpe",
    vocab_size: Annotated[int, typer.Option(help="Of the bpe.")] = 4096,
    context: Annotated[int, typer.Option(help="Tokens per sequence.")] = 256,
    num_layers: Annotated[int, typer.Option(help="Layers.")] = 4,
    num_heads: Annotated[int, typer.Option(help="Attention heads per layer.")] = 4,
    hidden_size: Annotated[int, typer.Option(help="Width.")] = 256,
    batch_size: Annotated[int, typer.Option(help="Sequences per step.")] = 16,
    num_steps: Annotated[int, typer.Option(help="Optimizer steps.")] = 2000,
    learning_rate: Annotated[float, typer.Option(help="The highest; falls along a cosine.")] = 1e-3,
    min_learning_rate: Annotated[float, typer.Option(help="The last.")] = 1e-4,
    warmup_steps: Annotated[int, typer.Option(help="Steps of linear warm-up.")] = 100,
    weight_decay: Annotated[float, typer.Option(help="AdamW's, on matrices.")] = 0.1,
    dtype: Annotated[str, typer.Option(help="Of the products: float32, bfloat16, or auto for the faster.")] = "auto",
    weights_dtype: Annotated[str, typer.Option(help="Of the written weights: float32, bfloat16 or float16.")] = "float32",
    device: Annotated[str, typer.Option(help="cpu, cuda, …")] = "cpu",
    validation_share: Annotated[float, typer.Option(help="How much of the text is held back to validate on.")] = 0.05,
    eval_every: Annotated[int, typer.Option(help="Steps between two validation losses.")] = 250,
    save_every_seconds: Annotated[float, typer.Option(help="Between two writings of the state that --resume starts from.")] = 60.0,
    seed: Annotated[int, typer.Option(help="Of the weights, the batches and the stories.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out; its own options hold.")] = False,
) -> None:
    """Train a GPT-2 on texts, and write a folder that `headway generate --model` opens.

    \b
      headway train --out shakespeare shakespeare.txt
      headway train --out letters --tokenizer bytes --context 128 --num-steps 500 letters/*.txt
      headway train --out shakespeare --resume

    Needs torch: pip install 'headway[torch]'. Killed or interrupted, the run goes on with --resume from its last saved state.
    Exit codes: 0 done, 2 bad input, 130 interrupted.
    """
    if tokenizer not in ("bpe", "bytes"):
        raise OptionError(f"came: --tokenizer {tokenizer}; expected: bpe or bytes")
    if not resume and bool(files) == bool(stories):
        raise OptionError(f"came: {'both files and' if files else 'neither files nor'} --stories; expected: one of them to train on")
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise OptionError("came: no torch; expected: torch to train with; run: pip install 'headway[torch]'") from error
    from headway.train.options import TrainingOptions
    from headway.train.run import finish, start
    from headway.train.run import resume as resume_run

    shown = _Shown()
    if resume:
        run = resume_run(out)
        shown.say(f"resuming at step {run.step}")
    else:
        options = TrainingOptions(
            context=context,
            num_layers=num_layers,
            num_heads=num_heads,
            hidden_size=hidden_size,
            batch_size=batch_size,
            num_steps=num_steps,
            learning_rate=learning_rate,
            min_learning_rate=min_learning_rate,
            warmup_steps=warmup_steps,
            weight_decay=weight_decay,
            dtype=dtype,
            weights_dtype=weights_dtype,
            device=device,
            seed=seed,
            eval_every=eval_every,
            save_every_seconds=save_every_seconds,
        )
        run = start(
            out,
            options,
            files=files or (),
            num_stories=stories,
            vocab_size=vocab_size if tokenizer == "bpe" else None,
            validation_share=validation_share,
            say=shown.say,
        )
    with _Interruption() as interruption, shown.steps(run.options.num_steps) as report:
        is_done = run.train(report, interruption.has_come)
    if not is_done:
        shown.say(f"stopped at step {run.step}; to go on: headway train --out {out} --resume")
        raise KeyboardInterrupt
    finish(run, out)
    shown.say(f'done in {run.seconds:,.0f} s; to try it: headway generate --model {out} "…"')
    o.print_json(
        {"model": str(out), "step": run.step, "seconds": round(run.seconds, 1), "validation_loss": run.curve[-1]["validation_loss"]}
    )


class _Interruption:
    """Ctrl-C and SIGTERM end the run after the step under way, so that its state is whole."""

    def __enter__(self) -> _Interruption:
        self.came = False
        self.before = {each: signal.signal(each, self._note) for each in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for each, handler in self.before.items():
            signal.signal(each, handler)

    def has_come(self) -> bool:
        return self.came

    def _note(self, *_: object) -> None:
        self.came = True


class _Shown:
    """Progress on stderr."""

    def __init__(self) -> None:
        from rich.console import Console

        self.console = Console(stderr=True)

    def say(self, text: str) -> None:
        self.console.print(text, highlight=False)

    def steps(self, num_steps: int) -> Any:
        from contextlib import contextmanager

        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        @contextmanager
        def showing() -> Any:
            columns = (TextColumn("step"), MofNCompleteColumn(), BarColumn(None), TextColumn("{task.description}"), TimeElapsedColumn())
            with Progress(*columns, console=self.console) as bar:
                task = bar.add_task("", total=num_steps)

                def report(progress: Any) -> None:
                    left = f"{progress.seconds_left / 60:.1f} min left"
                    bar.update(
                        task,
                        completed=progress.step,
                        description=f"loss {progress.loss:.3f}  {progress.tokens_per_second:,.0f} tokens/s  {left}",
                    )
                    if progress.validation_loss is not None:
                        self.say(
                            f"step {progress.step}: loss {progress.loss:.4f}, validation loss {progress.validation_loss:.4f}, learning rate {progress.learning_rate:.2e}"
                        )

                yield report

        return showing()
