import random

import numpy as np


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def right_threshold(logits, k):
    kth = np.sort(logits, axis=-1)[..., -k, None]
    return np.where(logits < kth, -np.inf, logits)


def right_never_more_than_there_are(logits, top_k):
    k = min(top_k, logits.shape[-1])
    kth = np.partition(logits, -k, axis=-1)[..., -k][..., None]
    return np.where(logits >= kth, logits, -1e10)


def right_probabilities(probs, k):
    order = np.argsort(-probs)[:k]
    out = np.zeros_like(probs)
    out[order] = probs[order] / probs[order].sum()
    return out


def right_not_normalised(probs, k):
    out = probs.copy()
    out[np.argsort(probs)[:-k]] = 0
    return out


def right_values_and_ids(logits, k):
    ids = np.argsort(logits)[::-1][:k]
    return logits[ids], ids


def right_ids(logits, k):
    return np.argsort(-logits)[:k]


def right_mask(logits, k):
    return logits >= np.sort(logits)[-k]


def right_lists(logits, k):
    kth = sorted(logits, reverse=True)[:k][-1]
    return [x if x >= kth else float("-inf") for x in logits]


def right_draws(logits, k, temperature=1.0):
    logits = logits / temperature
    ids = np.argsort(logits)[-k:]
    return ids[np.random.choice(len(ids), p=softmax(logits[ids]))]


def right_draws_from_all(logits, k):
    kth = np.sort(logits)[-k]
    return random.choices(range(len(logits)), weights=softmax(np.where(logits < kth, -np.inf, logits)))[0]


def wrong_keeps_one_more(logits, k):
    kth = np.sort(logits, axis=-1)[..., -k - 1 if k < logits.shape[-1] else 0, None]
    return np.where(logits >= kth, logits, -np.inf)


def wrong_keeps_one_less(logits, k):
    kth = np.sort(logits, axis=-1)[..., -k, None]
    return np.where(logits > kth, logits, -np.inf)


def wrong_keeps_the_least_likely(logits, k):
    out = np.full_like(logits, -np.inf)
    ids = np.argsort(logits)[:k]
    out[ids] = logits[ids]
    return out


def wrong_drops_the_most_likely(logits, k):
    out = logits.copy()
    out[np.argsort(logits)[-k:]] = -np.inf
    return out


def wrong_nothing_dropped(logits, k):
    return logits


def wrong_hidden_logit_is_zero(logits, k):
    kth = np.sort(logits, axis=-1)[..., -k, None]
    return np.where(logits < kth, 0, logits)


def wrong_sorted_not_put_back(logits, k):
    ordered = np.sort(logits)[::-1].copy()
    ordered[k:] = -np.inf
    return ordered


def wrong_sorted_not_put_back__drawn(logits, k):
    top = np.sort(logits)[::-1][:k]
    return np.random.choice(len(top), p=softmax(top))


def wrong_mask_not_put_back(logits, k):
    return np.where(np.arange(len(logits)) < k, logits, -np.inf)


def wrong_values_only(logits, k):
    return softmax(np.sort(logits, axis=-1)[..., ::-1][..., :k])


def wrong_threshold_of_the_batch(logits, k):
    kth = np.sort(logits, axis=None)[-k] if k <= logits.size else -np.inf
    return np.where(logits < kth, -np.inf, logits)


def wrong_threshold_of_the_first_row(logits, k):
    rows = np.atleast_2d(logits)
    return np.where(logits < np.sort(rows)[0, -k], -np.inf, logits)


def wrong_along_first_axis(logits, k):
    return np.where(logits < np.sort(logits, axis=0)[-k], -np.inf, logits)
