"""Files of the workbook in order, with their contents and the parts they import."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headway import functions
from headway.practice.exercises import exercise
from headway.practice.message import Message, same, unknown_name
from headway.practice.texts import Texts

TEXTS = Texts("workbook")


@dataclass(frozen=True)
class Part:
    """One file of the workbook.

    name        name of the exercise, the file and the function
    definition  function of headway.functions whose docstring the stub shows; None for GPT-2's own wiring
    summary     first sentence of the stub's docstring if there is no definition
    parameters  GPT-2's parameters if the definition takes a weight tree instead
    shapes      inputs and outputs if the definition takes more than GPT-2 needs
    note        further information for the stub's docstring, together with shapes
    uses        earlier parts that it imports
    last_hints  replacements for the exercise's last hints if those describe another signature
    """

    name: str
    definition: Callable[..., Any] | None = None
    summary: str = ""
    parameters: str | None = None
    shapes: tuple[str, ...] = ()
    note: str = ""
    uses: tuple[str, ...] = ()
    last_hints: tuple[Message, ...] = ()

    @property
    def is_exercise(self) -> bool:
        """True if `headway check` can judge it; the story is run instead."""
        return self.name != STORY

    @property
    def title(self) -> Message:
        """The part's title."""
        return exercise(self.name).title if self.is_exercise else STORY_TITLE

    @property
    def equation(self) -> str:
        """One-line formula: the definition's, or the exercise's if the weights differ."""
        if self.definition is not None and self.parameters is None:
            return self.paragraphs[1].strip()
        return exercise(self.name).equation if self.is_exercise else STORY_EQUATION

    @property
    def hints(self) -> tuple[Message, ...]:
        """Three hints, from a nudge to the formula."""
        hints = exercise(self.name).hints if self.is_exercise else ()
        return (*hints[: 3 - len(self.last_hints)], *self.last_hints)

    @property
    def paragraphs(self) -> list[str]:
        """Paragraphs of the definition's docstring; empty without a definition."""
        return re.split(r"\n\n+", inspect.getdoc(self.definition) or "") if self.definition else []


STORY = "story"
STORY_TITLE = TEXTS["story_title"]
STORY_EQUATION = "generate(token_ids ↦ gpt2(token_ids, **weights, num_heads), prompt, max_new_tokens, context_size)"

PARTS = (
    Part("softmax", functions.softmax),
    Part("linear", functions.linear),
    Part("embed", functions.embed),
    Part("gelu", functions.gelu_tanh),
    Part("layer_norm", functions.layer_norm),
    Part(
        "scaled_dot_product_attention",
        functions.scaled_dot_product_attention,
        shapes=(
            "query   (..., query_len, head_dim)",
            "key     (..., key_len, head_dim)",
            "value   (..., key_len, value_dim)",
            "mask    (query_len, key_len) boolean optional",
            "return  (..., query_len, value_dim)",
        ),
        note="mask       True where a query may attend to a key; None for no mask\n"
        "is_causal  mask later positions as well; the last query is aligned with the last key\n"
        "scale      factor for the scores; 1/√head_dim by default",
        uses=("softmax",),
    ),
    Part(
        "multi_head_attention",
        functions.multi_head_attention,
        parameters="x, c_attn, c_proj, num_heads",
        shapes=(
            "x       (seq_len, n_embd)",
            'c_attn  {"w": (n_embd, 3 * n_embd), "b": (3 * n_embd,)}, query, key and value concatenated',
            'c_proj  {"w": (n_embd, n_embd), "b": (n_embd,)}',
            "return  (seq_len, n_embd)",
        ),
        note="Causal self-attention: query, key and value come from x, and a position attends to itself and earlier ones.\n"
        'GPT-2\'s checkpoint stores weights as (in, out): pass c_attn["w"].T to linear.',
        uses=("linear", "scaled_dot_product_attention"),
        last_hints=(
            same(
                'q, k, v = split(linear(x, c_attn["w"].T, c_attn["b"])), each (seq_len, num_heads, head_dim) with its first two axes swapped; '
                'linear(merge(attention(q, k, v, is_causal=True)), c_proj["w"].T, c_proj["b"])'
            ),
        ),
    ),
    Part(
        "learned_positions",
        functions.learned_positions,
        last_hints=(
            TEXTS["hint_table_look_up"],
            same("table[positions]"),
        ),
    ),
    Part(
        "feed_forward",
        functions.feed_forward,
        parameters="x, up_weight, up_bias, down_weight, down_bias",
        shapes=(
            "x            (..., hidden_size)",
            "up_weight    (intermediate_size, hidden_size)",
            "up_bias      (intermediate_size,)",
            "down_weight  (hidden_size, intermediate_size)",
            "down_bias    (hidden_size,)",
            "return       (..., hidden_size)",
        ),
        note="GPT-2's activation is gelu.",
        uses=("linear", "gelu"),
    ),
    Part(
        "transformer_block",
        summary="Self-attention, then feed-forward, each with a layer norm on its input and a residual connection.",
        parameters="x, mlp, attn, ln_1, ln_2, num_heads",
        shapes=(
            "x       (seq_len, n_embd)",
            'mlp     {"c_fc": {"w": (n_embd, 4 * n_embd), "b": (4 * n_embd,)}, "c_proj": {"w": (4 * n_embd, n_embd), "b": (n_embd,)}}',
            'attn    {"c_attn": …, "c_proj": …}, as multi_head_attention takes them',
            'ln_1    {"g": (n_embd,), "b": (n_embd,)}, the weight and bias of a norm',
            "ln_2    as ln_1",
            "return  (seq_len, n_embd)",
        ),
        note='Weights are stored as (in, out), as in GPT-2\'s checkpoint: pass mlp["c_fc"]["w"].T to feed_forward.',
        uses=("layer_norm", "multi_head_attention", "feed_forward"),
        last_hints=(
            same(
                'x = x + multi_head_attention(layer_norm(x, ln_1["g"], ln_1["b"]), **attn, num_heads=num_heads); '
                'return x + feed_forward(layer_norm(x, ln_2["g"], ln_2["b"]), mlp["c_fc"]["w"].T, mlp["c_fc"]["b"], …)'
            ),
        ),
    ),
    Part(
        "gpt2",
        summary="Map token ids to logits over the vocabulary at every position.",
        parameters="token_ids, wte, wpe, blocks, ln_f, num_heads",
        shapes=(
            "token_ids  (seq_len,) integer",
            "wte        (vocab_size, n_embd), the token embedding; the output head uses the same table",
            "wpe        (context_size, n_embd), the position embedding",
            "blocks     a list of keyword arguments: transformer_block(x, **block, num_heads=num_heads)",
            'ln_f       {"g": (n_embd,), "b": (n_embd,)}, the final layer norm',
            "return     (seq_len, vocab_size)",
        ),
        uses=("linear", "embed", "layer_norm", "learned_positions", "transformer_block"),
        last_hints=(
            same(
                "x = embed(token_ids, wte) + learned_positions(0 … seq_len - 1, wpe); for block in blocks: "
                "x = transformer_block(x, **block, num_heads=num_heads); "
                'return linear(layer_norm(x, ln_f["g"], ln_f["b"]), wte)'
            ),
        ),
    ),
    Part(
        "generate",
        summary="Append the most likely next token to a prompt, max_new_tokens times.",
        parameters="model, prompt, max_new_tokens, context_size",
        shapes=(
            "model   a function from token ids (seq_len,) to logits (seq_len, vocab_size)",
            "prompt  a list of token ids",
            "return  a list of token ids: the prompt and max_new_tokens generated ones",
        ),
        note="The model accepts at most context_size tokens: pass it the last ones.",
    ),
    Part(
        STORY,
        summary="Continue a prompt with the embedded model (4 million weights) and your own functions.",
        parameters="prompt, weights, num_heads, max_new_tokens, context_size",
        shapes=(
            "prompt   a list of token ids",
            'weights  {"wte": …, "wpe": …, "blocks": …, "ln_f": …}, as for gpt2',
            "return   a list of token ids: the prompt and max_new_tokens generated ones",
        ),
        uses=("gpt2", "generate"),
        last_hints=(
            TEXTS["hint_model"],
            TEXTS["hint_story"],
            same("generate(lambda ids: gpt2(ids, **weights, num_heads=num_heads), prompt, max_new_tokens, context_size)"),
        ),
    ),
)
"""The parts in the order in which they build on each other, which is that of headway.practice.exercises.NAMES; the story is last."""

NAMES = tuple(part.name for part in PARTS)


def part(name: str) -> Part:
    """Return a part by name.

    Errors   OptionError with the closest names.
    """
    if name in NAMES:
        return PARTS[NAMES.index(name)]
    raise unknown_name(name, NAMES)
