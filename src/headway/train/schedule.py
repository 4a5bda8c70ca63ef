"""Learning rate schedule, optimizer, and the choice of dtype."""

from __future__ import annotations

import time
from collections.abc import Iterable

import torch

from headway.functions import cosine_schedule
from headway.train.options import TrainingOptions


def scheduled_learning_rate(step: int, options: TrainingOptions) -> float:
    """Return the learning rate of a step: linear warm-up over warmup_steps, then cosine decay to min_learning_rate at num_steps."""
    return cosine_schedule(
        step + 1 if step < options.warmup_steps else step,  # the first step has a rate above 0
        warmup_steps=options.warmup_steps,
        total_steps=max(options.num_steps, options.warmup_steps + 1),
        max_rate=options.learning_rate,
        min_rate=min(options.min_learning_rate, options.learning_rate),
    )


def adamw(tensors: Iterable[torch.Tensor], options: TrainingOptions) -> torch.optim.AdamW:
    """Create an AdamW optimizer with weight decay on matrices only.

    Source   Loshchilov and Hutter 2019
    """
    tensors = list(tensors)
    groups = [
        {"params": [tensor for tensor in tensors if tensor.ndim > 1], "weight_decay": options.weight_decay},
        {"params": [tensor for tensor in tensors if tensor.ndim == 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=options.learning_rate, betas=(options.beta1, options.beta2), fused=True)


def faster_dtype(device: str) -> str:
    """Return the dtype with the faster matrix product on this device, "bfloat16" or "float32", measured with 512 × 512 matrices."""

    def seconds(dtype: torch.dtype) -> float:
        a = torch.ones(512, 512, dtype=dtype, device=device)
        times = []
        for _ in range(5):
            started = time.perf_counter()
            (a @ a).sum().item()
            times.append(time.perf_counter() - started)
        return min(times)

    return "bfloat16" if seconds(torch.bfloat16) < seconds(torch.float32) else "float32"
