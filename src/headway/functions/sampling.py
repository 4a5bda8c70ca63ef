"""Sampling: functions that modify logits, which can be chained in any order, and the random choice of a token."""

from __future__ import annotations

from collections.abc import Collection

import numpy

from headway.arrays import ArrayT, array_namespace, as_floating, asarray_like, at_least_float32, cast, is_torch, to_numpy
from headway.errors import OptionError
from headway.functions.softmax import log_softmax, softmax


def scale_by_temperature(logits: ArrayT, temperature: float) -> ArrayT:
    """Temperature scaling: above 1 flattens the distribution, below 1 sharpens it.

        logits / temperature

    Shapes
        logits  (..., vocab_size)
        return  (..., vocab_size)

    Errors   OptionError for a temperature that is not above 0 or not finite.

    >>> import numpy as np
    >>> scale_by_temperature(np.array([1.0, 2.0]), 0.5).tolist()
    [2.0, 4.0]

    Source   Ackley et al. 1985
    """
    if not 0 < temperature < float("inf"):
        raise OptionError(
            f"got temperature={temperature}, expected above 0",
            hint="for greedy decoding use the argmax, as generate does for temperature=0",
        )
    return cast(at_least_float32(logits) / temperature, as_floating(logits).dtype)


def keep_top_k(logits: ArrayT, top_k: int) -> ArrayT:
    """Top-k: keep the k most likely tokens, and any others that are as likely as the k-th.

        where(logits ≥ k-th largest logit, logits, -inf)

    Shapes
        logits  (..., vocab_size)
        return  (..., vocab_size)

    Errors   OptionError for top_k below 1.

    >>> import numpy as np
    >>> keep_top_k(np.array([1.0, 3.0, 2.0]), 2).tolist()
    [-inf, 3.0, 2.0]

    Source   Fan et al. 2018
    """
    if top_k < 1:
        raise OptionError(f"got top_k={top_k}, expected at least 1", hint="leave top_k out to keep every token")
    logits = as_floating(logits)
    xp = array_namespace(logits)
    last = max(logits.shape[-1] - top_k, 0)
    return _keep(logits, logits >= xp.sort(logits, axis=-1)[..., last : last + 1])


def keep_top_p(logits: ArrayT, top_p: float) -> ArrayT:
    """Top-p (nucleus): keep the smallest set of most likely tokens whose probabilities sum to at least top_p.

        where(Σ probability of all tokens that are not more likely > 1 - top_p, logits, -inf)

    Shapes
        logits  (..., vocab_size)
        return  (..., vocab_size)

    Tokens with the same probability as the least likely kept token are kept too. The most likely token is always kept.

    The sum starts at the least likely token, because a sum that starts at the most likely one loses small probabilities to
    rounding. For one float32 distribution over 151,936 tokens and top_p=0.999, that kept 109,852 tokens instead of 109,082.

    Errors   OptionError for top_p outside (0, 1].

    >>> import numpy as np
    >>> keep_top_p(np.log([0.5, 0.2, 0.3]), 0.6).round(2).tolist()
    [-0.69, -inf, -1.2]

    Source   Holtzman et al. 2020, section 3.1
    """
    _check_probability("top_p", top_p)
    logits = as_floating(logits)
    if top_p == 1:
        return logits
    xp = array_namespace(logits)
    probabilities = softmax(at_least_float32(logits))
    ascending = xp.sort(probabilities, axis=-1)
    mass = _cumulative_sum(ascending)
    is_kept = mass > (1 - top_p) * mass[..., -1:]
    threshold = xp.min(xp.where(is_kept, ascending, ascending[..., -1:]), axis=-1, keepdims=True)
    return _keep(logits, probabilities >= threshold)


def keep_min_p(logits: ArrayT, min_p: float) -> ArrayT:
    """Min-p: keep the tokens that are at least min_p times as likely as the most likely token.

        where(probability ≥ min_p · largest probability, logits, -inf)

    Shapes
        logits  (..., vocab_size)
        return  (..., vocab_size)

    Errors   OptionError for min_p outside (0, 1].

    >>> import numpy as np
    >>> keep_min_p(np.log([0.6, 0.3, 0.1]), 0.4).round(2).tolist()
    [-0.51, -1.2, -inf]

    Source   Nguyen et al. 2024
    """
    _check_probability("min_p", min_p)
    logits = as_floating(logits)
    xp = array_namespace(logits)
    probabilities = softmax(at_least_float32(logits))
    return _keep(logits, probabilities >= min_p * xp.max(probabilities, axis=-1, keepdims=True))


def keep_typical(logits: ArrayT, typical_p: float) -> ArrayT:
    """Locally typical sampling: keep the tokens whose information content is closest to the entropy, up to a mass of typical_p.

        distance = | -log probability - entropy |
        where(Σ probability of all tokens that are not closer > 1 - typical_p, logits, -inf)

    Shapes
        logits  (..., vocab_size)
        return  (..., vocab_size)

    Tokens at the same distance as the farthest kept token are kept too.

    Errors   OptionError for typical_p outside (0, 1].

    >>> import numpy as np
    >>> keep_typical(np.log([0.6, 0.3, 0.1]), 0.2).round(2).tolist()
    [-inf, -1.2, -inf]

    Source   Meister et al. 2023, equation 5
    """
    _check_probability("typical_p", typical_p)
    logits = as_floating(logits)
    if typical_p == 1:
        return logits
    xp = array_namespace(logits)
    log_probs = log_softmax(at_least_float32(logits))
    probabilities = xp.exp(log_probs)
    information = xp.where(probabilities > 0, -log_probs, xp.zeros_like(log_probs))
    distance = xp.abs(information - xp.sum(probabilities * information, axis=-1, keepdims=True))
    distance = xp.where(probabilities > 0, distance, xp.full_like(distance, float("inf")))
    farthest_first = xp.argsort(-distance, axis=-1)
    descending = xp.take_along_axis(distance, farthest_first, axis=-1)
    mass = _cumulative_sum(xp.take_along_axis(probabilities, farthest_first, axis=-1))
    is_kept = mass > (1 - typical_p) * mass[..., -1:]
    threshold = xp.max(xp.where(is_kept, descending, descending[..., -1:]), axis=-1, keepdims=True)
    return _keep(logits, distance <= threshold)


def penalize_repetition(logits: ArrayT, counts: ArrayT, penalty: float) -> ArrayT:
    """Repetition penalty: divide the positive logits and multiply the negative logits of tokens that have occurred.

        where(logits > 0, logits / penalty, logits · penalty)        for tokens with counts > 0

    Shapes
        logits  (..., vocab_size)
        counts  (..., vocab_size) integer
        return  (..., vocab_size)

    counts   number of occurrences of each token in the prompt and the completion
    penalty  above 1 makes repetition less likely, below 1 more likely

    Errors   OptionError for a penalty that is not above 0 or not finite.

    >>> import numpy as np
    >>> penalize_repetition(np.array([2.0, -2.0, 2.0]), np.array([1, 3, 0]), 2.0).tolist()
    [1.0, -4.0, 2.0]

    Source   Keskar et al. 2019, section 4.1; negative logits: Hugging Face's RepetitionPenaltyLogitsProcessor
    """
    if not 0 < penalty < float("inf"):
        raise OptionError(f"got repetition_penalty={penalty}, expected above 0", hint="1 turns the penalty off")
    xp = array_namespace(logits, counts)
    upcast = at_least_float32(logits)
    penalized = xp.where(upcast > 0, upcast / penalty, upcast * penalty)
    return cast(xp.where(counts > 0, penalized, upcast), as_floating(logits).dtype)


def penalize_occurrence(logits: ArrayT, counts: ArrayT, *, presence_penalty: float = 0.0, frequency_penalty: float = 0.0) -> ArrayT:
    """Presence and frequency penalties: lower the logits of tokens that have occurred, once and per occurrence.

        logits - presence_penalty · [counts > 0] - frequency_penalty · counts

    Shapes
        logits  (..., vocab_size)
        counts  (..., vocab_size) integer
        return  (..., vocab_size)

    counts             number of occurrences of each token in the completion
    presence_penalty   subtracted once if a token has occurred; 0 by default
    frequency_penalty  subtracted for each occurrence; 0 by default

    >>> import numpy as np
    >>> penalize_occurrence(np.array([5.0, 5.0]), np.array([2, 0]), presence_penalty=1.0, frequency_penalty=0.5).tolist()
    [3.0, 5.0]

    Source   OpenAI's API reference, "presence_penalty" and "frequency_penalty"
    """
    upcast = at_least_float32(logits)
    occurred, counts = cast(counts > 0, upcast.dtype), cast(counts, upcast.dtype)
    return cast(upcast - presence_penalty * occurred - frequency_penalty * counts, as_floating(logits).dtype)


def add_logit_bias(logits: ArrayT, bias: dict[int, float]) -> ArrayT:
    """Logit bias: add a number to the logits of some tokens.

        logits[..., token_id] + bias[token_id]

    Shapes
        logits  (..., vocab_size)
        return  (..., vocab_size)

    Errors   OptionError for a token id outside 0 … vocab_size - 1.

    >>> import numpy as np
    >>> add_logit_bias(np.array([1.0, 1.0]), {1: -100.0}).tolist()
    [1.0, -99.0]

    Source   OpenAI's API reference, "logit_bias"
    """
    logits = as_floating(logits)
    _check_columns("logit_bias for", bias, logits)
    row = [0.0] * logits.shape[-1]
    for token_id, value in bias.items():
        row[token_id] = value
    return logits + cast(asarray_like(row, logits), logits.dtype)


def forbid_tokens(logits: ArrayT, forbidden: Collection[int]) -> ArrayT:
    """Set the logits of some tokens to -inf.

        where(token in forbidden, -inf, logits)

    Shapes
        logits  (..., vocab_size)
        return  (..., vocab_size)

    forbidden   token ids

    Errors   OptionError for a token id outside 0 … vocab_size - 1.

    >>> import numpy as np
    >>> forbid_tokens(np.array([1.0, 3.0, 2.0]), [1]).tolist()
    [1.0, -inf, 2.0]

    Source   Hugging Face's SuppressTokensLogitsProcessor, and MinLengthLogitsProcessor for end tokens
    """
    logits = as_floating(logits)
    _check_columns("forbidden", forbidden, logits)
    is_kept = numpy.ones(logits.shape[-1], bool)
    is_kept[list(forbidden)] = False
    return _keep(logits, asarray_like(is_kept, logits))


def force_tokens(logits: ArrayT, forced: Collection[int]) -> ArrayT:
    """Allow only some tokens, all equally likely.

        where(token in forced, 0, -inf)

    Shapes
        logits  (..., vocab_size)
        return  (..., vocab_size)

    forced   token ids, usually one

    Errors   OptionError for a token id outside 0 … vocab_size - 1.

    >>> import numpy as np
    >>> force_tokens(np.array([1.0, 3.0, 2.0]), [2]).tolist()
    [-inf, -inf, 0.0]

    Source   Hugging Face's ForcedBOSTokenLogitsProcessor and ForcedEOSTokenLogitsProcessor
    """
    logits = as_floating(logits)
    _check_columns("forced", forced, logits)
    is_kept = numpy.zeros(logits.shape[-1], bool)
    is_kept[list(forced)] = True
    return _keep(array_namespace(logits).zeros_like(logits), asarray_like(is_kept, logits))


def forbid_repeated_ngrams(logits: ArrayT, token_ids: ArrayT, ngram_size: int) -> ArrayT:
    """Forbid repeated n-grams: set the logit of a token to -inf if it would complete an n-gram that has already occurred.

        where((last ngram_size - 1 tokens, token) in n-grams of token_ids, -inf, logits)

    Shapes
        logits     (..., vocab_size)
        token_ids  (..., seq_len) integer
        return     (..., vocab_size)

    token_ids    tokens so far, one row per row of logits
    ngram_size   n; 1 forbids every token that has occurred

    Errors   OptionError for an ngram_size below 1, or a token id outside 0 … vocab_size - 1.

    >>> import numpy as np
    >>> forbid_repeated_ngrams(np.zeros(4), np.array([1, 2, 3, 1]), 2).tolist()
    [0.0, 0.0, -inf, 0.0]

    Source   Paulus et al. 2017, section 2.5; Hugging Face's NoRepeatNGramLogitsProcessor
    """
    if ngram_size < 1:
        raise OptionError(f"got ngram_size={ngram_size}, expected at least 1", hint="leave it out to allow repetition")
    logits, ids = as_floating(logits), to_numpy(token_ids)
    _check_columns("earlier", numpy.unique(ids).tolist(), logits)
    vocab_size, seq_len = logits.shape[-1], ids.shape[-1]
    if seq_len < ngram_size:
        return logits
    ngrams = numpy.lib.stride_tricks.sliding_window_view(ids, ngram_size, axis=-1)
    prefix = ids[..., None, seq_len + 1 - ngram_size :]
    forbidden = numpy.where((ngrams[..., :-1] == prefix).all(axis=-1), ngrams[..., -1], vocab_size)
    is_kept = numpy.ones((*logits.shape[:-1], vocab_size + 1), bool)  # the last column collects the n-grams with another prefix
    numpy.put_along_axis(is_kept, forbidden, False, axis=-1)
    return _keep(logits, asarray_like(is_kept[..., :vocab_size], logits))


def sample(logits: ArrayT, random: ArrayT) -> ArrayT:
    """Sample a token by inverting the cumulative distribution.

        first token with cumulative probability > random

    Shapes
        logits  (..., vocab_size)
        random  (...)
        return  (...) integer

    random   uniform random numbers from [0, 1), one per row; the caller draws them

    A token with probability 0 is never returned.

    >>> import numpy as np
    >>> sample(np.log([0.2, 0.5, 0.3]), np.array(0.69)).item()
    1

    Source   Devroye 1986, section III.2 (inversion)
    """
    xp = array_namespace(logits, random)
    cumulative = xp.cumulative_sum(softmax(at_least_float32(logits)), axis=-1)
    total = cumulative[..., -1:]
    index = xp.sum(cumulative <= random[..., None] * total, axis=-1)
    last = xp.sum(cumulative < total, axis=-1)
    return xp.minimum(index, last)


def _cumulative_sum(x: ArrayT) -> ArrayT:
    """Cumulative sum over the last axis, in float64 for NumPy and PyTorch.

    For JAX, MLX and PyTorch's MPS device, which lack float64 or disable it, the sum is in the dtype of x. To lose little to
    rounding there, callers order x so that the sum starts at the small values.
    """
    xp = array_namespace(x)
    has_float64 = x.device.type != "mps" if is_torch(x) else isinstance(x, numpy.ndarray)  # type: ignore[attr-defined]
    return xp.cumulative_sum(cast(x, xp.float64) if has_float64 else x, axis=-1)


def _keep(logits: ArrayT, is_kept: ArrayT) -> ArrayT:
    xp = array_namespace(logits)
    return xp.where(is_kept, logits, xp.full_like(logits, -float("inf")))


def _check_columns(name: str, token_ids: Collection[int], logits: ArrayT) -> None:
    wrong = [token_id for token_id in token_ids if not 0 <= token_id < logits.shape[-1]]
    if wrong:
        raise OptionError(f"got {name} token ids {wrong}, expected 0 to {logits.shape[-1] - 1}")


def _check_probability(name: str, probability: float) -> None:
    if not 0 < probability <= 1:
        raise OptionError(f"got {name}={probability}, expected above 0 and at most 1", hint=f"leave {name} out to keep every token")
