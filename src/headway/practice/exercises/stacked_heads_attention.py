"""Multi-head attention as a list of single heads whose outputs are concatenated."""

from __future__ import annotations

from dataclasses import replace

from headway.practice.exercise import Exercise, Role
from headway.practice.exercises.multi_head_attention import EXERCISE as MULTI_HEAD
from headway.practice.message import Message
from headway.practice.recipes.projections import OUTPUT_ROLES

PER_HEAD = {"d_out", "head_dim"}


def _role(role: Role) -> Role:
    """Return the role with the size of one head, and with an optional output projection."""
    if role in OUTPUT_ROLES:
        return replace(role, is_optional=True)
    return replace(role, size_of=lambda inputs: _head_dim(inputs)) if role.name in PER_HEAD else role


def _head_dim(inputs: dict) -> int:
    weight = inputs.get("query_weight")
    width = inputs["query"].shape[-1] if weight is None else weight.shape[0]
    return width // inputs.get("num_heads", 1)


EXERCISE: Exercise = replace(
    MULTI_HEAD,
    name="stacked_heads_attention",
    title=Message("multi-head attention as a list of heads", "由多个单头组成的多头注意力"),
    roles=tuple(_role(role) for role in MULTI_HEAD.roles),
    called=r"(wrapper|stacked|parallel|list).*(head|att)|(head|att).*(wrapper|stack(ed)?|list)$|^multi_?heads?$",
    equation="concat(head_1(x), …, head_n(x)), head_i = attention(x @ Wq_i, x @ Wk_i, x @ Wv_i)",
    hints=(
        Message(
            "Each head is a complete attention; their outputs are concatenated.",
            "每个头都是一个完整的注意力，把它们的输出拼接起来。",
        ),
        Message(
            "Keep the heads in a list; in torch use a ModuleList so that their parameters are registered.",
            "把各头放进列表；torch 中用 ModuleList，这样其中的参数才会被注册。",
        ),
        Message("concat([head(x) for head in heads], axis=-1)", "concat([head(x) for head in heads], axis=-1)"),
    ),
)
