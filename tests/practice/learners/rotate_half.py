import numpy as np


def right_plain(x):
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([-b, a], axis=-1)


def right_of_neighbours(x):
    a, b = x[..., ::2], x[..., 1::2]
    return np.stack([-b, a], axis=-1).reshape(x.shape)


def wrong_turned_backwards(x):
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([b, -a], axis=-1)


def wrong_sign_missing(x):
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([b, a], axis=-1)


def wrong_sign_missing__of_neighbours(x):
    return np.stack([x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)


def wrong_both_negative(x):
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([-b, -a], axis=-1)


def wrong_not_exchanged(x):
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([-a, b], axis=-1)


def wrong_second_negative(x):
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a, -b], axis=-1)


def wrong_not_turned(x):
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a, b], axis=-1)


def wrong_neighbours_joined_as_halves(x):
    return np.concatenate([-x[..., 1::2], x[..., ::2]], axis=-1)


def wrong_halves_joined_as_neighbours(x):
    a, b = np.split(x, 2, axis=-1)
    return np.stack([-b, a], axis=-1).reshape(x.shape)
