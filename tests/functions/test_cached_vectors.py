"""Prefill and two cached decode steps of a tiny Llama, against values from Baichuan's code."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from headway import functions
from headway.functions import (
    GatedFeedForwardWeights,
    KVCache,
    LinearWeights,
    MultiHeadAttentionWeights,
    embed,
    gated_feed_forward,
    multi_head_attention,
    rms_norm,
    rotary_cos_sin,
    rotary_frequencies,
)
from tests.functions.close import assert_close

VOCAB_SIZE, HIDDEN_SIZE, NUM_HEADS, INTERMEDIATE_SIZE = 5, 32, 8, 96
EPS = 1e-6

# The file is these arrays one after another, float32 except the token ids (chatglm.cpp, chatglm_test.cpp, Baichuan7BModel).
LAYOUT = {
    "embedding": (VOCAB_SIZE, HIDDEN_SIZE),
    "attention_norm": (HIDDEN_SIZE,),
    "query_key_value": (3, HIDDEN_SIZE, HIDDEN_SIZE),
    "output": (HIDDEN_SIZE, HIDDEN_SIZE),
    "feed_forward_norm": (HIDDEN_SIZE,),
    "gate": (INTERMEDIATE_SIZE, HIDDEN_SIZE),
    "down": (HIDDEN_SIZE, INTERMEDIATE_SIZE),
    "up": (INTERMEDIATE_SIZE, HIDDEN_SIZE),
    "norm": (HIDDEN_SIZE,),
    "prompt": (3,),
    "prefill": (3, HIDDEN_SIZE),
    "second_ids": (1,),
    "second": (1, HIDDEN_SIZE),
    "third_ids": (1,),
    "third": (1, HIDDEN_SIZE),
}
TOKEN_IDS = ("prompt", "second_ids", "third_ids")
STEPS = (("prompt", "prefill"), ("second_ids", "second"), ("third_ids", "third"))


@pytest.fixture(scope="module")
def arrays(data_dir):
    words = np.fromfile(data_dir / "vectors" / "chatglm_cpp" / "baichuan7b_model.data", dtype=np.float32)
    ends = np.cumsum([np.prod(shape) for shape in LAYOUT.values()])
    assert ends[-1] == len(words)
    parts = zip(LAYOUT.items(), np.split(words, ends[:-1]), strict=True)
    return {name: (part.view(np.int32) if name in TOKEN_IDS else part).reshape(shape) for (name, shape), part in parts}


def forward(arrays, token_ids, kv_cache, ops=functions):
    """Compute one pre-norm layer with rotary positions, and the final norm."""
    query, key, value = map(LinearWeights, arrays["query_key_value"])
    attention = MultiHeadAttentionWeights(query, key, value, LinearWeights(arrays["output"]))
    feed_forward = GatedFeedForwardWeights(*(LinearWeights(arrays[name]) for name in ("gate", "up", "down")))
    start = kv_cache.length if kv_cache else 0
    rotary = rotary_cos_sin(np.arange(start, start + len(token_ids)), rotary_frequencies(HIDDEN_SIZE // NUM_HEADS))
    x = embed(token_ids, arrays["embedding"])
    normed = rms_norm(x, arrays["attention_norm"], eps=EPS)
    x = x + multi_head_attention(
        normed, normed, normed, attention, num_heads=NUM_HEADS, is_causal=True, rotary=rotary, kv_cache=kv_cache, ops=ops
    )
    x = x + gated_feed_forward(rms_norm(x, arrays["feed_forward_norm"], eps=EPS), feed_forward)
    return rms_norm(x, arrays["norm"], eps=EPS)


def test_prefill_and_two_cached_steps_are_what_the_authors_code_gave(arrays):
    cache = KVCache.empty((NUM_HEADS, 8, HIDDEN_SIZE // NUM_HEADS), arrays["embedding"])
    for token_ids, expected in STEPS:
        assert_close(forward(arrays, arrays[token_ids], cache), arrays[expected])
    assert cache.length == 5


def test_one_pass_over_all_five_tokens_gives_the_same_three_steps(arrays):
    token_ids = np.concatenate([arrays[name] for name in TOKEN_IDS])
    expected = np.concatenate([arrays[name] for _, name in STEPS])
    assert_close(forward(arrays, token_ids, None), expected)


def test_the_other_rotary_layout_gives_other_numbers(arrays):
    """Interleaved pairs instead of halves give another result, so the vectors detect this mistake."""
    names = {name: getattr(functions, name) for name in functions.__all__}
    interleaved = SimpleNamespace(**names | {"rotary": partial(functions.rotary, interleaved=True)})
    came = forward(arrays, arrays["prompt"], None, ops=interleaved)
    assert_close(came[0], arrays["prefill"][0])  # position 0 is not rotated
    assert np.abs(came[1:] - arrays["prefill"][1:]).max() > 0.01
