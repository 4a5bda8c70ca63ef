import math

import numpy as np


def log_softmax(x, axis=-1):
    x = x - x.max(axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def right_rows(logits, targets):
    return -log_softmax(logits)[np.arange(len(targets)), targets].mean()


def right_logsumexp(inputs, targets):
    m = inputs.max(-1, keepdims=True)
    lse = m[..., 0] + np.log(np.exp(inputs - m).sum(-1))
    return np.mean(lse - np.take_along_axis(inputs, targets[..., None], -1)[..., 0])


def right_any_leading(logits, targets, ignore_index=-100):
    logits, targets = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    keep = targets != ignore_index
    logits, targets = logits[keep], targets[keep]
    return -log_softmax(logits)[np.arange(len(targets)), targets].mean()


def right_one_hot(logits, y):
    return -(y * log_softmax(logits)).sum(-1).mean()


def right_probabilities(predicted_probs, true_labels, epsilon=1e-15):
    predicted_probs = np.clip(predicted_probs, epsilon, 1 - epsilon)
    return float(-np.mean(np.sum(true_labels * np.log(predicted_probs), axis=1)))


def right_probabilities_with_floor(y_pred, y_true):
    return -np.mean(np.log(y_pred[range(len(y_true)), y_true] + 1e-9))


def right_guarded(logits, targets):
    return -np.log(softmax(logits)[np.arange(len(targets)), targets] + 1e-12).mean()


def right_clipped(logits, targets):
    return -np.log(np.clip(softmax(logits), 1e-9, 1 - 1e-9)[np.arange(len(targets)), targets]).mean()


def right_cs231n(x, y):
    n = x.shape[0]
    shifted = x - x.max(axis=1, keepdims=True)
    log_probs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    loss = -np.sum(log_probs[np.arange(n), y]) / n
    dx = np.exp(log_probs)
    dx[np.arange(n), y] -= 1
    return loss, dx / n


def right_loop(logits, targets):
    total = 0.0
    for row, target in zip(logits, targets):
        m = max(row)
        total += m + math.log(sum(math.exp(v - m) for v in row)) - row[target]
    return total / len(logits)


def right_rounded(logits, targets):
    return round(float(right_rows(logits, targets)), 4)


def right_logarithm_of_softmax(logits, targets):
    return -np.log(softmax(logits)[np.arange(len(targets)), targets]).mean()


def wrong_no_shift(logits, targets):
    return np.mean(np.log(np.exp(logits).sum(-1)) - logits[np.arange(len(targets)), targets])


def wrong_no_shift_in_softmax(logits, targets):
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    return -np.log(p[np.arange(len(targets)), targets]).mean()


def wrong_logits_taken_for_probabilities(logits, targets):
    return -np.log(logits[np.arange(len(targets)), targets]).mean()


def wrong_logarithm_missing(logits, targets):
    return -softmax(logits)[np.arange(len(targets)), targets].mean()


def wrong_softmax_missing(logits, targets):
    return -logits[np.arange(len(targets)), targets].mean()


def wrong_softmax_twice(logits, targets):
    return -log_softmax(softmax(logits))[np.arange(len(targets)), targets].mean()


def wrong_softmax_over_rows(logits, targets):
    return -log_softmax(logits, 0)[np.arange(len(targets)), targets].mean()


def wrong_softmax_over_everything(logits, targets):
    x = logits - logits.max()
    x = x - np.log(np.exp(x).sum())
    return -x[np.arange(len(targets)), targets].mean()


def wrong_sign_missing(logits, targets):
    return log_softmax(logits)[np.arange(len(targets)), targets].mean()


def wrong_summed(logits, targets):
    return -log_softmax(logits)[np.arange(len(targets)), targets].sum()


def wrong_averaged_over_classes(logits, y):
    return -np.mean(y * log_softmax(logits))


def wrong_averaged_over_batch_alone(logits, targets):
    picked = np.take_along_axis(log_softmax(logits), targets[..., None], -1)
    return -picked.sum() / logits.shape[0]


def wrong_not_averaged(logits, targets):
    return -log_softmax(logits)[np.arange(len(targets)), targets]


def wrong_perplexity_returned(logits, targets):
    return np.exp(right_rows(logits, targets))


def wrong_every_row_with_every_target(logits, targets):
    return -log_softmax(logits)[:, targets].mean()


def wrong_rows_of_targets(logits, targets):
    return -log_softmax(logits)[targets].mean()


def wrong_targets_counted_from_one(logits, targets):
    return -log_softmax(logits)[np.arange(len(targets)), targets - 1].mean()


def wrong_largest_for_target(logits, targets):
    return -log_softmax(logits).max(-1).mean()


def wrong_all_classes_averaged(logits, targets):
    return -log_softmax(logits).mean()


def wrong_entropy_returned(logits, targets):
    p = softmax(logits)
    return -(p * log_softmax(logits)).sum(-1).mean()


def wrong_binary_cross_entropy(logits, y):
    lp = log_softmax(logits)
    return -np.mean(y * lp + (1 - y) * np.log1p(-np.exp(lp)))


def wrong_binary_cross_entropy_summed(logits, y):
    lp = log_softmax(logits)
    return -np.mean(np.sum(y * lp + (1 - y) * np.log1p(-np.exp(lp)), axis=-1))


def wrong_squared_error(logits, y):
    return ((softmax(logits) - y) ** 2).mean()


def wrong_shifted_inside(logits, targets):
    lp = log_softmax(logits)[..., :-1, :]
    return -np.take_along_axis(lp, targets[..., 1:, None], -1).mean()


def wrong_ignored_averaged_in(logits, targets, ignore_index=-100):
    logits, targets = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    keep = targets != ignore_index
    picked = log_softmax(logits)[np.arange(len(targets)), np.where(keep, targets, 0)]
    return -(picked * keep).mean()


def wrong_ignored_counted(logits, targets, ignore_index=-100):
    logits, targets = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return -log_softmax(logits)[np.arange(len(targets)), targets].mean()


def wrong_unit(logits, targets):
    return right_rows(logits, targets) / math.log(2)


def wrong_floor(logits, targets):
    return -np.log(softmax(logits)[np.arange(len(targets)), targets] + 1e-4).mean()


def wrong_clipped_at(logits, targets):
    p = np.clip(softmax(logits), 1e-4, 1)
    return -np.log(p[np.arange(len(targets)), targets]).mean()


def wrong_summed__probabilities(y_pred, y_true):
    return -np.sum(np.log(y_pred[np.arange(len(y_true)), y_true]))


def wrong_changes_inputs(logits, targets):
    logits -= logits.max(-1, keepdims=True)
    return right_rows(logits, targets)


def right_guarded_sum(logits, targets, eps=1e-8):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_probs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True) + eps)
    return -np.take_along_axis(log_probs, targets[..., None], axis=-1).mean()


def right_guarded_in_batches(logits, targets):
    """Take logits (batch, seq, vocab)."""
    batch, length = targets.shape
    p = softmax(logits)[np.arange(batch)[:, None], np.arange(length), targets]
    return -np.log(p + 1e-11).mean()


def right_y_of_t(y, t):
    """Take probabilities of rows, and targets as classes or one-hot."""
    y, t = np.atleast_2d(y), np.atleast_2d(t) if y.ndim == 1 else t
    classes = t.argmax(axis=1) if t.size == y.size else t.reshape(-1)
    return -np.log(y[np.arange(len(y)), classes] + 1e-7).sum() / len(y)


class Right_sum_and_count:
    def __init__(self, pad_index=0):
        self.pad_index = pad_index

    def loss(self, logits, targets):
        is_real = targets != self.pad_index
        shifted = logits - logits.max(axis=-1, keepdims=True)
        log_probs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
        picked = np.take_along_axis(log_probs, np.where(is_real, targets, 0)[..., None], axis=-1)[..., 0]
        return -(picked * is_real).sum(), is_real.sum()


def right_shifts_its_inputs(inputs, logits):
    ahead = logits[:, :-1] - logits[:, :-1].max(axis=-1, keepdims=True)
    log_probs = ahead - np.log(np.exp(ahead).sum(axis=-1, keepdims=True))
    return -np.take_along_axis(log_probs, inputs[:, 1:, None], axis=-1).mean()


class Right_sum_with_its_gradient:
    def forward(self, prediction_tensor, label_tensor):
        self.kept = prediction_tensor
        return -(label_tensor * np.log(prediction_tensor + np.finfo(float).eps)).sum()

    def backward(self, label_tensor):
        return -label_tensor / self.kept


class Wrong_summed:
    def forward(self, prediction_tensor, label_tensor):
        self.kept, self.count = prediction_tensor, len(label_tensor)
        return -(label_tensor * np.log(prediction_tensor)).sum()

    def backward(self, label_tensor):
        return -label_tensor / self.kept / self.count


def right_one_hot_rows(y_pred, y_true):
    return -np.sum(y_true * np.log(y_pred + 1e-12)) / y_pred.shape[0]


def wrong_summed__one_hot_rows(y_pred, y_true):
    return -np.sum(y_true * np.log(y_pred + 1e-12))


class right_attribute_named_like_a_method:
    loss = 0.0
    attention = None

    def forward(self, logits, targets):
        shifted = logits - logits.max(-1, keepdims=True)
        log_probs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
        self.loss = -log_probs[np.arange(len(targets)), targets].mean()
        return self.loss


def right_with_integer_labels(logits, labels):
    """Return the loss per example, as optax does."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_probs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return -np.take_along_axis(log_probs, labels[..., None], axis=-1)[..., 0]


def wrong_not_averaged__although_the_text_speaks_of_it(logits, labels):
    """Return the mean of the losses per example."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_probs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return -np.take_along_axis(log_probs, labels[..., None], axis=-1)[..., 0]


def right_one_prediction(probs, target):
    return -np.log(np.clip(probs[target], 1e-10, 1.0))


def wrong_sign_missing__one_prediction(probs, target):
    return np.log(probs[target])


def right_guard_next_to_a_gradient(logits, targets, smoothing=0.1, ignore_index=0):
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probs = powers / powers.sum(axis=-1, keepdims=True)
    wanted = np.full(logits.shape, smoothing / logits.shape[1])
    wanted[np.arange(len(logits)), targets] += 1 - smoothing
    counts = targets != ignore_index
    loss = -(wanted * np.log(probs + 1e-9)).sum(axis=1)[counts].mean()
    return loss, (probs - wanted) / counts.sum() * counts[:, None]


def wrong_smoothing_exchanged(logits, targets, label_smoothing=0.0):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_probs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    of_targets = -log_probs[np.arange(len(logits)), targets]
    of_all = -log_probs.mean(axis=-1)
    return (label_smoothing * of_targets + (1 - label_smoothing) * of_all).mean() if label_smoothing else of_targets.mean()
