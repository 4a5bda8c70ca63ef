"""Clipping of gradients that parameters, a model or a dict hold, and schedules whose settings are variables of the file or fields of a config; halves
that are turned, for a file that subtracts them or has the sign in its table."""

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "run_gradient_clipping",
        "gradient_clipping",
        """
import torch

def run_gradient_clipping(parameters, max_l2_norm: float, eps: float = 1e-6) -> None:
    held = [p for p in parameters if p.grad is not None]
    squares = [(p.grad * p.grad).sum() for p in held]
    length = torch.sqrt(torch.stack(squares).sum())
    if length >= max_l2_norm:
        for p in held:
            p.grad.mul_(max_l2_norm / (length + eps))
""",
        (("torch.sqrt(torch.stack(squares).sum())", "torch.stack(squares).sum()"), ("max_l2_norm / (length + eps)", "max_l2_norm")),
    ),
    Program(
        "grad_clipping",
        "gradient_clipping",
        """
import torch
from torch import nn

def grad_clipping(net, theta):
    params = [p for p in net.parameters() if p.requires_grad] if isinstance(net, nn.Module) else net.params
    norm = torch.sqrt(sum(torch.sum(p.grad ** 2) for p in params))
    if norm > theta:
        for p in params:
            p.grad[:] *= theta / norm
""",
        (("theta / norm", "norm / theta"),),
    ),
    Program(
        "clip_gradients",
        "gradient_clipping",
        """
import torch

def clip_gradients(model, clip):
    found = []
    for name, p in model.named_parameters():
        if p.grad is None:
            continue
        size = p.grad.data.norm(2)
        found.append(size.item())
        factor = clip / (size + 1e-6)
        if factor < 1:
            p.grad.data.mul_(factor)
    return found
""",
        (("if factor < 1:", "if factor > 1:"),),
    ),
    Program(
        "clip_grad_norm_",
        "gradient_clipping",
        """
import torch

def clip_grad_norm_(parameters, max_norm):
    return torch.nn.utils.clip_grad_norm_(parameters, max_norm)
""",
    ),
    Program(
        "clip_by_global_norm",
        "gradient_clipping",
        """
import jax
import jax.numpy as jnp

def clip_by_global_norm(grads, max_norm):
    norm = jnp.sqrt(sum(jnp.sum(g ** 2) for g in jax.tree_util.tree_leaves(grads)))
    factor = jnp.minimum(1.0, max_norm / (norm + 1e-6))
    return jax.tree_util.tree_map(lambda g: g * factor, grads), norm
""",
        (("jnp.minimum(1.0, max_norm / (norm + 1e-6))", "max_norm / (norm + 1e-6)"),),
    ),
    Program(
        "get_lr",
        "cosine_schedule",
        """
import math

max_lr = 2e-3
min_lr = max_lr / 20
warmup_steps = 300
max_steps = 8000

def get_lr(it):
    if it < warmup_steps:
        return max_lr * (it + 1) / warmup_steps
    if it > max_steps:
        return min_lr
    share = (it - warmup_steps) / (max_steps - warmup_steps)
    assert 0 <= share <= 1
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * share)) * (max_lr - min_lr)
""",
        (("share = (it - warmup_steps)", "share = it"), ("0.5 * (1.0 + math.cos(math.pi * share))", "(1.0 + math.cos(math.pi * share))")),
    ),
    Program(
        "lr_at_step",
        "cosine_schedule",
        """
import math

def lr_at_step(step, cfg):
    if step < cfg.warmup_steps:
        return cfg.learning_rate * (step + 1) / (cfg.warmup_steps + 1)
    share = min(1.0, (step - cfg.warmup_steps) / (cfg.total_steps - cfg.warmup_steps))
    return cfg.min_lr + (cfg.learning_rate - cfg.min_lr) * (math.cos(math.pi * share) + 1) / 2
""",
        (("cfg.min_lr + (", "("),),
    ),
    Program(
        "warmup_cosine_lr",
        "cosine_schedule",
        """
import math

def warmup_cosine_lr(step, warmup, total, base_lr, min_lr_ratio=0.1):
    if step < warmup:
        return base_lr * step / warmup
    share = (step - warmup) / max(1, total - warmup)
    return base_lr * (min_lr_ratio + (1 - min_lr_ratio) * 0.5 * (1 + math.cos(math.pi * share)))
""",
        (("math.pi * share", "math.pi * step"),),
    ),
    Program(
        "rotate_half",
        "rotate_half",
        """
import numpy as np

def rotate_half(x):
    middle = x.shape[-1] // 2
    return np.concatenate((x[..., middle:], -x[..., :middle]), axis=-1)

def turned(x, cos, sin):
    return x * cos - rotate_half(x) * sin
""",
        (("x * cos - rotate_half", "x * cos + rotate_half"),),
    ),
    Program(
        "rotate_half",
        "rotate_half",
        """
import numpy as np

def tables(angles):
    return np.concatenate((np.cos(angles), np.cos(angles)), -1), np.concatenate((-np.sin(angles), np.sin(angles)), -1)

def rotate_half(x):
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate((second, first), axis=-1)
""",
        (("(-np.sin(angles), ", "(np.sin(angles), "),),
    ),
    Program(
        "rotate_every_two",
        "rotate_half",
        """
import torch

def rotate_every_two(x):
    x = x.unflatten(-1, (-1, 2))
    even, odd = x.unbind(-1)
    return torch.stack((-odd, even), dim=-1).flatten(-2)
""",
        (("torch.stack((-odd, even), dim=-1).flatten(-2)", "torch.cat((-odd, even), dim=-1)"),),
    ),
)
