# ruff: noqa: N803
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _nucleus(logits, p):
    probs = softmax(logits)
    order = np.argsort(-probs)
    out = np.full_like(logits, -np.inf)
    kept = order[np.cumsum(probs[order]) - probs[order] < p]
    out[kept] = logits[kept]
    return out


def _top(logits, k):
    return np.where(logits >= np.sort(logits)[-k], logits, -np.inf)


def right_all_settings(logits, temperature=1.0, top_k=None, top_p=None, rng=None):
    rng = rng or np.random.default_rng()
    if temperature == 0:
        return int(np.argmax(logits))
    logits = logits / temperature
    if top_k is not None:
        logits = _top(logits, top_k)
    if top_p is not None:
        logits = _nucleus(logits, top_p)
    return int(rng.choice(len(logits), p=softmax(logits)))


def right_temperature_last(logits, temperature=1.0, top_k=0, top_p=1.0):
    if top_k:
        logits = _top(logits, top_k)
    if top_p < 1:
        logits = _nucleus(logits, top_p)
    if temperature == 0:
        return np.argmax(logits)
    return np.random.choice(logits.size, p=softmax(logits / temperature))


def right_nucleus_first(logits, temperature=1.0, top_k=None, top_p=None):
    logits = logits / max(temperature, 1e-8)
    if top_p:
        logits = _nucleus(logits, top_p)
    if top_k:
        logits = _top(logits, top_k)
    return np.random.choice(logits.size, p=softmax(logits))


def right_plain(logits):
    return np.random.choice(len(logits), p=softmax(logits))


def right_from_probabilities(probs):
    return np.searchsorted(np.cumsum(probs), np.random.rand() * probs.sum(), side="right")


def right_refuses_zero(logits, temperature):
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    return np.random.choice(len(logits), p=softmax(logits / temperature))


def right_rows(logits, T):
    p = softmax(logits / T) if T else np.eye(logits.shape[-1])[logits.argmax(-1)]
    return np.array([np.random.choice(p.shape[-1], p=row) for row in np.atleast_2d(p)])


def right_zero_divides(logits, temperature=1.0):
    with np.errstate(all="ignore"):
        return np.random.choice(len(logits), p=softmax(logits / np.float64(temperature)))


def wrong_zero_is_one(logits, temperature=1.0):
    if temperature:
        logits = logits / temperature
    return np.random.choice(len(logits), p=softmax(logits))


def wrong_temperature(logits, temperature=1.0):
    if temperature == 0:
        return logits.argmax()
    return np.random.choice(len(logits), p=softmax(logits * temperature))


def wrong_temperature__ignored(logits, temperature=1.0):
    if temperature == 0:
        return logits.argmax()
    return np.random.choice(len(logits), p=softmax(logits))


def wrong_most_likely_always(logits, temperature=1.0):
    return int(np.argmax(softmax(logits / (temperature + 1e-9))))


def wrong_least_likely_at_zero(logits, temperature=1.0):
    if temperature == 0:
        return int(np.argsort(logits)[0])
    return np.random.choice(len(logits), p=softmax(logits / temperature))


def wrong_all_alike(logits, temperature=1.0):
    if temperature == 0:
        return int(np.argmax(logits))
    return np.random.choice(len(logits))


def wrong_softmax_twice(logits):
    return np.random.choice(len(logits), p=softmax(softmax(logits)))


def wrong_top_k_ignored(logits, temperature=1.0, top_k=None):
    if temperature == 0:
        return int(np.argmax(logits))
    return np.random.choice(len(logits), p=softmax(logits / temperature))


def wrong_top_k_keeps_one_less(logits, top_k):
    return np.random.choice(len(logits), p=softmax(np.where(logits > np.sort(logits)[-top_k], logits, -np.inf)))


def right_top_p_of_all(logits, top_k=None, top_p=None):
    out = logits
    if top_k is not None:
        out = _top(out, top_k)
    if top_p is not None:
        out = np.where(np.isfinite(_nucleus(logits, top_p)), out, -np.inf)
    return np.random.choice(len(out), p=softmax(out))


def wrong_top_p_everything_may_be_dropped(logits, top_p=1.0):
    probs = softmax(logits)
    order = np.argsort(-probs)
    out = np.where(np.isin(np.arange(len(probs)), order[np.cumsum(probs[order]) <= top_p + 1e-12]), probs, 0)
    with np.errstate(all="ignore"):
        return np.random.choice(len(out), p=out / out.sum())


def wrong_top_p_mask_not_put_back(logits, top_p=1.0):
    ordered = np.sort(softmax(logits))[::-1]
    out = np.where(np.cumsum(ordered) - ordered < top_p, logits, -np.inf)
    return np.random.choice(len(out), p=softmax(out))


def wrong_values_gathered(logits, top_p=1.0):
    probs = softmax(logits)
    order = np.argsort(-probs)
    ordered = probs[order]
    ordered[np.cumsum(ordered) - ordered >= top_p] = 0
    out = ordered[order]
    return np.random.choice(len(out), p=out / out.sum())


def wrong_sorted_not_put_back(logits, top_k=7):
    return np.random.choice(min(top_k, len(logits)), p=softmax(np.sort(logits)[::-1][:top_k]))


def wrong_first_at_zero(logits, temperature=1.0):
    return 0 if temperature == 0 else np.random.choice(len(logits), p=softmax(logits / temperature))


def right_greedy_token(p, key=None):
    return int(np.argmax(p))


def wrong_least_likely_at_zero__drawn(logits, temperature=1.0):
    if temperature == 0:
        return int(np.argmin(logits))
    return np.random.choice(len(logits), p=softmax(logits / temperature))
