"""The workbook's files in their order: what each asks for, and what it builds on."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headway import functions
from headway.errors import OptionError
from headway.practice.exercises import exercise
from headway.practice.message import Message


@dataclass(frozen=True)
class Part:
    """One file of the workbook.

    name        the exercise's, the file's and the function's
    definition  the function of headway.functions whose docstring says what it is; None for GPT-2's own wiring
    says        the docstring's first sentence, where there is no definition
    parameters  where the definition takes a tree of weights: the same as GPT-2's checkpoint has them
    shapes      what goes in and comes out, where the definition takes more than a GPT-2 needs
    note        what else is to be known, then
    uses        earlier parts that it imports
    last_hints  what is said in place of the exercise's last hints, where those are for another way to be called
    """

    name: str
    definition: Callable[..., Any] | None = None
    says: str = ""
    parameters: str | None = None
    shapes: tuple[str, ...] = ()
    note: str = ""
    uses: tuple[str, ...] = ()
    last_hints: tuple[Message, ...] = ()

    @property
    def is_exercise(self) -> bool:
        """Whether `headway check` knows it; the story is run, not checked."""
        return self.name != STORY

    @property
    def title(self) -> Message:
        """What it is called."""
        return exercise(self.name).title if self.is_exercise else STORY_TITLE

    @property
    def equation(self) -> str:
        """The formula in one line: the definition's, or where it takes weights otherwise the exercise's."""
        if self.definition is not None and self.parameters is None:
            return self.paragraphs[1].strip()
        return exercise(self.name).equation if self.is_exercise else STORY_EQUATION

    @property
    def hints(self) -> tuple[Message, ...]:
        """Three, from a nudge to the formula."""
        hints = exercise(self.name).hints if self.is_exercise else ()
        return (*hints[: 3 - len(self.last_hints)], *self.last_hints)

    @property
    def paragraphs(self) -> list[str]:
        """The definition's docstring, paragraph by paragraph; none without a definition."""
        return re.split(r"\n\n+", inspect.getdoc(self.definition) or "") if self.definition else []


def _same(code: str) -> Message:
    """Code, which is the same in every language."""
    return Message(code, code)


STORY = "story"
STORY_TITLE = Message("a story by your own GPT-2", "用你自己的 GPT-2 写故事")
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
        "is_causal  also hide later positions; the newest query sits at the newest key\n"
        "scale      multiplies the scores; 1/√head_dim by default",
        uses=("softmax",),
    ),
    Part(
        "multi_head_attention",
        functions.multi_head_attention,
        parameters="x, c_attn, c_proj, num_heads",
        shapes=(
            "x       (seq_len, n_embd)",
            'c_attn  {"w": (n_embd, 3 * n_embd), "b": (3 * n_embd,)}, query, key and value side by side',
            'c_proj  {"w": (n_embd, n_embd), "b": (n_embd,)}',
            "return  (seq_len, n_embd)",
        ),
        note="Query, key and value all come from x, and it is causal: a position sees itself and earlier ones.\n"
        'GPT-2\'s checkpoint has weights as (in, out): linear takes c_attn["w"].T.',
        uses=("linear", "scaled_dot_product_attention"),
        last_hints=(
            _same(
                'q, k, v = split(linear(x, c_attn["w"].T, c_attn["b"])), each (seq_len, num_heads, head_dim) with its first two axes swapped; '
                'linear(merge(attention(q, k, v, is_causal=True)), c_proj["w"].T, c_proj["b"])'
            ),
        ),
    ),
    Part(
        "learned_positions",
        functions.learned_positions,
        last_hints=(
            Message("It is a look-up, as in embed: positions are the numbers of rows.", "与 embed 一样是查表：位置就是行号。"),
            _same("table[positions]"),
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
        says="Attend to what came before, then think alone; each on a norm of x, each added to x.",
        parameters="x, mlp, attn, ln_1, ln_2, num_heads",
        shapes=(
            "x       (seq_len, n_embd)",
            'mlp     {"c_fc": {"w": (n_embd, 4 * n_embd), "b": (4 * n_embd,)}, "c_proj": {"w": (4 * n_embd, n_embd), "b": (n_embd,)}}',
            'attn    {"c_attn": …, "c_proj": …}, as multi_head_attention takes them',
            'ln_1    {"g": (n_embd,), "b": (n_embd,)}, the weight and bias of a norm',
            "ln_2    as ln_1",
            "return  (seq_len, n_embd)",
        ),
        note='Weights are (in, out), as in GPT-2\'s checkpoint: feed_forward takes mlp["c_fc"]["w"].T.',
        uses=("layer_norm", "multi_head_attention", "feed_forward"),
        last_hints=(
            _same(
                'x = x + multi_head_attention(layer_norm(x, ln_1["g"], ln_1["b"]), **attn, num_heads=num_heads); '
                'return x + feed_forward(layer_norm(x, ln_2["g"], ln_2["b"]), mlp["c_fc"]["w"].T, mlp["c_fc"]["b"], …)'
            ),
        ),
    ),
    Part(
        "gpt2",
        says="Token ids to a score for every token of the vocabulary, at every position.",
        parameters="token_ids, wte, wpe, blocks, ln_f, num_heads",
        shapes=(
            "token_ids  (seq_len,) integer",
            "wte        (vocab_size, n_embd), the token table; the output head is the same table",
            "wpe        (context_size, n_embd), the position table",
            "blocks     a list of dicts: transformer_block(x, **block, num_heads=num_heads)",
            'ln_f       {"g": (n_embd,), "b": (n_embd,)}, the last norm',
            "return     (seq_len, vocab_size)",
        ),
        uses=("linear", "embed", "layer_norm", "learned_positions", "transformer_block"),
        last_hints=(
            _same(
                "x = embed(token_ids, wte) + learned_positions(0 … seq_len - 1, wpe); for block in blocks: "
                "x = transformer_block(x, **block, num_heads=num_heads); "
                'return linear(layer_norm(x, ln_f["g"], ln_f["b"]), wte)'
            ),
        ),
    ),
    Part(
        "generate",
        says="Ask the model for the next token, append the likeliest, and ask again.",
        parameters="model, prompt, max_new_tokens, context_size",
        shapes=(
            "model   a function: an array of token ids (seq_len,) to scores (seq_len, vocab_size)",
            "prompt  a list of token ids",
            "return  a list of token ids: the prompt, and max_new_tokens more",
        ),
        note="The model has room for context_size tokens: give it the last ones.",
    ),
    Part(
        STORY,
        says="Continue a prompt with the embedded model: its 4 million numbers, and your own functions.",
        parameters="prompt, weights, num_heads, max_new_tokens, context_size",
        shapes=(
            "prompt   a list of token ids",
            'weights  {"wte": …, "wpe": …, "blocks": …, "ln_f": …}, as gpt2 takes them',
            "return   a list of token ids: the prompt, and max_new_tokens more",
        ),
        uses=("gpt2", "generate"),
        last_hints=(
            Message(
                "generate asks a model for scores; the model is your gpt2 with the weights filled in.",
                "generate 向模型要分数；模型就是填好权重的、你自己的 gpt2。",
            ),
            Message(
                "Define a function of token_ids alone inside story: it calls gpt2 with the weights and num_heads.",
                "在 story 里定义一个只接收 token_ids 的函数：它带着权重与 num_heads 调用 gpt2。",
            ),
            Message(
                "generate(lambda ids: gpt2(ids, **weights, num_heads=num_heads), prompt, max_new_tokens, context_size)",
                "generate(lambda ids: gpt2(ids, **weights, num_heads=num_heads), prompt, max_new_tokens, context_size)",
            ),
        ),
    ),
)
"""In the order in which they build on each other: that of headway.practice.exercises.NAMES, and the story behind them."""

NAMES = tuple(part.name for part in PARTS)


def part(name: str) -> Part:
    """One part by its name.

    Errors   OptionError with the nearest names.
    """
    if name in NAMES:
        return PARTS[NAMES.index(name)]
    near = difflib.get_close_matches(name, NAMES, 3, 0.4)
    raise OptionError(f"came: {name!r}; expected one of {', '.join(NAMES)}" + (f"; did you mean {' or '.join(near)}?" if near else ""))
