"""The training loop: a batch, its loss, a step; validation; and a state to go on from."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy
import torch

from headway.errors import TrainingError
from headway.train.batch import Batch
from headway.train.corpus import Corpus
from headway.train.distributed import ALONE, Processes, for_this_process, spread, whole
from headway.train.finite import first_gradient, first_operation, first_weight
from headway.train.history import History
from headway.train.model import TrainedModel
from headway.train.options import TrainingOptions
from headway.train.pair_corpus import PairCorpus
from headway.train.schedule import adamw, faster_dtype, scheduled_learning_rate
from headway.train.state import load_state, save_state
from headway.train.weights import initial_weights
from headway.trees import map_tree


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


class Run:
    """One training run: model, optimizer, and how far it has come."""

    def __init__(
        self, config: Any, corpus: Corpus | PairCorpus, options: TrainingOptions, state_path: Path, processes: Processes = ALONE
    ) -> None:
        """Start from random weights, or from the state at state_path if there is one."""
        self.config, self.corpus, self.state_path, self.processes = config, corpus, state_path, processes
        local = for_this_process(options, processes)
        # Every process measures for itself, and all have to take the same.
        is_faster = processes.total([options.dtype == "auto" and faster_dtype(local.device) == "bfloat16"])[0] == processes.count
        dtype = ("bfloat16" if is_faster else "float32") if options.dtype == "auto" else options.dtype
        self.options, local, self.device = replace(options, dtype=dtype), replace(local, dtype=dtype), local.device
        self.model = TrainedModel(initial_weights(config, local), config, local)
        self.spread = spread(self.model, local, processes)
        self.optimizer = adamw(self.model.parameters(), local)
        self.step, self.seconds, self.history = 0, 0.0, History()
        if state_path.exists():
            progress = load_state(state_path, self.model, self.optimizer)
            self.step, self.seconds, self.history = progress["step"], progress["seconds"], History.from_dict(progress)

    @property
    def curve(self) -> list[dict[str, Any]]:
        """The points where validation was measured."""
        return self.history.curve

    @property
    def weights(self) -> Any:
        """The weight tree as it is now."""
        return self.model.weights

    def whole_weights(self) -> Any:
        """The weight tree as it is now, whole in every process."""
        return map_tree(whole, self.model.weights)

    def train(self, report: Callable[[Progress], None], should_stop: Callable[[], bool] = lambda: False) -> bool:
        """Step until num_steps, or until should_stop says so; the state is saved in both cases. Returns whether it is done.

        Errors   TrainingError where a loss or a gradient is not finite, or the state cannot be written; the last state stands.
        """
        saved_at = time.monotonic()
        while self.step < self.options.num_steps:
            is_stopped, is_due = self.processes.total(
                [should_stop(), self.processes.is_first and time.monotonic() - saved_at > self.options.save_every_seconds]
            )
            if is_stopped:
                break
            report(self._advance(is_saved=bool(is_due)))
            saved_at = time.monotonic() if is_due else saved_at
        self.save()
        return self.step == self.options.num_steps

    def save(self) -> None:
        """Write the state.

        Errors   TrainingError where it cannot be written; the last one stands.
        """
        if self.step == 0:
            return
        progress = {"step": self.step, "seconds": self.seconds, **self.history.to_dict()}
        try:
            save_state(self.state_path, self.model, self.optimizer, progress, self.processes)
        except OSError as error:
            kept = "the state before it stands" if self.state_path.exists() else "there is none before it"
            raise TrainingError(
                f"the state of step {self.step} could not be written to {self.state_path} ({error}); {kept}; make room, then --resume"
            ) from error

    @torch.no_grad()
    def validation_loss(self) -> float:
        """The mean loss over the validation part, in nats per token."""
        self.model.eval()
        batches = list(self.corpus.validation_batches(self.options))
        local = sum(self.spread(self._mine(batch)).item() for batch in batches)
        self.model.train()
        (total,) = self.processes.total([local])
        return total / sum(batch.num_targets for batch in batches)

    def _advance(self, *, is_saved: bool) -> Progress:
        started = time.monotonic()
        loss, learning_rate, num_tokens = self._step(is_saved=is_saved)
        is_measured = self.step % self.options.eval_every == 0 or self.step == self.options.num_steps
        validation = self.validation_loss() if is_measured else None
        if validation is not None and not math.isfinite(validation):
            raise self._not_finite("validation loss", validation)
        seconds = time.monotonic() - started
        self.seconds += seconds
        self.history.add(self.step, self.options.num_steps, loss)
        if validation is not None:
            self.history.add_validation(self.step, loss, validation, self.seconds)
        return Progress(self.step, self.options.num_steps, loss, learning_rate, num_tokens / seconds, self.seconds, validation)

    def _step(self, *, is_saved: bool) -> tuple[float, float, int]:
        """One update: the loss before it, the learning rate, and how many tokens it learnt from.

        is_saved   whether the state is to be saved, which is done where this step has shown that it is sound
        """
        learning_rate = scheduled_learning_rate(self.step, self.options)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        batch = self.corpus.batch(self.step, self.options)
        mine, num_targets = self._mine(batch), batch.num_targets
        with self._randomness():
            local = self.spread(mine) / num_targets
        (loss,) = self.processes.total([local.item()])
        if not math.isfinite(loss):
            raise self._not_finite("loss", loss, mine)
        # Gradients are averaged over the processes, and their sum is wanted.
        (local * self.processes.count).backward()
        gradients = [tensor.grad for tensor in self.model.parameters() if tensor.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients)
        if not math.isfinite(whole(norm).item()):
            raise self._not_finite("gradient", whole(norm).item(), mine)
        if is_saved:
            self.save()
        torch.nn.utils.clip_grads_with_norm_(self.model.parameters(), self.options.max_gradient_norm, norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.step += 1
        return loss, learning_rate, num_targets

    def _mine(self, batch: Batch) -> Batch:
        """This process's rows, as tensors on its device."""
        rows = batch.share(self.processes.index, self.processes.count)
        return map_tree(lambda array: torch.from_numpy(numpy.ascontiguousarray(array)).to(self.device), rows)

    @contextmanager
    def _randomness(self) -> Iterator[None]:
        """torch's own draws, for dropout: the same for the same seed and step, and others in each process."""
        if not self.options.dropout:
            yield
            return
        drawn = numpy.random.SeedSequence([self.options.seed, self.step, self.processes.index]).generate_state(1, numpy.uint64)
        with torch.random.fork_rng(devices=[self.device] if self.device.startswith("cuda") else []):
            torch.manual_seed(int(drawn[0]))
            yield

    def _not_finite(self, what: str, value: float, mine: Batch | None = None) -> TrainingError:
        """The error that says where it began. The state is saved where it is sound: the numbers of one batch may be to blame."""
        weight = first_weight(self.model)
        where = f"the weight {weight}" if weight else None
        is_sound = where is None and what != "validation loss"
        if where is None and what == "gradient":
            where = f"the gradient of {first_gradient(self.model)}"
        elif where is None and mine is not None:
            with self._randomness():
                where = first_operation(self.model, self.spread, mine, self.processes) or "cross_entropy"
            is_sound = math.isfinite(self.validation_loss())
        self.optimizer.zero_grad()
        if is_sound:
            self.save()
        kept = "the state before it stands" if self.state_path.exists() else "there is no state before it, and --resume begins anew"
        remedy = f"a --learning-rate below {scheduled_learning_rate(self.step, self.options):.2g}"
        if self.options.dtype != "float32":
            remedy += ", or --dtype float32"
        return TrainingError(
            f"the {what} became {value} at step {self.step}; {kept}; first not finite: {where or 'an operation of the validation'}; "
            f"go on with --resume and {remedy}"
        )
