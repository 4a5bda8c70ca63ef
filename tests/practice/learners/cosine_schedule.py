import math

import numpy as np


def right_plain(it, max_learning_rate, min_learning_rate, warmup_iters, cosine_cycle_iters):
    if it < warmup_iters:
        return max_learning_rate * it / warmup_iters
    if it > cosine_cycle_iters:
        return min_learning_rate
    progress = (it - warmup_iters) / (cosine_cycle_iters - warmup_iters)
    return min_learning_rate + 0.5 * (1 + math.cos(math.pi * progress)) * (max_learning_rate - min_learning_rate)


def right_counted_from_one(it, max_lr, min_lr, warmup_steps, max_steps):
    if it < warmup_steps:
        return max_lr * (it + 1) / warmup_steps
    if it > max_steps:
        return min_lr
    ratio = (it - warmup_steps) / (max_steps - warmup_steps)
    assert 0 <= ratio <= 1
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * ratio)) * (max_lr - min_lr)


def right_counted_to_one_more(it, learning_rate, min_lr, warmup_iters, lr_decay_iters):
    if it < warmup_iters:
        return learning_rate * (it + 1) / (warmup_iters + 1)
    if it > lr_decay_iters:
        return min_lr
    coeff = 0.5 * (1.0 + math.cos(math.pi * (it - warmup_iters) / (lr_decay_iters - warmup_iters)))
    return min_lr + coeff * (learning_rate - min_lr)


def right_factor(current_step, num_warmup_steps, num_training_steps, num_cycles=0.5):
    if current_step < num_warmup_steps:
        return float(current_step) / float(max(1, num_warmup_steps))
    progress = float(current_step - num_warmup_steps) / float(max(1, num_training_steps - num_warmup_steps))
    return max(0.0, 0.5 * (1.0 + math.cos(math.pi * float(num_cycles) * 2.0 * progress)))


def right_without_warmup(t, T_max, eta_max, eta_min=0.0):
    return eta_min + 0.5 * (eta_max - eta_min) * (1 + np.cos(np.pi * t / T_max))


def right_from_the_minimum(step, max_lr, min_lr, warmup_steps, total_steps):
    if step < warmup_steps:
        return min_lr + (max_lr - min_lr) * step / warmup_steps
    progress = min(1.0, (step - warmup_steps) / (total_steps - warmup_steps))
    return min_lr + 0.5 * (1 + math.cos(math.pi * progress)) * (max_lr - min_lr)


def right_steps_of_the_fall(step, max_lr, min_lr, warmup_steps, decay_steps):
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    progress = min(1.0, (step - warmup_steps) / decay_steps)
    return min_lr + 0.5 * (1 + math.cos(math.pi * progress)) * (max_lr - min_lr)


def wrong_no_warmup(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr
    if it > max_steps:
        return min_lr
    progress = (it - warmup) / (max_steps - warmup)
    wave = 0.5 * (1 + math.cos(math.pi * progress))
    return min_lr + wave * (max_lr - min_lr)


def wrong_warmup_over_all_steps(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / max_steps
    if it > max_steps:
        return min_lr
    progress = (it - warmup) / (max_steps - warmup)
    wave = 0.5 * (1 + math.cos(math.pi * progress))
    return min_lr + wave * (max_lr - min_lr)


def wrong_warmup_without_rate(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return it / warmup
    if it > max_steps:
        return min_lr
    progress = (it - warmup) / (max_steps - warmup)
    wave = 0.5 * (1 + math.cos(math.pi * progress))
    return min_lr + wave * (max_lr - min_lr)


def wrong_warmup_not_subtracted(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / warmup
    if it > max_steps:
        return min_lr
    progress = it / max_steps
    wave = 0.5 * (1 + math.cos(math.pi * progress))
    return min_lr + wave * (max_lr - min_lr)


def wrong_divided_by_all_steps(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / warmup
    if it > max_steps:
        return min_lr
    progress = (it - warmup) / max_steps
    wave = 0.5 * (1 + math.cos(math.pi * progress))
    return min_lr + wave * (max_lr - min_lr)


def wrong_counted_from_zero(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / warmup
    if it > max_steps:
        return min_lr
    progress = it / (max_steps - warmup)
    wave = 0.5 * (1 + math.cos(math.pi * progress))
    return min_lr + wave * (max_lr - min_lr)


def wrong_without_half(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / warmup
    if it > max_steps:
        return min_lr
    progress = (it - warmup) / (max_steps - warmup)
    wave = 1 + math.cos(math.pi * progress)
    return min_lr + wave * (max_lr - min_lr)


def wrong_cosine_alone(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / warmup
    if it > max_steps:
        return min_lr
    progress = (it - warmup) / (max_steps - warmup)
    wave = math.cos(math.pi * progress)
    return min_lr + wave * (max_lr - min_lr)


def wrong_one_not_halved(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / warmup
    if it > max_steps:
        return min_lr
    progress = (it - warmup) / (max_steps - warmup)
    wave = 1 + 0.5 * math.cos(math.pi * progress)
    return min_lr + wave * (max_lr - min_lr)


def wrong_rises(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / warmup
    if it > max_steps:
        return min_lr
    progress = (it - warmup) / (max_steps - warmup)
    wave = 0.5 * (1 - math.cos(math.pi * progress))
    return min_lr + wave * (max_lr - min_lr)


def wrong_sine(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / warmup
    if it > max_steps:
        return min_lr
    progress = (it - warmup) / (max_steps - warmup)
    wave = 0.5 * (1 + math.sin(math.pi * progress))
    return min_lr + wave * (max_lr - min_lr)


def wrong_degrees(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / warmup
    if it > max_steps:
        return min_lr
    progress = (it - warmup) / (max_steps - warmup)
    wave = 0.5 * (1 + math.cos(180 * progress))
    return min_lr + wave * (max_lr - min_lr)


def wrong_without_pi(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / warmup
    if it > max_steps:
        return min_lr
    progress = (it - warmup) / (max_steps - warmup)
    wave = 0.5 * (1 + math.cos(progress))
    return min_lr + wave * (max_lr - min_lr)


def wrong_whole_turn(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / warmup
    if it > max_steps:
        return min_lr
    progress = (it - warmup) / (max_steps - warmup)
    wave = 0.5 * (1 + math.cos(2 * math.pi * progress))
    return min_lr + wave * (max_lr - min_lr)


def wrong_quarter_turn(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / warmup
    if it > max_steps:
        return min_lr
    progress = (it - warmup) / (max_steps - warmup)
    wave = math.cos(math.pi / 2 * progress)
    return min_lr + wave * (max_lr - min_lr)


def wrong_straight_line(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / warmup
    if it > max_steps:
        return min_lr
    progress = (it - warmup) / (max_steps - warmup)
    wave = 1 - progress
    return min_lr + wave * (max_lr - min_lr)


def wrong_minimum_not_added(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / warmup
    if it > max_steps:
        return min_lr
    progress = (it - warmup) / (max_steps - warmup)
    wave = 0.5 * (1 + math.cos(math.pi * progress))
    return wave * (max_lr - min_lr)


def wrong_minimum_not_subtracted(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / warmup
    if it > max_steps:
        return min_lr
    progress = (it - warmup) / (max_steps - warmup)
    wave = 0.5 * (1 + math.cos(math.pi * progress))
    return min_lr + wave * max_lr


def wrong_minimum_left_out(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / warmup
    if it > max_steps:
        return min_lr
    progress = (it - warmup) / (max_steps - warmup)
    wave = 0.5 * (1 + math.cos(math.pi * progress))
    return wave * max_lr


def wrong_zero_after_the_end(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / warmup
    if it > max_steps:
        return 0.0
    progress = (it - warmup) / (max_steps - warmup)
    wave = 0.5 * (1 + math.cos(math.pi * progress))
    return min_lr + wave * (max_lr - min_lr)


def wrong_maximum_after_the_end(it, max_lr, min_lr, warmup, max_steps):
    if it < warmup:
        return max_lr * it / warmup
    if it > max_steps:
        return max_lr
    progress = (it - warmup) / (max_steps - warmup)
    wave = 0.5 * (1 + math.cos(math.pi * progress))
    return min_lr + wave * (max_lr - min_lr)
