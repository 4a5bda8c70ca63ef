"""All modules, with arguments and the function that each has to equal. All dimensions are distinct."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from headway import functions, nn
from headway.models import gpt2
from tests.functions.oracles import randomized

BATCH, SEQ, SOURCE = 2, 5, 7
HEADS, HIDDEN, INNER, LAYERS = 3, 12, 11, 2
SOURCE_WIDTH, VALUE_WIDTH, VOCAB, TABLE = 8, 10, 23, 13
EPS = 1e-3
GPT2_CONFIG = gpt2.Config(
    vocab_size=VOCAB, n_positions=TABLE, n_embd=HIDDEN, n_layer=LAYERS, n_head=HEADS, n_inner=INNER, layer_norm_epsilon=EPS
)

TARGET_LENGTHS, SOURCE_LENGTHS = torch.tensor([3, SEQ]), torch.tensor([SOURCE, 4])


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def tokens_of(lengths: torch.Tensor, seq_len: int) -> torch.Tensor:
    """Return an attention mask as tokenizers do."""
    return (torch.arange(seq_len) < lengths[:, None]).long()


X, Y, Z = draw(BATCH, SEQ, HIDDEN), draw(BATCH, SOURCE, SOURCE_WIDTH, seed=1), draw(BATCH, SOURCE, VALUE_WIDTH, seed=2)
WIDE_SOURCE = draw(BATCH, SOURCE, HIDDEN, seed=3)
IDS = torch.randint(VOCAB, (BATCH, SEQ), generator=torch.Generator().manual_seed(0))
X_TOKENS, SOURCE_TOKENS = tokens_of(TARGET_LENGTHS, SEQ), tokens_of(SOURCE_LENGTHS, SOURCE)


@dataclass(frozen=True)
class Case:
    """A module, built by make(dropout), whose result for inputs and masks has to equal definition(weights, *inputs, **masks).

    The masks for the definition are boolean and have axes for heads and queries.
    """

    name: str
    make: Callable[[float], torch.nn.Module]
    inputs: tuple[torch.Tensor, ...]
    masks: dict[str, torch.Tensor]
    definition: Callable[..., Any]

    def module(self, dropout: float = 0.0, seed: int = 0) -> torch.nn.Module:
        """Prepare a module: float64, eval mode, random parameters."""
        return randomized(self.make(dropout), seed)

    def masks_of_definition(self) -> list[torch.Tensor]:
        return [mask[:, None, None] != 0 for mask in self.masks.values()]


def multi_head(weights, query, key, value, mask=None):
    return functions.multi_head_attention(query, key, value, weights, num_heads=HEADS, mask=mask)


def self_attention(is_causal):
    def attend(weights, x, mask=None):
        return functions.multi_head_attention(x, x, x, weights, num_heads=HEADS, mask=mask, is_causal=is_causal)

    return attend


def stacked(weights, query, key, value, mask=None):
    mask = None if mask is None else mask[:, 0]
    return functions.stacked_heads_attention(query, key, value, weights.heads, weights.output, mask=mask)


OPTIONS = {"num_heads": HEADS, "eps": EPS}
PRE = OPTIONS | {"is_pre_norm": True, "activation": functions.gelu}

CASES = (
    Case(
        "multi_head_attention",
        lambda p: nn.MultiHeadAttention(HIDDEN, HEADS, key_width=SOURCE_WIDTH, value_width=VALUE_WIDTH, dropout=p),
        (X, Y, Z),
        {"attention_mask": SOURCE_TOKENS},
        multi_head,
    ),
    Case(
        "grouped_heads_without_bias",
        lambda p: nn.MultiHeadAttention(HIDDEN, HEADS, num_kv_heads=1, key_width=SOURCE_WIDTH, has_bias=False, dropout=p),
        (X, Y, Y),
        {"attention_mask": SOURCE_TOKENS},
        multi_head,
    ),
    Case("self_attention", lambda p: nn.SelfAttention(HIDDEN, HEADS, dropout=p), (X,), {"attention_mask": X_TOKENS}, self_attention(False)),
    Case(
        "causal_self_attention",
        lambda p: nn.CausalSelfAttention(HIDDEN, HEADS, dropout=p),
        (X,),
        {"attention_mask": X_TOKENS},
        self_attention(True),
    ),
    Case(
        "cross_attention",
        lambda p: nn.CrossAttention(HIDDEN, HEADS, source_width=SOURCE_WIDTH, dropout=p),
        (X, Y),
        {"attention_mask": SOURCE_TOKENS},
        lambda w, x, source, mask=None: multi_head(w, x, source, source, mask),
    ),
    Case(
        "stacked_heads",
        lambda p: nn.StackedHeads(HIDDEN, HEADS, key_width=SOURCE_WIDTH, value_width=VALUE_WIDTH, dropout=p),
        (X, Y, Z),
        {"attention_mask": SOURCE_TOKENS},
        stacked,
    ),
    Case(
        "feed_forward",
        lambda p: nn.FeedForward(HIDDEN, INNER, activation="gelu", dropout=p),
        (X,),
        {},
        lambda w, x: functions.feed_forward(x, w, activation=functions.gelu),
    ),
    Case(
        "gated_feed_forward",
        lambda p: nn.GatedFeedForward(HIDDEN, INNER, dropout=p),
        (X,),
        {},
        lambda w, x: functions.gated_feed_forward(x, w),
    ),
    Case(
        "encoder_layer",
        lambda p: nn.EncoderLayer(HIDDEN, HEADS, INNER, eps=EPS, dropout=p),
        (X,),
        {"attention_mask": X_TOKENS},
        lambda w, x, mask=None: functions.encoder_layer(x, w, mask=mask, **OPTIONS),
    ),
    Case(
        "encoder",
        lambda p: nn.Encoder(HIDDEN, HEADS, INNER, LAYERS, is_pre_norm=True, activation="gelu", eps=EPS, dropout=p),
        (X,),
        {"attention_mask": X_TOKENS},
        lambda w, x, mask=None: functions.encoder(x, w, mask=mask, **PRE),
    ),
    Case(
        "decoder_layer",
        lambda p: nn.DecoderLayer(HIDDEN, HEADS, INNER, encoder_width=SOURCE_WIDTH, eps=EPS, dropout=p),
        (X, Y),
        {"attention_mask": X_TOKENS, "encoder_attention_mask": SOURCE_TOKENS},
        lambda w, x, y, mask=None, other=None: functions.decoder_layer(x, y, w, mask=mask, encoder_mask=other, **OPTIONS),
    ),
    Case(
        "decoder",
        lambda p: nn.Decoder(
            HIDDEN, HEADS, INNER, LAYERS, encoder_width=SOURCE_WIDTH, is_pre_norm=True, activation="gelu", eps=EPS, dropout=p
        ),
        (X, Y),
        {"attention_mask": X_TOKENS, "encoder_attention_mask": SOURCE_TOKENS},
        lambda w, x, y, mask=None, other=None: functions.decoder(x, y, w, mask=mask, encoder_mask=other, **PRE),
    ),
    Case(
        "transformer",
        lambda p: nn.Transformer(HIDDEN, HEADS, INNER, LAYERS, num_decoder_layers=1, eps=EPS, dropout=p),
        (WIDE_SOURCE, X),
        {"source_attention_mask": SOURCE_TOKENS, "target_attention_mask": X_TOKENS},
        lambda w, s, t, mask=None, other=None: functions.transformer(s, t, w, source_mask=mask, target_mask=other, **OPTIONS),
    ),
    Case(
        "pre_norm_transformer",
        lambda p: nn.Transformer(HIDDEN, HEADS, INNER, LAYERS, is_pre_norm=True, activation="gelu", eps=EPS, dropout=p, has_bias=False),
        (WIDE_SOURCE, X),
        {"source_attention_mask": SOURCE_TOKENS, "target_attention_mask": X_TOKENS},
        lambda w, s, t, mask=None, other=None: functions.transformer(s, t, w, source_mask=mask, target_mask=other, **PRE),
    ),
    Case(
        "gpt2",
        lambda p: nn.GPT2(VOCAB, TABLE, HIDDEN, HEADS, LAYERS, intermediate_size=INNER, eps=EPS, dropout=p),
        (IDS,),
        {},
        lambda w, ids: gpt2.forward(ids, w, GPT2_CONFIG),
    ),
)
BY_NAME = {case.name: case for case in CASES}
