"""Calls of an array library's own answer, such as torch.softmax in a softmax, found in the text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

LIBRARIES = ("torch", "jax", "flax", "equinox", "mlx", "scipy", "tensorflow", "keras", "optax", "transformers", "einops", "xformers")

ANSWERS = {
    "softmax": "softmax Softmax",
    "log_softmax": "log_softmax LogSoftmax",
    "relu": "relu ReLU",
    "gelu": "gelu GELU",
    "silu": "silu SiLU swish",
    "layer_norm": "layer_norm LayerNorm",
    "rms_norm": "rms_norm RMSNorm",
    "cross_entropy": "cross_entropy CrossEntropyLoss softmax_cross_entropy_with_integer_labels",
    "scaled_dot_product_attention": "scaled_dot_product_attention dot_product_attention memory_efficient_attention",
    "linear": "linear Linear Dense",
    "embed": "embedding Embedding Embed",
    "multi_head_attention": "MultiheadAttention MultiHeadAttention MultiHeadDotProductAttention multi_head_attention_forward",
    "encoder_layer": "TransformerEncoderLayer",
    "decoder_layer": "TransformerDecoderLayer",
    "adam": "Adam AdamW adam adamw",
    "adam_step": "Adam AdamW adam adamw",
    "gpt2": "GPT2Model GPT2LMHeadModel",
}
"""Last parts of the names of the functions and classes that are an exercise's answer."""

ATTENTIONS = ("self_attention", "causal_self_attention", "cross_attention", "grouped_query_attention", "multi_head_attention")
SHARED = dict.fromkeys(ATTENTIONS, f"{ANSWERS['multi_head_attention']} {ANSWERS['scaled_dot_product_attention']}")


def library_answer(tree: ast.Module, nodes: dict[str, ast.stmt], subject: str, exercise: str) -> str | None:
    """Return the library's own answer that a definition calls, directly or through others of the file; None if there is none."""
    names = set((SHARED.get(exercise) or ANSWERS.get(exercise, "")).split())
    if not names or subject not in nodes:
        return None
    modules, members = _imported(tree)
    seen: set[str] = set()
    waiting = [subject]
    while waiting:
        here = waiting.pop()
        if here in seen or here not in nodes:
            continue
        seen.add(here)
        for called in _called(nodes[here]):
            first, _, rest = called.partition(".")
            whole = members.get(first, modules.get(first, first)) + ("." + rest if rest else "")
            is_method = bool(rest) and first in {"", *_parameters(nodes[here])} and bool(modules or members)
            is_library = whole.startswith(LIBRARIES) or is_method
            if whole.rpartition(".")[2] in names and is_library:
                return whole.lstrip(".")
            waiting.append(called)
    return None


def _imported(tree: ast.Module) -> tuple[dict[str, str], dict[str, str]]:
    """Return the modules, and the members of modules, that the file imports from array libraries, by the name that it uses."""
    modules: dict[str, str] = {}
    members: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith(LIBRARIES):
                    first = alias.name.partition(".")[0]
                    modules[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(LIBRARIES):
            members |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return modules, members


def _parameters(node: ast.AST) -> set[str]:
    """Return the names of all parameters in a definition but self."""
    return {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)} - {"self"}


def _called(node: ast.AST) -> Iterator[str]:
    """Yield what is called, or passed on, as dotted names; a method of a value starts with a dot."""
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute | ast.Name) and isinstance(each.ctx, ast.Load):
            yield _dotted(each)


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return f"{_dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""
