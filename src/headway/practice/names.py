"""Names of functions and classes, and the exercises that they may mean, which are in names.toml.

This table is all that is needed to find the exercise of a name, so that only the exercises of a file are imported.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from headway.practice.chinese_names import in_english


@dataclass(frozen=True)
class Pattern:
    """Regular expressions for the names of an exercise.

    called  names that learners use for it
    also    names that may mean this exercise or another one
    """

    called: str
    also: str | None = None


NO_PART = r"(?i:^init_|^clear_|(^|_)clip_?|^demo_|^demonstrate|_demo$|data_?(set|loader)|config|(?<!re)set_?args$|schedule|rout(er|ing)|lora|guided|swin(?!g)\w*(block|layer|stage|transformer|att)|deconv|surrogate|fp8|quanti[sz]e|convert|replace_(?!pair)|(^|_)lr(_|$)|identity|dummy|placeholder)|(?:^|[a-z_])[Nn]o_?[Oo]p(?![a-z])|(?:[a-z](No|Without)|(?:^|_)([Nn]o|[Ww]ithout))_?([Rr]esid(ual)?s?|[Ss]kips?|[Ll]ayer_?[Nn]orm|LN|[Ss]cal(e|ing))(?![a-z])|For[A-Z]\w+$|\w(Params|Settings|Options|Outputs?|Results?)$"
"""Pattern of the names of what surrounds a part: its settings, its data, an adapter, what leaves its input as it is, what leaves out a step, what has windows of images."""

NO_FUNCTION = (
    r"_?(plot|visuali[sz]e|draw|show|display|print|demo(nstrate)?|bench(mark)?|compare|profile|measure|estimate|analy[sz]e|inspect|prune|init(iali[sz]e)?(?!_?pair_?(stat|count|freq))|validate|check|ensure|find|auto_?resize|resize|d|grad(ient)?(?!_?desc)|deriv(ative)?)_"
    r"|.*_(flops?|macs|dims?|sizes?|width|init(iali[sz]er)?)$|.*(rope|rotary)_att(entio)?n$|.*(pos(ition)?|rope|rotary)\w*_ids$|.*_(deriv(ative)?|grad(ient)?|backward|prime|jacobian)$|d(relu|gelu|silu|swish|softmax|layer_?norm|cross_?entropy(_?loss)?)$"
)
"""Pattern of the names of functions that show, measure, estimate, analyze, prune, initialize, check or differentiate a part, or compute its size or the ids of positions."""


CALLED_AROUND = ("gradient_clipping", "cosine_schedule", "linear_schedule", "noam_schedule")
"""Parts whose own names are among those of what surrounds a part."""

OWNER = r"^(?:[Mm]y|[Cc]ustom)(?:_(?=[A-Za-z])|(?=[A-Z]))"
"""Pattern of the start of a name that only says that the code is one's own: MyBlock."""

FILE = Path(__file__).with_name("names.toml")
PATTERNS = {name: Pattern(**patterns) for name, patterns in tomllib.loads(FILE.read_text(encoding="utf-8")).items()}
"""The exercises by name, in the order in which they build on each other."""


def by_name(name: str) -> str | None:
    """Return the likeliest exercise that a name fits as it is spelled, or None."""
    likely, possible = _fitting(_plain(name))
    return next(iter([*likely, *possible]), None)


def means(name: str, exercise: str) -> bool:
    """Return True if a name means this exercise."""
    return re.search(PATTERNS[exercise].called, name, re.IGNORECASE) is not None


PARTS_OF_CLASSES = {
    "adam_step": ("adam_optimizer",),
    "gradient_descent": ("sgd_optimizer",),
    "scaled_dot_product_attention": (
        "grouped_query_attention", "self_attention", "causal_self_attention", "multi_head_attention", "cross_attention",
    ),
    "self_attention": ("causal_self_attention", "scaled_dot_product_attention"),
    "causal_self_attention": ("self_attention", "multi_head_attention", "scaled_dot_product_attention", "stacked_heads_attention"),
    "encoder_layer": ("encoder_stack", "transformer_block"),
    "transformer_block": ("encoder_stack", "decoder_stack", "decoder_layer"),
    "decoder_layer": ("transformer_block", "encoder_layer", "decoder_stack"),
    "next_token_loss": ("cross_entropy",),
    **dict.fromkeys(("encoder_stack", "decoder_stack", "encoder_decoder"), ("gpt2", "encoder_stack", "decoder_stack")),
    "feed_forward": ("gated_feed_forward",),
    **dict.fromkeys(("relu", "gelu", "silu", "linear"), ("feed_forward",)),
    "embed": ("positioned_embedding", "learned_positions", "sinusoidal_positions"),
    "sinusoidal_positions": ("positioned_embedding", "learned_positions", "embed"),
    "positioned_embedding": ("learned_positions", "embed"),
    "learned_positions": ("positioned_embedding", "sinusoidal_positions", "embed"),
    "bpe_tokenizer": ("bpe_train",),
    "bpe_encode": ("bpe_tokenizer", "bpe_train"),
}  # fmt: skip
"""Exercises that a class may also be, by the one that its name means: what it holds and takes decides."""


PARTS_OF_FUNCTIONS = {
    "cross_entropy": ("next_token_loss",),
    "bpe_decode": ("generate",),
    "sample": ("generate",),
    "self_attention": ("causal_self_attention", "multi_head_attention", "scaled_dot_product_attention"),
    "scaled_dot_product_attention": ("multi_head_attention",),
    "qkv_projection": ("scaled_dot_product_attention",),
    "learned_positions": ("sinusoidal_positions",),
    "rotary_tables": ("sinusoidal_positions",),
    "rotary": ("sinusoidal_positions",),
    "causal_mask": ("padding_mask",),
    "embed": ("sinusoidal_positions",),
}
"""Exercises that a function may also be, by the one that its name means: its source decides."""


OF_BLOCK = r"(?i)att(entio)?n_?(block|layer)$"
BLOCKS = ("transformer_block", "encoder_layer", "decoder_layer")
"""Pattern of the names of attentions that may have a feed-forward after them, and the parts that they then are."""


def parts_of_block(name: str) -> tuple[str, ...]:
    """Return the parts with a feed-forward that a class of a name may be."""
    return BLOCKS if re.search(OF_BLOCK, name) else ()


@cache
def fitting(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the exercises that a name means, and those that it may also mean, likeliest first.

    A name that means none is read again without its spelling mistakes.
    """
    plain = _plain(name)
    found = _fitting(plain)
    if found[0]:
        return found
    respelled = _fitting(_spelled(plain))
    return respelled if respelled[0] or not found[1] else found


def _plain(name: str) -> str:
    return re.sub(OWNER, "", in_english(name).lstrip("_"))


def _fitting(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if re.search(NO_PART, name):
        return tuple(each for each in CALLED_AROUND if re.search(PATTERNS[each].called, name, re.IGNORECASE)), ()
    likely = tuple(each for each, pattern in PATTERNS.items() if re.search(pattern.called, name, re.IGNORECASE))
    possible = [each for each, pattern in PATTERNS.items() if pattern.also and re.search(pattern.also, name, re.IGNORECASE)]
    return likely, tuple(each for each in possible if each not in likely)


WORDS = (
    "attention", "multi", "head", "causal", "masked", "softmax", "position", "positional", "encoding", "embedding", "encoder", "decoder",
    "transformer", "feed", "forward", "layer", "norm", "normalization", "residual", "rotary", "generate", "tokenizer",
)  # fmt: skip
"""Words of the names of parts, which are often misspelled."""


def _spelled(name: str) -> str:
    """Return a name with its words as in WORDS if they differ by about a letter or in the order of letters: MutiHeadAttenion, MulitHead.

    A prefix is no mistake: Unembedding.
    """

    def word(match: re.Match[str]) -> str:
        written = match[0].lower()
        near = [each for each in WORDS if sorted(each) == sorted(written)] or difflib.get_close_matches(written, WORDS, 1, 0.85)
        return near[0].capitalize() if near and not written.endswith(near[0]) else match[0]

    return re.sub(r"[A-Z]?[a-z]{3,}", word, name)
