"""Training with several processes (torch.distributed).

`torchrun --nproc-per-node 2 -m headway train …` starts the processes and sets their rank in the environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import torch
import torch.distributed as dist

from headway.errors import HeadwayError, OptionError
from headway.train.options import TrainingOptions

if TYPE_CHECKING:
    from torch.distributed.tensor import DTensor


@dataclass(frozen=True)
class Processes:
    """The rank of this process and the number of processes.

    index   rank, from 0; process 0 writes the files and the terminal output
    count   number of processes
    """

    index: int = 0
    count: int = 1

    @property
    def is_first(self) -> bool:
        """True for the process that writes the files and the terminal output."""
        return self.index == 0

    def total(self, values: Sequence[float]) -> list[float]:
        """Return the sum of each value over the processes."""
        if self.count == 1:
            return list(values)
        summed = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(summed)
        return summed.tolist()

    def first_not_none(self, value: str | None) -> str | None:
        """Return the value of the first process that has one."""
        if self.count == 1:
            return value
        values: list[str | None] = [None] * self.count
        dist.all_gather_object(values, value)
        return next((each for each in values if each is not None), None)

    def run_on_first(self, work: Callable[[], None]) -> None:
        """Call a function in the first process while the others wait; an exception is raised in all processes."""
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
    """Join the process group that torchrun started; without torchrun, return a single process."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        return ALONE
    if torch.cuda.is_available():
        torch.cuda.set_device(_local_gpu())
    if not dist.is_initialized():
        dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    return Processes(dist.get_rank(), count)


def leave() -> None:
    """Leave the process group."""
    if dist.is_initialized():
        dist.destroy_process_group()


def end(processes: Processes) -> None:
    """Exit this process immediately if it is one of several.

    torch's modules and caches keep references to a destroyed process group. Its threads may then outlive the interpreter and
    abort a process that has finished.
    """
    if processes.count > 1:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def check_processes(options: TrainingOptions, processes: Processes) -> None:
    """Raise OptionError if a new run is sharded over a single process; a resumed run may be."""
    if options.is_sharded and processes.count == 1:
        raise OptionError(
            "got --sharded with one process, expected several",
            hint="start several with: torchrun --nproc-per-node 2 -m headway train …",
        )


def for_this_process(options: TrainingOptions, processes: Processes) -> TrainingOptions:
    """Return the options with the device of this process: each process uses one of the GPUs.

    Errors   OptionError if batch_size is not a multiple of the number of processes.
    """
    if options.batch_size % processes.count:
        raise OptionError(
            f"got batch_size={options.batch_size} for {processes.count} processes, expected a multiple of {processes.count}",
            hint="batch_size is the total over all processes",
        )
    if options.device == "cuda" and processes.count > 1:
        return replace(options, device=f"cuda:{_local_gpu()}")
    return options


def _local_gpu() -> int:
    """Return the GPU index for this process, from its rank on this machine."""
    return int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count()


def parallelize(model: torch.nn.Module, options: TrainingOptions, processes: Processes) -> torch.nn.Module:
    """Wrap the model for several processes: replicated (DDP), or with sharded tensors (FSDP)."""
    if processes.count == 1:
        return model
    if not options.is_sharded:
        return torch.nn.parallel.DistributedDataParallel(model)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(options.device.partition(":")[0], (processes.count,))
    # By default FSDP keeps the full tensors of the root after a forward pass, and after a validation the optimizer finds no shards.
    fully_shard(model, mesh=mesh, reshard_after_forward=True)
    return model


def full_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """Return the full tensor of a possibly sharded one; every process has to call this."""
    tensor = tensor.detach()
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def distribute_like(tensor: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Shard a full tensor over the processes in the same way as another one."""
    tensor = tensor.to(like.device)
    if not hasattr(like, "full_tensor"):
        return tensor
    from torch.distributed.tensor import distribute_tensor

    sharded = cast("DTensor", like)
    return distribute_tensor(tensor, sharded.device_mesh, sharded.placements)
