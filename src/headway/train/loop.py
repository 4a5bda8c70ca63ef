"""The training loop: steps, validation, and the saved state."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy
import torch

from headway.errors import TrainingError
from headway.train.architectures import Config, Weights
from headway.train.batch import Batch
from headway.train.corpus import Corpus
from headway.train.distributed import ALONE, Processes, for_this_process, full_tensor, parallelize
from headway.train.finite import first_gradient, first_operation, first_weight
from headway.train.history import CurvePoint, History, SavedProgress
from headway.train.model import TrainedModel
from headway.train.options import TrainingOptions
from headway.train.pair_corpus import PairCorpus
from headway.train.schedule import adamw, faster_dtype, scheduled_learning_rate
from headway.train.state import load_state, save_state
from headway.train.weights import initial_weights
from headway.trees import map_tree

THROUGHPUT_STEPS = 50
"""Number of last steps over which the throughput is averaged."""


@dataclass(frozen=True)
class Progress:
    """Report of one step.

    loss               mean loss of the step's batch, in nats per token
    tokens_per_second  training throughput over the last steps of this process, validation not included
    seconds            training time so far, validation and earlier sessions included
    validation_loss    mean loss in nats per token, or None if it was not measured after this step
    """

    step: int
    num_steps: int
    loss: float
    learning_rate: float
    tokens_per_second: float
    seconds: float
    validation_loss: float | None = None


class Run:
    """A training run: model, optimizer and progress."""

    def __init__(
        self, config: Config, corpus: Corpus | PairCorpus, options: TrainingOptions, state_path: Path, processes: Processes = ALONE
    ) -> None:
        """Start from random weights, or from the state file if it exists."""
        self.config, self.corpus, self.state_path, self.processes = config, corpus, state_path, processes
        local = for_this_process(options, processes)
        # Each process measures which dtype is faster; all have to use the same.
        is_faster = processes.total([options.dtype == "auto" and faster_dtype(local.device) == "bfloat16"])[0] == processes.count
        dtype = ("bfloat16" if is_faster else "float32") if options.dtype == "auto" else options.dtype
        self.options, local, self.device = replace(options, dtype=dtype), replace(local, dtype=dtype), local.device
        self.model = TrainedModel(initial_weights(config, local), config, local)
        self.parallel_model = parallelize(self.model, local, processes)
        self.optimizer = adamw(self.model.parameters(), local)
        self.step, self.seconds, self.history = 0, 0.0, History()
        self._recent_steps: deque[tuple[int, float]] = deque(maxlen=THROUGHPUT_STEPS)  # tokens and seconds of each
        if state_path.exists():
            progress = load_state(state_path, self.model, self.optimizer)
            self.step, self.seconds, self.history = progress.step, progress.seconds, progress.history

    @property
    def curve(self) -> list[CurvePoint]:
        """The losses at each validation."""
        return self.history.curve

    @property
    def weights(self) -> Weights:
        """The current weight tree."""
        return self.model.weights

    def full_weights(self) -> Weights:
        """Return the current weight tree with full tensors, also if they are sharded over several processes."""
        return map_tree(full_tensor, self.model.weights)

    def train(self, report: Callable[[Progress], None], should_stop: Callable[[], bool] = lambda: False) -> bool:
        """Train until num_steps, or until should_stop returns True; save the state; return True if all steps are done.

        Errors   TrainingError if a loss or a gradient is not finite, or the state cannot be written; the previous state file is kept.
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
        """Write the state file.

        Errors   TrainingError if it cannot be written; the previous file is kept.
        """
        if self.step == 0:
            return
        progress = SavedProgress(self.step, self.seconds, self.history)
        try:
            save_state(self.state_path, self.model, self.optimizer, progress, self.processes)
        except OSError as error:
            kept = "the previous state is unchanged" if self.state_path.exists() else "there is no previous state"
            raise TrainingError(
                f"the state of step {self.step} could not be written to {self.state_path} ({error}); {kept}",
                hint="free disk space, then continue with --resume",
            ) from error

    @torch.no_grad()
    def validation_loss(self) -> float:
        """Return the mean loss over the validation part, in nats per token."""
        self.model.eval()
        batches = list(self.corpus.validation_batches(self.options))
        local = sum(self.parallel_model(self._local(batch)).item() for batch in batches)
        self.model.train()
        (total,) = self.processes.total([local])
        return total / sum(batch.num_targets for batch in batches)

    def _advance(self, *, is_saved: bool) -> Progress:
        started = time.monotonic()
        loss, learning_rate, num_tokens = self._step(is_saved=is_saved)
        self._recent_steps.append((num_tokens, time.monotonic() - started))
        is_measured = self.step % self.options.eval_every == 0 or self.step == self.options.num_steps
        validation = self.validation_loss() if is_measured else None
        if validation is not None and not math.isfinite(validation):
            raise self._not_finite("validation loss", validation)
        self.seconds += time.monotonic() - started
        self.history.add(self.step, self.options.num_steps, loss)
        if validation is not None:
            self.history.add_validation(self.step, loss, validation, self.seconds)
        return Progress(self.step, self.options.num_steps, loss, learning_rate, self._throughput(), self.seconds, validation)

    def _throughput(self) -> float:
        """Return the tokens per second of the last steps; a single step is too short to measure, and may have been slowed by a save."""
        return sum(tokens for tokens, _ in self._recent_steps) / max(sum(seconds for _, seconds in self._recent_steps), 1e-9)

    def _step(self, *, is_saved: bool) -> tuple[float, float, int]:
        """Update the weights once; return the loss before the update, the learning rate and the number of target tokens.

        is_saved   True to save the state before the update, after its loss and gradient have proved finite
        """
        learning_rate = scheduled_learning_rate(self.step, self.options)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        batch = self.corpus.batch(self.step, self.options)
        local_batch, num_targets = self._local(batch), batch.num_targets
        with self._randomness():
            local = self.parallel_model(local_batch) / num_targets
        (loss,) = self.processes.total([local.item()])
        if not math.isfinite(loss):
            raise self._not_finite("loss", loss, local_batch)
        # DDP and FSDP average the gradients over the processes; the factor turns the mean into the sum.
        (local * self.processes.count).backward()
        gradients = [tensor.grad for tensor in self.model.parameters() if tensor.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients)
        if not math.isfinite(full_tensor(norm).item()):
            raise self._not_finite("gradient", full_tensor(norm).item(), local_batch)
        if is_saved:
            self.save()
        torch.nn.utils.clip_grads_with_norm_(self.model.parameters(), self.options.max_gradient_norm, norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.step += 1
        return loss, learning_rate, num_targets

    def _local(self, batch: Batch) -> Batch:
        """Return the rows of this process, as tensors on its device."""
        rows = batch.shard(self.processes.index, self.processes.count)
        return map_tree(lambda array: torch.from_numpy(numpy.ascontiguousarray(array)).to(self.device), rows)

    @contextmanager
    def _randomness(self) -> Iterator[None]:
        """Seed torch's random numbers, for dropout, by seed, step and process."""
        if not self.options.dropout:
            yield
            return
        seed = numpy.random.SeedSequence([self.options.seed, self.step, self.processes.index]).generate_state(1, numpy.uint64)
        with torch.random.fork_rng(devices=[self.device] if self.device.startswith("cuda") else []):
            torch.manual_seed(int(seed[0]))
            yield

    def _not_finite(self, quantity: str, value: float, local_batch: Batch | None = None) -> TrainingError:
        """Return the error that names the origin of a NaN or infinity.

        The state is saved if its weights are valid, because the cause may be the values of a single batch.
        """
        weight = first_weight(self.model)
        origin = f"the weight {weight}" if weight else None
        is_valid = origin is None and quantity != "validation loss"
        if origin is None and quantity == "gradient":
            origin = f"the gradient of {first_gradient(self.model)}"
        elif origin is None and local_batch is not None:
            with self._randomness():
                origin = first_operation(self.model, self.parallel_model, local_batch, self.processes) or "cross_entropy"
            is_valid = math.isfinite(self.validation_loss())
        self.optimizer.zero_grad()
        if is_valid:
            self.save()
        if self.state_path.exists():
            kept = "the state before this step is saved"
        else:
            kept = "no state was saved, so --resume starts from the beginning"
        remedy = f"a --learning-rate below {scheduled_learning_rate(self.step, self.options):.2g}"
        if self.options.dtype != "float32":
            remedy += ", or --dtype float32"
        return TrainingError(
            f"the {quantity} became {value} at step {self.step}; first value that is not finite: "
            f"{origin or 'in an operation of the validation'}; {kept}",
            hint=f"continue with --resume and {remedy}",
        )
