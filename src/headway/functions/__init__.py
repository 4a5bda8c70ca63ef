"""Reference definitions of every part of the transformer, as pure functions of arrays. One file per concept."""

from headway.functions.activations import clamped_swiglu, gelu, gelu_tanh, relu, sigmoid, silu, soft_cap
from headway.functions.attention import attention_weights, scaled_dot_product_attention
from headway.functions.attention_sinks import attention_with_sinks
from headway.functions.decoder import DecoderLayerWeights, DecoderWeights, TransformerWeights, decoder, decoder_layer, transformer
from headway.functions.dropout import dropout
from headway.functions.embedding import embed, unembed
from headway.functions.encoder import EncoderLayerWeights, EncoderWeights, encoder, encoder_layer, residual
from headway.functions.feed_forward import FeedForwardWeights, GatedFeedForwardWeights, feed_forward, gated_feed_forward
from headway.functions.gated_delta_rule import causal_conv, gated_delta_rule
from headway.functions.kv_cache import KVCache
from headway.functions.linear import LinearWeights, Matrix, linear
from headway.functions.losses import cross_entropy
from headway.functions.low_rank import LowRank, low_rank
from headway.functions.masks import apply_mask, causal_mask, padding_mask, sliding_window_mask
from headway.functions.mixture_of_experts import MixtureOfExpertsWeights, mixture_of_experts, route_top_k
from headway.functions.multi_head_attention import (
    MultiHeadAttentionWeights,
    cross_attention,
    merge_heads,
    multi_head_attention,
    project_keys_and_values,
    split_heads,
)
from headway.functions.norms import NormWeights, layer_norm, rms_norm
from headway.functions.optimize import GradientDescentResult, adam_step, clipping_factor, gradient_descent
from headway.functions.packed import Packed
from headway.functions.pooling import first_token_pool, last_token_pool, max_pool, mean_pool, normalize
from headway.functions.positions import (
    learned_positions,
    relative_position_bias,
    relative_position_buckets,
    rotary,
    rotary_cos_sin,
    rotary_frequencies,
    rotate_half,
    sinusoidal_positions,
)
from headway.functions.rotary_scaling import (
    longrope_magnitude,
    scale_rotary_dynamic,
    scale_rotary_linear,
    scale_rotary_llama3,
    scale_rotary_longrope,
    scale_rotary_yarn,
    yarn_magnitude,
)
from headway.functions.sampling import (
    add_logit_bias,
    forbid_repeated_ngrams,
    forbid_tokens,
    force_tokens,
    keep_min_p,
    keep_top_k,
    keep_top_p,
    keep_typical,
    penalize_occurrence,
    penalize_repetition,
    sample,
    scale_by_temperature,
)
from headway.functions.schedules import cosine_schedule, linear_schedule, noam_schedule
from headway.functions.softmax import log_softmax, softmax
from headway.functions.stacked_heads import HeadWeights, stack_heads, stacked_heads_attention, unstack_heads

__all__ = [
    "DecoderLayerWeights",
    "DecoderWeights",
    "EncoderLayerWeights",
    "EncoderWeights",
    "FeedForwardWeights",
    "GatedFeedForwardWeights",
    "GradientDescentResult",
    "HeadWeights",
    "KVCache",
    "LinearWeights",
    "LowRank",
    "Matrix",
    "MixtureOfExpertsWeights",
    "MultiHeadAttentionWeights",
    "NormWeights",
    "Packed",
    "TransformerWeights",
    "adam_step",
    "add_logit_bias",
    "apply_mask",
    "attention_weights",
    "attention_with_sinks",
    "causal_conv",
    "causal_mask",
    "clamped_swiglu",
    "clipping_factor",
    "cosine_schedule",
    "cross_attention",
    "cross_entropy",
    "decoder",
    "decoder_layer",
    "dropout",
    "embed",
    "encoder",
    "encoder_layer",
    "feed_forward",
    "first_token_pool",
    "forbid_repeated_ngrams",
    "forbid_tokens",
    "force_tokens",
    "gated_delta_rule",
    "gated_feed_forward",
    "gelu",
    "gelu_tanh",
    "gradient_descent",
    "keep_min_p",
    "keep_top_k",
    "keep_top_p",
    "keep_typical",
    "last_token_pool",
    "layer_norm",
    "learned_positions",
    "linear",
    "linear_schedule",
    "log_softmax",
    "longrope_magnitude",
    "low_rank",
    "max_pool",
    "mean_pool",
    "merge_heads",
    "mixture_of_experts",
    "multi_head_attention",
    "noam_schedule",
    "normalize",
    "padding_mask",
    "penalize_occurrence",
    "penalize_repetition",
    "project_keys_and_values",
    "relative_position_bias",
    "relative_position_buckets",
    "relu",
    "residual",
    "rms_norm",
    "rotary",
    "rotary_cos_sin",
    "rotary_frequencies",
    "rotate_half",
    "route_top_k",
    "sample",
    "scale_by_temperature",
    "scale_rotary_dynamic",
    "scale_rotary_linear",
    "scale_rotary_llama3",
    "scale_rotary_longrope",
    "scale_rotary_yarn",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "sinusoidal_positions",
    "sliding_window_mask",
    "soft_cap",
    "softmax",
    "split_heads",
    "stack_heads",
    "stacked_heads_attention",
    "transformer",
    "unembed",
    "unstack_heads",
    "yarn_magnitude",
]
