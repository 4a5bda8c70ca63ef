import numpy as np


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def right_logits(logits, min_p):
    probs = softmax(logits)
    return np.where(probs < min_p * probs.max(-1, keepdims=True), -np.inf, logits)


def right_in_logs(logits, min_p):
    return np.where(logits - logits.max(-1, keepdims=True) >= np.log(min_p), logits, -np.inf)


def right_probabilities(logits, p_base, temperature=1.0):
    probs = softmax(logits / temperature)
    probs = np.where(probs >= p_base * probs.max(-1, keepdims=True), probs, 0)
    return probs / probs.sum(-1, keepdims=True)


def right_one_row(logits, min_p):
    probs = softmax(logits)
    out = logits.copy()
    for i in range(len(logits)):
        if probs[i] < min_p * max(probs):
            out[i] = -float("inf")
    return out


def wrong_not_relative(logits, min_p):
    return np.where(softmax(logits) >= min_p, logits, -np.inf)


def wrong_share_of_the_batch(logits, min_p):
    probs = softmax(logits)
    return np.where(probs >= min_p * np.max(probs), logits, -np.inf)


def wrong_likely_dropped(logits, min_p):
    probs = softmax(logits)
    return np.where(probs >= min_p * probs.max(-1, keepdims=True), -np.inf, logits)


def wrong_share_of_logits(logits, min_p):
    return np.where(logits >= min_p * logits.max(-1, keepdims=True), logits, -np.inf)


def wrong_hidden_logit_is_zero(logits, min_p):
    probs = softmax(logits)
    return np.where(probs >= min_p * probs.max(-1, keepdims=True), logits, 0)
