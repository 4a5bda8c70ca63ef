"""A mixture of experts: several feed-forward networks, of which each token uses a few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway import functions
from headway.arrays import ArrayT, Operations, array_namespace, as_floating, at_least_float32, cast
from headway.errors import OptionError
from headway.functions.activations import silu
from headway.functions.feed_forward import GatedFeedForwardWeights
from headway.functions.linear import LinearWeights, Matrix
from headway.functions.softmax import softmax


@dataclass(frozen=True)
class MixtureOfExpertsWeights:
    """Weights of a mixture of experts.

    Shapes
        router   LinearWeights(out_features=num_experts, in_features=hidden_size)
        experts  num_experts * GatedFeedForwardWeights
    """

    router: LinearWeights
    experts: tuple[GatedFeedForwardWeights, ...]


def route_top_k(x: ArrayT, router: LinearWeights, *, top_k: int, is_normalized: bool = True, ops: Operations = functions) -> ArrayT:
    """Share of each expert in each token: the probabilities of the top_k most likely experts, and 0 for the others.

        p = softmax(x @ routerᵀ)
        p where p is among the top_k largest, else 0;   divided by their sum if is_normalized

    Shapes
        x       (..., hidden_size)
        router  LinearWeights(out_features=num_experts, in_features=hidden_size)
        return  (..., num_experts)

    top_k          number of experts per token
    is_normalized  True (default) to let the shares of a token add up to 1
    ops            namespace with the function linear; headway.functions by default

    Of equal probabilities, the first are chosen. float16 and bfloat16 are computed in float32.
    Normalized shares are also the softmax of the top_k largest scores, as gpt-oss computes them.

    Errors   OptionError for a top_k outside 1 … num_experts.

    >>> import numpy as np
    >>> route_top_k(np.array([1.0]), LinearWeights(np.array([[0.0], [0.0], [-9.0]])), top_k=2).tolist()
    [0.5, 0.5, 0.0]

    Source   Shazeer et al. 2017, section 2.1; Jiang et al. 2024 (Mixtral), section 2.1
    """
    num_experts = router.weight.shape[0]
    if not 1 <= top_k <= num_experts:
        raise OptionError(f"got top_k={top_k}, expected 1 to {num_experts}, the number of experts")
    xp = array_namespace(x)
    weight = router.weight if isinstance(router.weight, Matrix) else at_least_float32(router.weight)
    bias = None if router.bias is None else at_least_float32(router.bias)
    probabilities = softmax(ops.linear(at_least_float32(x), weight, bias))
    ranks = xp.argsort(xp.argsort(-probabilities, axis=-1), axis=-1)
    shares = xp.where(ranks < top_k, probabilities, xp.zeros_like(probabilities))
    shares = shares / xp.sum(shares, axis=-1, keepdims=True) if is_normalized else shares
    return cast(shares, as_floating(x).dtype)


def mixture_of_experts(
    x: ArrayT,
    weights: MixtureOfExpertsWeights,
    *,
    top_k: int,
    is_normalized: bool = True,
    activation: Callable[[ArrayT], ArrayT] = silu,
    combine: Callable[[ArrayT, ArrayT], ArrayT] | None = None,
    ops: Operations = functions,
) -> ArrayT:
    """Mixture of experts: the sum of the experts' outputs, weighted by their shares in the token.

        Σ share[expert] · gated_feed_forward(x, expert),   share = route_top_k(x, router)

    Shapes
        x        (..., hidden_size)
        weights  MixtureOfExpertsWeights
        return   (..., hidden_size)

    top_k, is_normalized   as in route_top_k
    activation, combine    as in gated_feed_forward; silu and None by default
    ops                    namespace with the functions to call; headway.functions by default

    This definition computes every expert for every token; an expert with a share of 0 contributes nothing.

    Errors   OptionError for a top_k outside 1 … num_experts.

    Source   Shazeer et al. 2017, equation 1; Jiang et al. 2024 (Mixtral), section 2.1
    """
    shares = at_least_float32(ops.route_top_k(x, weights.router, top_k=top_k, is_normalized=is_normalized, ops=ops))
    outputs = [ops.gated_feed_forward(x, expert, activation=activation, combine=combine, ops=ops) for expert in weights.experts]
    mixed = sum(shares[..., index : index + 1] * at_least_float32(output) for index, output in enumerate(outputs))
    return cast(mixed, as_floating(x).dtype)
