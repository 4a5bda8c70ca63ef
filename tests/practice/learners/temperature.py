# ruff: noqa: N803
import random

import numpy as np
from numpy.random import choice


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def right_logits(logits, temperature):
    return logits / temperature


def right_probabilities(logits, temperature=1.0):
    if temperature == 0:
        return np.eye(logits.shape[-1])[logits.argmax(-1)]
    return softmax(logits / temperature)


def right_small_number_added(logits, T):
    return softmax(logits / (T + 1e-9))


def right_powers_of_probabilities(probs, temperature):
    p = probs ** (1 / temperature)
    return p / p.sum(-1, keepdims=True)


def right_through_logarithms(probs, temperature):
    return softmax(np.log(probs) / temperature)


def right_log_probabilities(logprobs, temperature):
    scaled = logprobs / temperature
    return scaled - np.log(np.exp(scaled).sum(-1, keepdims=True))


def right_without_zero(logits, temperature):
    if temperature > 0:
        logits = logits / temperature
    return softmax(logits)


def right_draws(logits, temperature):
    if temperature == 0:
        return int(np.argmax(logits))
    p = softmax(logits / temperature)
    return int(np.random.choice(len(p), p=p))


def right_draws_by_a_name(logits, temperature):
    p = softmax(logits / temperature)
    return choice(np.arange(p.size), p=p)


def right_draws_with_a_generator(logits, temperature, rng):
    if temperature < 1e-6:
        return logits.argmax()
    return rng.choice(logits.shape[-1], p=softmax(logits / temperature))


def right_draws_from_a_new_generator(logits, temperature, seed=0):
    rng = np.random.default_rng(seed)
    return rng.multinomial(1, softmax(logits / temperature)).argmax()


def right_draws_by_adding_up(logits, temperature):
    u, total = random.random(), 0.0
    for token, p in enumerate(softmax(np.asarray(logits) / temperature)):
        total += p
        if u < total:
            return token
    return len(logits) - 1


def right_draws_from_a_list(logits, temperature):
    return random.choices(range(len(logits)), weights=softmax(logits / temperature).tolist())[0]


def right_draws_by_search(logits, temperature):
    return int(np.searchsorted(np.cumsum(softmax(logits / temperature)), np.random.rand()))


def wrong_temperature(logits, temperature):
    return softmax(logits * temperature)


def wrong_temperature__twice(logits, temperature):
    logits = logits / temperature
    return softmax(logits / temperature)


def wrong_temperature__not_used(logits, temperature):
    return softmax(logits)


def wrong_temperature__multiplied_and_drawn(logits, temperature):
    p = softmax(logits * temperature)
    return np.random.choice(len(p), p=p)


def wrong_divides_probabilities(logits, temperature):
    return softmax(logits) / temperature


def wrong_scales_probabilities(logits, temperature):
    return softmax(softmax(logits) / temperature)


def wrong_scales_probabilities__logarithm(logits, temperature):
    return np.log(softmax(softmax(logits) / temperature))


def wrong_powers_of_probabilities_not_normalised(logits, temperature):
    return softmax(logits) ** (1 / temperature)


def wrong_exponential_not_normalised(logits, temperature):
    z = logits / temperature
    return np.exp(z - z.max(axis=-1, keepdims=True))


def wrong_softmax_along_first_axis(logits, temperature):
    e = np.exp(logits / temperature)
    return e / e.sum(axis=0)
