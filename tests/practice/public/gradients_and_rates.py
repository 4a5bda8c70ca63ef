"""Clipping of gradients that parameters, a model or a dict hold."""

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
)
