import math


def right_plain(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def right_with_factor(step, model_size, factor, warmup):
    if step == 0:
        step = 1
    return factor * (model_size ** (-0.5) * min(step ** (-0.5), step * warmup ** (-1.5)))


def right_with_roots(step_num, d_model, warmup_steps=4000):
    return 1 / math.sqrt(d_model) * min(1 / math.sqrt(step_num), step_num / warmup_steps**1.5)


def right_branches(step, dim, n_warmup_steps, scale=1.0):
    if step < n_warmup_steps:
        return scale * dim**-0.5 * step / n_warmup_steps**1.5
    return scale * (dim * step) ** -0.5


def wrong_maximum(step, d_model, warmup_steps):
    return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)


def wrong_no_warmup(step, d_model, warmup_steps):
    return d_model**-0.5 * step**-0.5


def wrong_no_fall(step, d_model, warmup_steps):
    return d_model**-0.5 * step * warmup_steps**-1.5


def wrong_root_of_warmup(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-0.5)


def wrong_no_warmup__warmup_grows(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**1.5)


def wrong_warmup_divides(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step / warmup_steps)


def wrong_step_missing(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, warmup_steps**-1.5)


def wrong_no_fall__step_grows(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**0.5, step * warmup_steps**-1.5)


def wrong_step_without_root(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-1, step * warmup_steps**-1.5)


def wrong_root_of_width(step, d_model, warmup_steps):
    return math.sqrt(d_model) * min(step**-0.5, step * warmup_steps**-1.5)


def wrong_width_without_root(step, d_model, warmup_steps):
    return min(step**-0.5, step * warmup_steps**-1.5) / d_model


def wrong_width_missing(step, d_model, warmup_steps):
    return min(step**-0.5, step * warmup_steps**-1.5)


def wrong_factor_missing(step, d_model, factor, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)
