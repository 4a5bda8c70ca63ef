import numpy as np


def mean_surprise(logits, targets):
    shifted = logits - logits.max(-1, keepdims=True)
    log_probs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return -np.take_along_axis(log_probs, targets[..., None], -1)[..., 0]


def right_shifted(logits, token_ids):
    return mean_surprise(logits[:, :-1], token_ids[:, 1:]).mean()


def right_ignoring(logits, labels, ignore_index=-100):
    surprise = mean_surprise(logits[:, :-1], np.maximum(labels[:, 1:], 0))
    kept = labels[:, 1:] != ignore_index
    return (surprise * kept).sum() / kept.sum()


def wrong_not_shifted(logits, token_ids):
    return mean_surprise(logits, token_ids).mean()


def wrong_shifted_backwards(logits, token_ids):
    return mean_surprise(logits[:, 1:], token_ids[:, :-1]).mean()


def wrong_last_left_out_of_both(logits, token_ids):
    return mean_surprise(logits[:, :-1], token_ids[:, :-1]).mean()


def wrong_rolled_around(logits, token_ids):
    return mean_surprise(logits, np.roll(token_ids, -1, 1)).mean()


def wrong_shifted_along_batch(logits, token_ids):
    return mean_surprise(logits[:-1], token_ids[1:]).mean()


def wrong_summed(logits, token_ids):
    return mean_surprise(logits[:, :-1], token_ids[:, 1:]).sum()


def wrong_ignored_averaged_in(logits, labels, ignore_index=-100):
    surprise = mean_surprise(logits[:, :-1], np.maximum(labels[:, 1:], 0))
    return (surprise * (labels[:, 1:] != ignore_index)).mean()
