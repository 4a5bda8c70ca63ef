import numpy as np


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def right_running_sum(logits, p):
    probs = softmax(logits)
    order = np.argsort(-probs, axis=-1)
    ordered = np.take_along_axis(probs, order, axis=-1)
    keep_sorted = np.cumsum(ordered, axis=-1) - ordered < p
    keep = np.zeros_like(keep_sorted)
    np.put_along_axis(keep, order, keep_sorted, axis=-1)
    return np.where(keep, logits, -np.inf)


def right_loop(probs, top_p):
    kept, total = [], 0.0
    for token in sorted(range(len(probs)), key=lambda i: -probs[i]):
        kept.append(token)
        total += probs[token]
        if total >= top_p:
            break
    out = np.zeros(len(probs))
    for token in kept:
        out[token] = probs[token] / total
    return out


def right_search(logits, p):
    probs = softmax(logits)
    order = np.argsort(probs)[::-1]
    cutoff = np.searchsorted(np.cumsum(probs[order]), p) + 1
    out = np.zeros_like(probs)
    out[order[:cutoff]] = probs[order[:cutoff]]
    return out / out.sum()


def right_ids(logits, p):
    probs = softmax(logits)
    order = np.argsort(-probs)
    return order[: int((np.cumsum(probs[order]) < p).sum()) + 1]


def right_draws(logits, p, temperature=1.0):
    probs = softmax(logits / temperature)
    order = np.argsort(-probs)
    cumulative = np.cumsum(probs[order])
    cutoff = int(np.argmax(cumulative >= p)) + 1
    chosen = probs[order[:cutoff]]
    return int(np.random.choice(order[:cutoff], p=chosen / chosen.sum()))


def right_draws_by_walking(logits, p):
    probs = softmax(logits)
    order = np.argsort(-probs)
    kept = order[np.cumsum(probs[order]) - probs[order] < p]
    u = np.random.random() * probs[kept].sum()
    for token in kept:
        u -= probs[token]
        if u < 0:
            return token
    return kept[-1]


def wrong_crossing_token_dropped(logits, p):
    probs = softmax(logits)
    order = np.argsort(-probs, axis=-1)
    ordered = np.take_along_axis(probs, order, axis=-1)
    keep_sorted = np.cumsum(ordered, axis=-1) <= p
    keep_sorted[..., 0] = True
    keep = np.zeros_like(keep_sorted)
    np.put_along_axis(keep, order, keep_sorted, axis=-1)
    return np.where(keep, logits, -np.inf)


def wrong_everything_may_be_dropped(logits, p):
    probs = softmax(logits)
    order = np.argsort(-probs)
    keep = np.zeros(len(probs), bool)
    keep[order] = np.cumsum(probs[order]) <= p
    out = np.where(keep, probs, 0)
    with np.errstate(all="ignore"):
        return out / out.sum()


def wrong_everything_may_be_dropped__logits(logits, p):
    probs = softmax(logits)
    order = np.argsort(-probs)
    out = logits.copy()
    out[order[np.cumsum(probs[order]) > p]] = -np.inf
    return out


def wrong_one_more_kept(logits, p):
    probs = softmax(logits)
    order = np.argsort(-probs)
    cutoff = np.searchsorted(np.cumsum(probs[order]), p) + 2
    out = np.zeros_like(probs)
    out[order[:cutoff]] = probs[order[:cutoff]]
    return out / out.sum()


def wrong_mask_not_put_back(logits, p):
    ordered = np.sort(softmax(logits), axis=-1)[..., ::-1]
    return np.where(np.cumsum(ordered, axis=-1) - ordered < p, logits, -np.inf)


def wrong_sorted_not_put_back(logits, p):
    ordered = np.sort(softmax(logits), axis=-1)[..., ::-1]
    out = np.where(np.cumsum(ordered, axis=-1) - ordered < p, ordered, 0)
    return out / out.sum(-1, keepdims=True)


def wrong_sorted_not_put_back__drawn(logits, p):
    ordered = np.sort(softmax(logits))[::-1]
    kept = ordered[np.cumsum(ordered) - ordered < p]
    return np.random.choice(len(kept), p=kept / kept.sum())


def wrong_mask_gathered(logits, p):
    probs = softmax(logits)
    order = np.argsort(-probs, axis=-1)
    ordered = np.take_along_axis(probs, order, axis=-1)
    chosen = np.take_along_axis(np.cumsum(ordered, axis=-1) - ordered < p, order, axis=-1)
    return np.where(chosen, logits, -np.inf)


def wrong_values_gathered(logits, p):
    probs = softmax(logits)
    order = np.argsort(-probs, axis=-1)
    ordered = np.take_along_axis(probs, order, axis=-1)
    ordered = np.where(np.cumsum(ordered, axis=-1) - ordered < p, ordered, 0)
    return np.take_along_axis(ordered / ordered.sum(-1, keepdims=True), order, axis=-1)


def wrong_least_likely_kept(logits, p):
    probs = softmax(logits)
    order = np.argsort(probs)
    keep = np.zeros(len(probs), bool)
    keep[order] = np.cumsum(probs[order]) - probs[order] < p
    return np.where(keep, logits, -np.inf)


def wrong_not_sorted(logits, p):
    probs = softmax(logits)
    return np.where(np.cumsum(probs, axis=-1) - probs < p, logits, -np.inf)


def wrong_sums_logits(logits, p):
    order = np.argsort(-logits)
    keep = np.zeros(len(logits), bool)
    keep[order] = np.concatenate([[0], np.cumsum(logits[order])[:-1]]) < p
    return np.where(keep, logits, -np.inf)


def wrong_compares_single_probabilities(logits, p):
    return np.where(softmax(logits) >= p, logits, -np.inf)


def wrong_share_of_the_largest(logits, p):
    probs = softmax(logits)
    return np.where(probs >= p * probs.max(-1, keepdims=True), logits, -np.inf)


def wrong_one_minus_p(logits, p):
    probs = softmax(logits)
    order = np.argsort(-probs)
    keep = np.zeros(len(probs), bool)
    keep[order] = np.cumsum(probs[order]) - probs[order] < 1 - p
    return np.where(keep, logits, -np.inf)


def wrong_nucleus_dropped(logits, p):
    probs = softmax(logits)
    order = np.argsort(-probs)
    out = logits.copy()
    out[order[np.cumsum(probs[order]) - probs[order] < p]] = -np.inf
    return out


def wrong_nothing_dropped(logits, p):
    return softmax(logits)


def wrong_hidden_logit_is_zero(logits, p):
    return np.where(np.isfinite(right_running_sum(logits, p)), logits, 0)


def wrong_softmax_over_kept_probabilities(logits, p):
    return softmax(np.where(np.isfinite(right_running_sum(logits, p)), softmax(logits), -np.inf))


def wrong_mass_of_the_whole_batch(logits, p):
    probs = softmax(logits)
    order = np.argsort(-probs, axis=-1)
    ordered = np.take_along_axis(probs, order, axis=-1)
    total = np.cumsum(ordered).reshape(probs.shape)
    keep_sorted = np.concatenate([np.zeros_like(total[..., :1]), total[..., :-1]], -1) < p
    keep = np.zeros_like(keep_sorted)
    np.put_along_axis(keep, order, keep_sorted, axis=-1)
    return np.where(keep, logits, -np.inf)
