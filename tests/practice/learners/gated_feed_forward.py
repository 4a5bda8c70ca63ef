import math

import numpy as np


def silu(x):
    return x / (1 + np.exp(-x))


def right_names(x, w_gate, w_up, w_down):
    return (silu(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T


def right_in_out(x, w_gate, w_up, w_down):
    return (silu(x @ w_gate) * (x @ w_up)) @ w_down


def right_llama(x, w1, w2, w3):
    return (silu(x @ w1.T) * (x @ w3.T)) @ w2.T


def right_in_order(x, w1, w2, w3):
    return (silu(x @ w1) * (x @ w2)) @ w3


def right_shazeer(x, W, V, W2):
    return (silu(x @ W) * (x @ V)) @ W2


def right_run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    gate = in_features @ w1_weight.T
    return (gate / (1 + np.exp(-gate)) * (in_features @ w3_weight.T)) @ w2_weight.T


def right_einsum(x, gate, up, down):
    g, u = np.einsum("...d,fd->...f", x, gate), np.einsum("...d,fd->...f", x, up)
    return np.einsum("...f,df->...d", g * u / (1 + np.exp(-g)), down)


def right_geglu(x, w_gate, w_up, w_down):
    g = x @ w_gate.T
    return (0.5 * g * (1 + np.vectorize(math.erf)(g / math.sqrt(2))) * (x @ w_up.T)) @ w_down.T


def right_reglu(x, w_gate, w_up, w_down):
    return (np.maximum(x @ w_gate.T, 0) * (x @ w_up.T)) @ w_down.T


def right_glu(x, w_gate, w_up, w_down):
    return (x @ w_up.T / (1 + np.exp(-(x @ w_gate.T)))) @ w_down.T


def right_with_biases(x, W, b, V, c, W2, b2):
    return (silu(x @ W + b) * (x @ V + c)) @ W2 + b2


def wrong_activation_on_up(x, w_gate, w_up, w_down):
    return ((x @ w_gate.T) * silu(x @ w_up.T)) @ w_down.T


def wrong_activation_on_up__llama(x, w1, w2, w3):
    return (silu(x @ w3.T) * (x @ w1.T)) @ w2.T


def wrong_activation_missing(x, w_gate, w_up, w_down):
    return ((x @ w_gate.T) * (x @ w_up.T)) @ w_down.T


def wrong_activation_on_both(x, w_gate, w_up, w_down):
    return (silu(x @ w_gate.T) * silu(x @ w_up.T)) @ w_down.T


def wrong_activation_on_product(x, w_gate, w_up, w_down):
    return silu((x @ w_gate.T) * (x @ w_up.T)) @ w_down.T


def wrong_activation_on_answer(x, w_gate, w_up, w_down):
    return silu(((x @ w_gate.T) * (x @ w_up.T)) @ w_down.T)


def wrong_up_not_used(x, w_gate, w_up, w_down):
    return silu(x @ w_gate.T) @ w_down.T


def wrong_gate_not_used(x, w_gate, w_up, w_down):
    return (x @ w_up.T) @ w_down.T


def wrong_gate_used_twice(x, w_gate, w_up, w_down):
    g = x @ w_gate.T
    return (silu(g) * g) @ w_down.T


def wrong_up_used_twice(x, w_gate, w_up, w_down):
    u = x @ w_up.T
    return (silu(u) * u) @ w_down.T


def wrong_branches_added(x, w_gate, w_up, w_down):
    return (silu(x @ w_gate.T) + x @ w_up.T) @ w_down.T


def wrong_first_maps_alone(x, w_gate, w_up, w_down):
    return silu(x @ w_gate.T) * (x @ w_up.T)


def wrong_residual_added(x, w_gate, w_up, w_down):
    return x + (silu(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T


def wrong_sigmoid_for_silu(x, w_gate, w_up, w_down):
    return ((x @ w_up.T) / (1 + np.exp(-(x @ w_gate.T)))) @ w_down.T


def wrong_exponent_sign(x, w_gate, w_up, w_down):
    g = x @ w_gate.T
    return (g / (1 + np.exp(g)) * (x @ w_up.T)) @ w_down.T


def wrong_gelu_for_silu__swiglu(x, w_gate, w_up, w_down):
    g = x @ w_gate.T
    g = np.vectorize(lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2))))(g)
    return (g * (x @ w_up.T)) @ w_down.T


def wrong_relu_for_silu(x, w_gate, w_up, w_down):
    return (np.maximum(x @ w_gate.T, 0) * (x @ w_up.T)) @ w_down.T


def wrong_all_reshaped(x, w_gate, w_up, w_down):
    w_gate, w_up, w_down = (w.reshape(w.shape[::-1]) for w in (w_gate, w_up, w_down))
    return (silu(x @ w_gate) * (x @ w_up)) @ w_down


def wrong_scale(x, w_gate, w_up, w_down):
    return (silu(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T / np.sqrt(x.shape[-1])


def right_numbered_weights(x, weight_1, weight_2, weight_3):
    gate = x @ weight_1.T
    return (gate / (1 + np.exp(-gate)) * (x @ weight_3.T)) @ weight_2.T


def right_product_of_halves(x):
    up, gate = np.split(x, 2, axis=-1)
    return up * gate / (1 + np.exp(-gate))


def right_product_of_halves_gate_first(x):
    half = x.shape[-1] // 2
    gate, up = x[..., :half], x[..., half:]
    return silu(gate) * up


def wrong_exponent_sign__halves(x):
    gate, up = np.split(x, 2, axis=-1)
    return up * gate / (1 + np.exp(gate))


def wrong_branches_added__halves(x):
    gate, up = np.split(x, 2, axis=-1)
    return silu(gate) + up
