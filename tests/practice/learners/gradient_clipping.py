import numpy as np


def right_plain(grads, max_norm):
    norm = np.sqrt(sum((g * g).sum() for g in grads))
    if norm > max_norm:
        return [g * max_norm / norm for g in grads]
    return grads


def right_in_place(grads, max_norm):
    total = 0
    for grad in grads:
        total += np.sum(grad**2)
    rate = max_norm / (np.sqrt(total) + 1e-6)
    if rate < 1:
        for grad in grads:
            grad *= rate


def right_of_a_dict_with_the_norm(grads, max_norm=1.0):
    norm = np.sqrt(sum(np.sum(g**2) for g in grads.values()))
    factor = min(1.0, max_norm / (norm + 1e-8))
    return {name: g * factor for name, g in grads.items()}, norm


def right_of_a_dict_in_place(gradients, clip=5.0):
    norm = np.sqrt(sum(np.sum(gradients[k] * gradients[k]) for k in gradients))
    if norm > clip:
        for k in gradients:
            gradients[k] = gradients[k] * (clip / norm)
    return norm


def right_of_one(g, max_norm):
    norm = np.linalg.norm(g)
    return g * (max_norm / norm) if norm > max_norm else g


def right_of_parameters(parameters, max_norm):
    norm = np.sqrt(sum((p.grad**2).sum() for p in parameters if p.grad is not None))
    if norm > max_norm:
        for p in parameters:
            if p.grad is not None:
                p.grad = p.grad * (max_norm / norm)


def right_each_alone(grads, threshold):
    clipped = []
    for g in grads:
        norm = np.linalg.norm(g)
        clipped.append(g * threshold / norm if norm > threshold else g)
    return clipped


def wrong_each_alone(grads, max_norm):
    """Limit the global norm."""
    clipped = []
    for g in grads:
        norm = np.linalg.norm(g)
        clipped.append(g * max_norm / norm if norm > max_norm else g)
    return clipped


def wrong_root_missing(grads, max_norm):
    norm = sum((g * g).sum() for g in grads)
    return [g * max_norm / norm for g in grads] if norm > max_norm else grads


def wrong_sum_of_norms(grads, max_norm):
    norm = sum(np.linalg.norm(g) for g in grads)
    return [g * max_norm / norm for g in grads] if norm > max_norm else grads


def wrong_norm_of_the_last(grads, max_norm):
    for g in grads:
        total = 0.0
        total += (g * g).sum()
    norm = np.sqrt(total)
    return [g * max_norm / norm for g in grads] if norm > max_norm else grads


def wrong_largest_norm(grads, max_norm):
    norm = max(np.linalg.norm(g) for g in grads)
    return [g * max_norm / norm for g in grads] if norm > max_norm else grads


def wrong_absolute_values(grads, max_norm):
    norm = sum(np.abs(g).sum() for g in grads)
    return [g * max_norm / norm for g in grads] if norm > max_norm else grads


def wrong_mean_of_squares(grads, max_norm):
    count = sum(g.size for g in grads)
    norm = np.sqrt(sum((g * g).sum() for g in grads) / count)
    return [g * max_norm / norm for g in grads] if norm > max_norm else grads


def wrong_always_scaled(grads, max_norm):
    norm = np.sqrt(sum((g * g).sum() for g in grads))
    return [g * max_norm / (norm + 1e-6) for g in grads]


def wrong_inverted(grads, max_norm):
    norm = np.sqrt(sum((g * g).sum() for g in grads))
    return [g * norm / max_norm for g in grads] if norm > max_norm else grads


def wrong_small_ones_scaled(grads, max_norm):
    norm = np.sqrt(sum((g * g).sum() for g in grads))
    return [g * max_norm / norm for g in grads] if norm < max_norm else grads


def wrong_to_norm_one(grads, max_norm):
    norm = np.sqrt(sum((g * g).sum() for g in grads))
    return [g / norm for g in grads] if norm > max_norm else grads


def wrong_not_clipped(parameters, max_norm):
    norm = np.sqrt(sum((p.grad**2).sum() for p in parameters))
    if norm > max_norm:
        for p in parameters:
            g = p.grad
            g = g * (max_norm / norm)


def wrong_set_to_the_factor(grads, max_norm):
    norm = np.sqrt(sum((g * g).sum() for g in grads))
    if norm > max_norm:
        for g in grads:
            g[...] = max_norm / norm
    return grads


def wrong_set_to_the_maximum(grads, max_norm):
    norm = np.sqrt(sum((g * g).sum() for g in grads))
    if norm > max_norm:
        for g in grads:
            g[...] = max_norm
    return grads
