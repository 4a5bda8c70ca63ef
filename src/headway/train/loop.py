"""The training loop: AdamW, warm-up and cosine, validation, and a state to resume from."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from headway.errors import TrainingError
from headway.kernels import operations
from headway.models import gpt2
from headway.train.corpus import Corpus
from headway.train.options import TrainingOptions
from headway.train.state import load_state, parameters, save_state
from headway.train.weights import initial_weights


@dataclass(frozen=True)
class Progress:
    """What is known after a step. Losses are means in nats per token; validation_loss only where it was measured."""

    step: int
    num_steps: int
    loss: float
    learning_rate: float
    tokens_per_second: float
    seconds: float
    validation_loss: float | None = None

    @property
    def seconds_left(self) -> float:
        """At the pace so far."""
        return self.seconds / max(self.step, 1) * (self.num_steps - self.step)


class Run:
    """One training run: model, optimizer, and how far it has come."""

    def __init__(self, config: gpt2.Config, corpus: Corpus, options: TrainingOptions, state_path: Path) -> None:
        """Start from random weights, or from the state at state_path if there is one."""
        self.config, self.corpus, self.state_path = config, corpus, state_path
        self.options = options if options.dtype != "auto" else replace(options, dtype=faster_dtype(options.device))
        self.ops = operations("torch")
        self.weights = initial_weights(config, seed=options.seed, device=options.device)
        self.optimizer = _adamw(parameters(self.weights).values(), self.options)
        self.step, self.seconds, self.curve = 0, 0.0, []
        if state_path.exists():
            progress = load_state(state_path, self.weights, self.optimizer)
            self.step, self.seconds, self.curve = progress["step"], progress["seconds"], progress["curve"]

    def train(self, report: Callable[[Progress], None], should_stop: Callable[[], bool] = lambda: False) -> bool:
        """Step until num_steps, or until should_stop says so; the state is saved in both cases. Returns whether it is done.

        Errors   TrainingError where the loss is no finite number, or the state cannot be written; the last state stands.
        """
        saved_at = time.monotonic()
        while self.step < self.options.num_steps and not should_stop():
            started = time.monotonic()
            loss, learning_rate = self._step()
            validation = self.validation_loss() if self.step % self.options.eval_every == 0 or self.step == self.options.num_steps else None
            seconds = time.monotonic() - started
            self.seconds += seconds
            tokens = self.options.batch_size * self.options.context
            progress = Progress(self.step, self.options.num_steps, loss, learning_rate, tokens / seconds, self.seconds, validation)
            if validation is not None:
                self.curve.append(
                    {"step": self.step, "loss": round(loss, 4), "validation_loss": round(validation, 4), "seconds": round(self.seconds, 1)}
                )
            report(progress)
            if time.monotonic() - saved_at > self.options.save_every_seconds:
                self.save()
                saved_at = time.monotonic()
        self.save()
        return self.step == self.options.num_steps

    def save(self) -> None:
        """Write the state.

        Errors   TrainingError where it cannot be written; the last one stands.
        """
        if self.step == 0:
            return
        progress = {"step": self.step, "seconds": self.seconds, "curve": self.curve}
        try:
            save_state(self.state_path, self.weights, self.optimizer, progress)
        except OSError as error:
            kept = "the state before it stands" if self.state_path.exists() else "there is none before it"
            raise TrainingError(
                f"the state of step {self.step} could not be written to {self.state_path} ({error}); {kept}; make room, then --resume"
            ) from error

    @torch.no_grad()
    def validation_loss(self) -> float:
        """The mean loss over the validation windows, in nats per token."""
        batches = list(self.corpus.validation_batches(context=self.options.context, batch_size=self.options.batch_size))
        total = sum(self._loss(torch.from_numpy(batch)).item() * len(batch) for batch in batches)
        return total / sum(len(batch) for batch in batches)

    def _step(self) -> tuple[float, float]:
        options = self.options
        learning_rate = scheduled_learning_rate(self.step, options)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        batch = self.corpus.batch(self.step, context=options.context, batch_size=options.batch_size, seed=options.seed)
        loss = self._loss(torch.from_numpy(batch))
        if not math.isfinite(loss.item()):
            raise TrainingError(
                f"the loss became {loss.item()} at step {self.step}; the state before it stands; lower --learning-rate "
                f"(now {learning_rate:.2g}), or use --dtype float32"
            )
        loss.backward()
        tensors = list(parameters(self.weights).values())
        torch.nn.utils.clip_grad_norm_(tensors, options.max_gradient_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.step += 1
        return loss.item(), learning_rate

    def _loss(self, batch: torch.Tensor) -> torch.Tensor:
        batch = batch.to(self.options.device)
        with self._precision():
            logits = gpt2.forward(batch[:, :-1], self.weights, self.config, ops=self.ops)
        return self.ops.cross_entropy(logits.float(), batch[:, 1:])

    def _precision(self) -> AbstractContextManager[Any]:
        if self.options.dtype == "float32":
            return nullcontext()
        return torch.autocast(self.options.device.partition(":")[0], torch.bfloat16)


def scheduled_learning_rate(step: int, options: TrainingOptions) -> float:
    """Linear from 0 over warmup_steps, then half a cosine down to min_learning_rate at the last step."""
    if step < options.warmup_steps:
        return options.learning_rate * (step + 1) / options.warmup_steps
    share = (step - options.warmup_steps) / max(options.num_steps - options.warmup_steps, 1)
    low = min(options.min_learning_rate, options.learning_rate)
    return low + (options.learning_rate - low) * (1 + math.cos(math.pi * share)) / 2


def faster_dtype(device: str) -> str:
    """bfloat16 where this machine multiplies it faster than float32, measured on one product."""

    def seconds(dtype: torch.dtype) -> float:
        a = torch.ones(512, 512, dtype=dtype, device=device)
        times = []
        for _ in range(5):
            started = time.perf_counter()
            (a @ a).sum().item()
            times.append(time.perf_counter() - started)
        return min(times)

    return "bfloat16" if seconds(torch.bfloat16) < seconds(torch.float32) else "float32"


def _adamw(tensors: Any, options: TrainingOptions) -> torch.optim.AdamW:
    tensors = list(tensors)
    groups = [
        {"params": [tensor for tensor in tensors if tensor.ndim > 1], "weight_decay": options.weight_decay},
        {"params": [tensor for tensor in tensors if tensor.ndim == 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=options.learning_rate, betas=(options.beta1, options.beta2), fused=True)
