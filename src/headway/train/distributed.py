"""Several processes that train one model: who this one is, and what they agree on.

`torchrun --nproc-per-node 2 -m headway train …` starts them, and tells each its number in the environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.distributed as dist

from headway.errors import HeadwayError, OptionError
from headway.train.options import TrainingOptions


@dataclass(frozen=True)
class Processes:
    """This process among those that train together.

    index   from 0; that one writes the files and talks
    count   how many there are
    """

    index: int = 0
    count: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the one that writes and talks."""
        return self.index == 0

    def total(self, values: Sequence[float]) -> list[float]:
        """The sum of each value over the processes."""
        if self.count == 1:
            return list(values)
        summed = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(summed)
        return summed.tolist()

    def first_answer(self, answer: str | None) -> str | None:
        """The answer of the first process that has one."""
        if self.count == 1:
            return answer
        answers: list[str | None] = [None] * self.count
        dist.all_gather_object(answers, answer)
        return next((each for each in answers if each is not None), None)

    def once(self, work: Callable[[], None]) -> None:
        """Let the first process do something, while the others wait; what it raises, all raise."""
        if self.count == 1:
            work()
            return
        error: list[Exception | None] = [None]
        if self.is_first:
            try:
                work()
            except (HeadwayError, OSError) as raised:
                error = [raised]
        dist.broadcast_object_list(error)
        if error[0] is not None:
            raise error[0]


ALONE = Processes()


def join() -> Processes:
    """Meet the processes that torchrun started beside this one; alone without it."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        return ALONE
    if torch.cuda.is_available():
        torch.cuda.set_device(_own_gpu())
    if not dist.is_initialized():
        dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    return Processes(dist.get_rank(), count)


def leave() -> None:
    """End what join began."""
    if dist.is_initialized():
        dist.destroy_process_group()


def end(processes: Processes) -> None:
    """End this process where it is one of several.

    torch's modules and caches hold the group even when it is destroyed; its threads then outlive the interpreter, and now and
    then abort a process that has done all its work.
    """
    if processes.count > 1:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def check_processes(options: TrainingOptions, processes: Processes) -> None:
    """Raise OptionError where a run would begin to share its weights among one process. It may go on with one."""
    if options.is_sharded and processes.count == 1:
        raise OptionError(
            "came: --sharded with one process; expected: several to share the weights; start them with: "
            "torchrun --nproc-per-node 2 -m headway train …"
        )


def for_this_process(options: TrainingOptions, processes: Processes) -> TrainingOptions:
    """The options with this process's own device: of several GPUs each takes one.

    Errors   OptionError where the batch does not divide among the processes.
    """
    if options.batch_size % processes.count:
        raise OptionError(
            f"came: batch_size={options.batch_size} for {processes.count} processes; expected: a multiple of {processes.count}; "
            "the batch size is that of all processes together"
        )
    if options.device == "cuda" and processes.count > 1:
        return replace(options, device=f"cuda:{_own_gpu()}")
    return options


def _own_gpu() -> int:
    """The GPU of this process, by its number among the processes of this machine."""
    return int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count()


def spread(model: torch.nn.Module, options: TrainingOptions, processes: Processes) -> torch.nn.Module:
    """The model as all processes train it: alike in each (DDP), or each holding its share of every tensor (FSDP)."""
    if processes.count == 1:
        return model
    if not options.is_sharded:
        return torch.nn.parallel.DistributedDataParallel(model)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(options.device.partition(":")[0], (processes.count,))
    # A root is left whole by default, so that after a validation the optimizer would not find its shares.
    fully_shard(model, mesh=mesh, reshard_after_forward=True)
    return model


def whole(tensor: Any) -> torch.Tensor:
    """A tensor that may be spread over the processes, as one; every process has to ask."""
    tensor = tensor.detach()
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def as_spread(tensor: torch.Tensor, like: Any) -> torch.Tensor:
    """A whole tensor spread over the processes as another one is."""
    tensor = tensor.to(like.device)
    if not hasattr(like, "full_tensor"):
        return tensor
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(tensor, like.device_mesh, like.placements)
