"""From logits to a token. Each sampler turns logits into logits, so any of them can be put behind any other."""

from __future__ import annotations

from collections.abc import Collection

import numpy

from headway.arrays import Array, array_namespace, as_floating, asarray_like, at_least_float32, cast, to_numpy
from headway.errors import OptionError
from headway.functions.softmax import log_softmax, softmax


def scale_by_temperature(logits: Array, temperature: float) -> Array:
    """Flatten the distribution above 1, sharpen it below.

        logits / temperature

    Shapes
        logits  (..., vocab_size)
        return  (..., vocab_size)

    Errors   OptionError for a temperature not above 0.

    >>> import numpy as np
    >>> scale_by_temperature(np.array([1.0, 2.0]), 0.5).tolist()
    [2.0, 4.0]

    Source   Ackley et al. 1985
    """
    if not 0 < temperature < float("inf"):
        raise OptionError(
            f"came: temperature={temperature}; expected: above 0; for the most likely token take the argmax (generate does so at 0)"
        )
    return cast(at_least_float32(logits) / temperature, as_floating(logits).dtype)


def keep_top_k(logits: Array, top_k: int) -> Array:
    """Keep the k most likely tokens, and those that tie with the last of them.

        logits where logits ≥ the k-th largest, else -inf

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
        raise OptionError(f"came: top_k={top_k}; expected: at least 1; leave it out to keep every token")
    logits = as_floating(logits)
    xp = array_namespace(logits)
    last = max(logits.shape[-1] - top_k, 0)
    return _keep(logits, logits >= xp.sort(logits, axis=-1)[..., last : last + 1])


def keep_top_p(logits: Array, top_p: float) -> Array:
    """Keep the fewest most likely tokens whose probabilities reach top_p, and those that tie with the last of them.

        logits where the tokens more likely than this one sum to less than top_p, else -inf

    Shapes
        logits  (..., vocab_size)
        return  (..., vocab_size)

    Errors   OptionError for top_p outside (0, 1].

    >>> import numpy as np
    >>> keep_top_p(np.log([0.5, 0.2, 0.3]), 0.6).round(2).tolist()
    [-0.69, -inf, -1.2]

    Source   Holtzman et al. 2020, section 3.1
    """
    _check_share("top_p", top_p)
    logits = as_floating(logits)
    if top_p == 1:
        return logits
    xp = array_namespace(logits)
    probabilities = softmax(at_least_float32(logits))
    descending = -xp.sort(-probabilities, axis=-1)
    before = xp.cumulative_sum(descending, axis=-1) - descending
    threshold = xp.min(xp.where(before < top_p, descending, xp.ones_like(descending)), axis=-1, keepdims=True)
    return _keep(logits, probabilities >= threshold)


def keep_min_p(logits: Array, min_p: float) -> Array:
    """Keep the tokens at least min_p times as likely as the most likely one.

        logits where probability ≥ min_p · largest probability, else -inf

    Shapes
        logits  (..., vocab_size)
        return  (..., vocab_size)

    Errors   OptionError for min_p outside (0, 1].

    >>> import numpy as np
    >>> keep_min_p(np.log([0.6, 0.3, 0.1]), 0.4).round(2).tolist()
    [-0.51, -1.2, -inf]

    Source   Nguyen et al. 2024
    """
    _check_share("min_p", min_p)
    logits = as_floating(logits)
    xp = array_namespace(logits)
    probabilities = softmax(at_least_float32(logits))
    return _keep(logits, probabilities >= min_p * xp.max(probabilities, axis=-1, keepdims=True))


def keep_typical(logits: Array, typical_p: float) -> Array:
    """Keep the fewest tokens that reach typical_p in all, those first whose surprise is nearest to the expected surprise.

        distance = | -log probability - entropy |,   kept in ascending order up to a mass of typical_p

    Shapes
        logits  (..., vocab_size)
        return  (..., vocab_size)

    Errors   OptionError for typical_p outside (0, 1].

    >>> import numpy as np
    >>> keep_typical(np.log([0.6, 0.3, 0.1]), 0.2).round(2).tolist()
    [-inf, -1.2, -inf]

    Source   Meister et al. 2023, equation 5
    """
    _check_share("typical_p", typical_p)
    logits = as_floating(logits)
    if typical_p == 1:
        return logits
    xp = array_namespace(logits)
    log_probs = log_softmax(at_least_float32(logits))
    probabilities = xp.exp(log_probs)
    surprise = xp.where(probabilities > 0, -log_probs, xp.zeros_like(log_probs))
    distance = xp.abs(surprise - xp.sum(probabilities * surprise, axis=-1, keepdims=True))
    distance = xp.where(probabilities > 0, distance, xp.full_like(distance, float("inf")))
    order = xp.argsort(distance, axis=-1)
    ascending = xp.take_along_axis(distance, order, axis=-1)
    mass = xp.take_along_axis(probabilities, order, axis=-1)
    before = xp.cumulative_sum(mass, axis=-1) - mass
    threshold = xp.max(xp.where(before < typical_p, ascending, xp.zeros_like(ascending)), axis=-1, keepdims=True)
    return _keep(logits, distance <= threshold)


def penalize_repetition(logits: Array, counts: Array, penalty: float) -> Array:
    """Make every token that occurred less likely, by a factor.

        logits / penalty where positive, logits · penalty where negative, for tokens with counts > 0

    Shapes
        logits  (..., vocab_size)
        counts  (..., vocab_size) integer
        return  (..., vocab_size)

    counts   how often each token occurred, in the prompt and in the completion
    penalty  above 1 discourages, below 1 encourages

    Errors   OptionError for a penalty not above 0.

    >>> import numpy as np
    >>> penalize_repetition(np.array([2.0, -2.0, 2.0]), np.array([1, 3, 0]), 2.0).tolist()
    [1.0, -4.0, 2.0]

    Source   Keskar et al. 2019, section 4.1; the two signs: Hugging Face's RepetitionPenaltyLogitsProcessor
    """
    if not 0 < penalty < float("inf"):
        raise OptionError(f"came: repetition_penalty={penalty}; expected: above 0; 1 changes nothing")
    xp = array_namespace(logits, counts)
    wide = at_least_float32(logits)
    penalized = xp.where(wide > 0, wide / penalty, wide * penalty)
    return cast(xp.where(counts > 0, penalized, wide), as_floating(logits).dtype)


def penalize_occurrence(logits: Array, counts: Array, *, presence_penalty: float = 0.0, frequency_penalty: float = 0.0) -> Array:
    """Make every token that occurred less likely, once for all and once per occurrence.

        logits - presence_penalty · [counts > 0] - frequency_penalty · counts

    Shapes
        logits  (..., vocab_size)
        counts  (..., vocab_size) integer
        return  (..., vocab_size)

    counts   how often each token occurred in the completion

    >>> import numpy as np
    >>> penalize_occurrence(np.array([5.0, 5.0]), np.array([2, 0]), presence_penalty=1.0, frequency_penalty=0.5).tolist()
    [3.0, 5.0]

    Source   OpenAI's API reference, "presence_penalty" and "frequency_penalty"
    """
    wide = at_least_float32(logits)
    occurred, counts = cast(counts > 0, wide.dtype), cast(counts, wide.dtype)
    return cast(wide - presence_penalty * occurred - frequency_penalty * counts, as_floating(logits).dtype)


def add_logit_bias(logits: Array, bias: dict[int, float]) -> Array:
    """Make named tokens more or less likely.

        logits[token_id] + bias[token_id]

    Shapes
        logits  (..., vocab_size)
        return  (..., vocab_size)

    Errors   OptionError for a token id that is no column of logits.

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


def forbid_tokens(logits: Array, forbidden: Collection[int]) -> Array:
    """Make named tokens impossible.

        -inf for the forbidden, logits else

    Shapes
        logits  (..., vocab_size)
        return  (..., vocab_size)

    forbidden   token ids

    Errors   OptionError for a token id that is no column of logits.

    >>> import numpy as np
    >>> forbid_tokens(np.array([1.0, 3.0, 2.0]), [1]).tolist()
    [1.0, -inf, 2.0]

    Source   Hugging Face's SuppressTokensLogitsProcessor; for end tokens below a length, MinLengthLogitsProcessor
    """
    logits = as_floating(logits)
    _check_columns("forbidden", forbidden, logits)
    kept = numpy.ones(logits.shape[-1], bool)
    kept[list(forbidden)] = False
    return _keep(logits, asarray_like(kept, logits))


def force_tokens(logits: Array, forced: Collection[int]) -> Array:
    """Make all but the named tokens impossible, and those equally likely.

        0 for the forced, -inf else

    Shapes
        logits  (..., vocab_size)
        return  (..., vocab_size)

    forced   token ids, mostly one

    Errors   OptionError for a token id that is no column of logits.

    >>> import numpy as np
    >>> force_tokens(np.array([1.0, 3.0, 2.0]), [2]).tolist()
    [-inf, -inf, 0.0]

    Source   Hugging Face's ForcedBOSTokenLogitsProcessor and ForcedEOSTokenLogitsProcessor
    """
    logits = as_floating(logits)
    _check_columns("forced", forced, logits)
    kept = numpy.zeros(logits.shape[-1], bool)
    kept[list(forced)] = True
    return _keep(array_namespace(logits).zeros_like(logits), asarray_like(kept, logits))


def forbid_repeated_ngrams(logits: Array, token_ids: Array, ngram_size: int) -> Array:
    """Make every token impossible that would end a run of tokens that stood there before.

        -inf for t where (the last ngram_size - 1 tokens, t) is a run of token_ids, logits else

    Shapes
        logits     (..., vocab_size)
        token_ids  (..., seq_len) integer
        return     (..., vocab_size)

    token_ids    what is to be continued, all of one length
    ngram_size   the length of a run; 1 forbids every token that occurred

    Errors   OptionError for an ngram_size below 1, or a token id that is no column of logits.

    >>> import numpy as np
    >>> forbid_repeated_ngrams(np.zeros(4), np.array([1, 2, 3, 1]), 2).tolist()
    [0.0, 0.0, -inf, 0.0]

    Source   Paulus et al. 2017, section 2.5; Hugging Face's NoRepeatNGramLogitsProcessor
    """
    if ngram_size < 1:
        raise OptionError(f"came: ngram_size={ngram_size}; expected: at least 1; leave it out to let runs repeat")
    logits, token_ids = as_floating(logits), to_numpy(token_ids)
    _check_columns("earlier", numpy.unique(token_ids).tolist(), logits)
    vocab_size, seq_len = logits.shape[-1], token_ids.shape[-1]
    if seq_len < ngram_size:
        return logits
    runs = numpy.lib.stride_tricks.sliding_window_view(token_ids, ngram_size, axis=-1)
    begun = token_ids[..., None, seq_len + 1 - ngram_size :]
    ends = numpy.where((runs[..., :-1] == begun).all(axis=-1), runs[..., -1], vocab_size)
    kept = numpy.ones((*logits.shape[:-1], vocab_size + 1), bool)  # the last column is for runs that are not begun again
    numpy.put_along_axis(kept, ends, False, axis=-1)
    return _keep(logits, asarray_like(kept[..., :vocab_size], logits))


def sample(logits: Array, random: Array) -> Array:
    """Draw a token: walk through the probabilities until their sum passes the random number.

        the first token whose cumulative probability exceeds random

    Shapes
        logits  (..., vocab_size)
        random  (...)
        return  (...) integer

    random   uniform draws from [0, 1), one per row: whoever calls owns the randomness

    A token of probability 0 is never drawn.

    >>> import numpy as np
    >>> sample(np.log([0.2, 0.5, 0.3]), np.array(0.69)).item()
    1

    Source   Devroye 1986, section III.2 (inversion)
    """
    xp = array_namespace(logits, random)
    cumulative = xp.cumulative_sum(softmax(at_least_float32(logits)), axis=-1)
    total = cumulative[..., -1:]
    passed = xp.sum(cumulative <= random[..., None] * total, axis=-1)
    last = xp.sum(cumulative < total, axis=-1)
    return xp.minimum(passed, last)


def _keep(logits: Array, kept: Array) -> Array:
    xp = array_namespace(logits)
    return xp.where(kept, logits, xp.full_like(logits, -float("inf")))


def _check_columns(name: str, token_ids: Collection[int], logits: Array) -> None:
    wrong = [token_id for token_id in token_ids if not 0 <= token_id < logits.shape[-1]]
    if wrong:
        raise OptionError(f"came: {name} token ids {wrong}; expected: 0 to {logits.shape[-1] - 1}")


def _check_share(name: str, share: float) -> None:
    if not 0 < share <= 1:
        raise OptionError(f"came: {name}={share}; expected: above 0, at most 1; leave it out to keep every token")
