"""Bugs for `headway practice bug`: a line of a correct solution, and the line with a known mistake."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """One mistake in one part.

    mistake  id of the mistake in the exercise's list
    right    text that occurs once in the solution
    wrong    text to replace it with
    """

    exercise: str
    mistake: str
    right: str
    wrong: str


BUGS = (
    Bug("softmax", "no_shift", "np.exp(x - np.max(x, axis=axis, keepdims=True))", "np.exp(x)"),
    Bug("softmax", "global_shift", "np.max(x, axis=axis, keepdims=True)", "np.max(x)"),
    Bug("softmax", "sums_everything", "np.sum(weights, axis=axis, keepdims=True)", "np.sum(weights)"),
    Bug("softmax", "divides_by_sum_of_inputs", "np.sum(weights, axis=axis, keepdims=True)", "np.sum(x, axis=axis, keepdims=True)"),
    Bug(
        "log_softmax",
        "logarithm_of_softmax",
        "return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))",
        "weights = np.exp(shifted)\n    return np.log(weights / np.sum(weights, axis=axis, keepdims=True))",
    ),
    Bug("log_softmax", "mean_for_sum", "np.sum(", "np.mean("),
    Bug(
        "log_softmax",
        "sign_turned",
        "return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))",
        "return np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True)) - shifted",
    ),
    Bug("linear", "bias_subtracted", "product + bias", "product - bias"),
    Bug("linear", "bias_per_row", "product + bias", "product + bias[:, None]"),
    Bug("linear", "weight_reshaped", "weight.T", "weight.reshape(-1, len(weight))"),
    Bug("embed", "ids_counted_from_one", "table[token_ids]", "table[token_ids - 1]"),
    Bug("embed", "columns_taken", "table[token_ids]", "table.T[token_ids]"),
    Bug("relu", "absolute_value", "np.maximum(x, 0)", "np.abs(x)"),
    Bug("relu", "negative_part", "np.maximum(x, 0)", "np.minimum(x, 0)"),
    Bug("gelu", "square_for_cube", "x**3", "x**2"),
    Bug("gelu", "two_over_pi_without_root", "np.sqrt(2 / np.pi)", "2 / np.pi"),
    Bug("gelu", "half_missing", "0.5 * x", "x"),
    Bug("gelu", "cubic_term_subtracted", "(x + 0.044715", "(x - 0.044715"),
    Bug("silu", "exponent_sign", "x * sigmoid(x)", "x * sigmoid(-x)"),
    Bug("silu", "gate_applied_twice", "x * sigmoid(x)", "x * sigmoid(x) * sigmoid(x)"),
    Bug("layer_norm", "variance_unbiased", "np.mean(centred**2, axis=-1, keepdims=True)", "np.var(x, axis=-1, ddof=1, keepdims=True)"),
    Bug("layer_norm", "eps_outside_root", "np.sqrt(variance + eps)", "(np.sqrt(variance) + eps)"),
    Bug("layer_norm", "mean_not_subtracted", "normed = centred /", "normed = x /"),
    Bug("layer_norm", "root_missing", "np.sqrt(variance + eps)", "(variance + eps)"),
    Bug("rms_norm", "sum_for_mean", "np.mean(", "np.sum("),
    Bug("rms_norm", "eps_missing", "mean_square + eps", "mean_square"),
    Bug("rms_norm", "variance_for_mean_square", "np.mean(x**2, axis", "np.var(x, axis"),
    Bug("scaled_dot_product_attention", "scale", "query.shape[-1] ** -0.5", "key.shape[-2] ** -0.5"),
    Bug("scaled_dot_product_attention", "softmax_over_queries", "softmax(scores)", "softmax(scores, axis=-2)"),
    Bug("scaled_dot_product_attention", "sees_one_ahead", "key_len - query_len)", "key_len - query_len + 1)"),
    Bug(
        "scaled_dot_product_attention",
        "given_scale_ignored",
        "query.shape[-1] ** -0.5 if scale is None else scale",
        "query.shape[-1] ** -0.5",
    ),
    Bug(
        "scaled_dot_product_attention",
        "causal_replaces_the_mask",
        "scores = np.where(allowed, scores, -np.inf)",
        "scores = np.where(allowed, query @ np.swapaxes(key, -1, -2) * scale, -np.inf)",
    ),
    Bug("scaled_dot_product_attention", "scale", "np.swapaxes(key, -1, -2) * scale", "np.swapaxes(key, -1, -2)"),
    Bug(
        "multi_head_attention",
        "heads_viewed_not_split",
        "part.reshape(seq_len, num_heads, n_embd // num_heads).swapaxes(0, 1)",
        "part.reshape(num_heads, seq_len, n_embd // num_heads)",
    ),
    Bug(
        "multi_head_attention", "heads_viewed_not_merged", "heads.swapaxes(0, 1).reshape(seq_len, n_embd)", "heads.reshape(seq_len, n_embd)"
    ),
    Bug("multi_head_attention", "query_and_key_weights_exchanged", "query, key, value = np.split", "key, query, value = np.split"),
    Bug("multi_head_attention", "no_output_projection", 'return linear(merged, c_proj["w"].T, c_proj["b"])', "return merged"),
    Bug(
        "sinusoidal_positions",
        "cosine_first",
        "table[:, 0::2] = np.sin(angles)\n    table[:, 1::2] = np.cos(",
        "table[:, 0::2] = np.cos(angles)\n    table[:, 1::2] = np.sin(",
    ),
    Bug(
        "sinusoidal_positions",
        "exponent_not_doubled",
        "np.arange(0, hidden_size, 2) / hidden_size",
        "np.arange(hidden_size // 2) / hidden_size",
    ),
    Bug("learned_positions", "positions_from_zero_always", "table[positions]", "table[np.arange(len(positions))]"),
    Bug("rotary", "turned_backwards", "[a * cos - b * sin, b * cos + a * sin]", "[a * cos + b * sin, b * cos - a * sin]"),
    Bug("rotary", "two_minuses", "b * cos + a * sin", "b * cos - a * sin"),
    Bug("rotary", "exponent_not_doubled", "np.arange(0, head_dim, 2) / head_dim", "np.arange(head_dim // 2) / head_dim"),
    Bug("feed_forward", "activation_missing", "gelu(linear(x, up_weight, up_bias))", "linear(x, up_weight, up_bias)"),
    Bug("feed_forward", "up_bias_after_activation", "gelu(linear(x, up_weight, up_bias))", "gelu(linear(x, up_weight)) + up_bias"),
    Bug("feed_forward", "residual_added", "return linear(", "return x + linear("),
    Bug(
        "gated_feed_forward",
        "activation_on_product",
        "gate = silu(linear(x, gate_weight))\n    hidden = gate * linear(x, up_weight)",
        "hidden = silu(linear(x, gate_weight) * linear(x, up_weight))",
    ),
    Bug(
        "gated_feed_forward",
        "activation_on_up",
        "gate = silu(linear(x, gate_weight))\n    hidden = gate * linear(x, up_weight)",
        "gate = linear(x, gate_weight)\n    hidden = gate * silu(linear(x, up_weight))",
    ),
    Bug("gated_feed_forward", "branches_added", "gate * linear(", "gate + linear("),
    Bug("transformer_block", "residual_of_attention_missing", "x = x + multi_head_attention(", "x = multi_head_attention("),
    Bug("transformer_block", "second_norm_used_twice", 'layer_norm(x, ln_1["g"], ln_1["b"])', 'layer_norm(x, ln_2["g"], ln_2["b"])'),
    Bug("transformer_block", "second_norm_skipped", 'feed_forward(layer_norm(x, ln_2["g"], ln_2["b"])', "feed_forward(x"),
    Bug("gpt2", "positions_missing", "embed(token_ids, wte) + learned_positions(np.arange(len(token_ids)), wpe)", "embed(token_ids, wte)"),
    Bug("gpt2", "positions_from_one", "np.arange(len(token_ids))", "np.arange(len(token_ids)) + 1"),
    Bug("gpt2", "last_norm_missing", 'linear(layer_norm(x, ln_f["g"], ln_f["b"]), wte)', "linear(x, wte)"),
    Bug("gpt2", "blocks_backwards", "in blocks:", "in reversed(blocks):"),
    Bug("temperature", "divides_probabilities", "softmax(logits / temperature)", "softmax(logits) / temperature"),
    Bug("top_k", "keeps_one_less", "logits >= smallest_kept", "logits > smallest_kept"),
    Bug("top_k", "hidden_logit_is_zero", "-np.inf", "0.0"),
    Bug("top_p", "everything_may_be_dropped", "np.cumsum(ordered, axis=-1) - ordered", "np.cumsum(ordered, axis=-1)"),
    Bug(
        "top_p",
        "mask_not_put_back",
        "is_kept = np.empty(logits.shape, bool)\n    np.put_along_axis(is_kept, order, before < p, axis=-1)",
        "is_kept = before < p",
    ),
    Bug("top_p", "least_likely_kept", "np.argsort(-probabilities", "np.argsort(probabilities"),
    Bug("generate", "first_tokens_kept", "token_ids[-context_size:]", "token_ids[:context_size]"),
    Bug("generate", "logits_of_first_position", "logits[-1]", "logits[0]"),
    Bug("generate", "argmax_over_all_positions", "np.argmax(logits[-1])", "np.argmax(logits)"),
    Bug("generate", "context_not_cropped", "token_ids[-context_size:]", "token_ids"),
    Bug("cross_entropy", "sign_missing", "-np.mean(", "np.mean("),
    Bug("cross_entropy", "summed", "-np.mean(", "-np.sum("),
    Bug(
        "cross_entropy",
        "averaged_over_classes",
        "-np.mean(log_probabilities[rows, targets])",
        "-np.sum(log_probabilities[rows, targets]) / logits.size",
    ),
    Bug("adam_step", "eps_inside_root", "(np.sqrt(square_hat) + eps)", "np.sqrt(square_hat + eps)"),
    Bug("adam_step", "square_not_corrected", "square / (1 - beta2**step)", "square"),
    Bug("adam_step", "gradient_not_squared", "gradient**2", "gradient"),
    Bug("adam_step", "mean_not_corrected", "mean / (1 - beta1**step)", "mean"),
)
