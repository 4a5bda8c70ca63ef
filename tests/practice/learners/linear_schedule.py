import math


def right_plain(step, max_lr, min_lr, warmup_steps, total_steps):
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    if step > total_steps:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_lr + (1 - progress) * (max_lr - min_lr)


def right_factor(current_step, num_warmup_steps, num_training_steps):
    if current_step < num_warmup_steps:
        return float(current_step) / float(max(1, num_warmup_steps))
    return max(0.0, float(num_training_steps - current_step) / float(max(1, num_training_steps - num_warmup_steps)))


def right_without_warmup(step, start_lr, end_lr, total_steps):
    share = min(step, total_steps) / total_steps
    return start_lr + share * (end_lr - start_lr)


def right_counted_from_one(step, peak_lr, warmup, max_steps):
    if step < warmup:
        return peak_lr * (step + 1) / warmup
    return peak_lr * max(0.0, (max_steps - step) / (max_steps - warmup))


def wrong_no_warmup(step, max_lr, min_lr, warmup_steps, total_steps):
    if step < warmup_steps:
        return max_lr
    if step > total_steps:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_lr + (1 - progress) * (max_lr - min_lr)


def wrong_warmup_over_all_steps(step, max_lr, min_lr, warmup_steps, total_steps):
    if step < warmup_steps:
        return max_lr * step / total_steps
    if step > total_steps:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_lr + (1 - progress) * (max_lr - min_lr)


def wrong_warmup_without_rate(step, max_lr, min_lr, warmup_steps, total_steps):
    if step < warmup_steps:
        return step / warmup_steps
    if step > total_steps:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_lr + (1 - progress) * (max_lr - min_lr)


def wrong_warmup_not_subtracted(step, max_lr, min_lr, warmup_steps, total_steps):
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    if step > total_steps:
        return min_lr
    progress = step / total_steps
    return min_lr + (1 - progress) * (max_lr - min_lr)


def wrong_divided_by_all_steps(step, max_lr, min_lr, warmup_steps, total_steps):
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    if step > total_steps:
        return min_lr
    progress = (step - warmup_steps) / total_steps
    return min_lr + (1 - progress) * (max_lr - min_lr)


def wrong_counted_from_zero(step, max_lr, min_lr, warmup_steps, total_steps):
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    if step > total_steps:
        return min_lr
    progress = min(1, step / (total_steps - warmup_steps))
    return min_lr + (1 - progress) * (max_lr - min_lr)


def wrong_rises(step, max_lr, min_lr, warmup_steps, total_steps):
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    if step > total_steps:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_lr + progress * (max_lr - min_lr)


def wrong_constant(step, max_lr, min_lr, warmup_steps, total_steps):
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    if step > total_steps:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return max_lr


def wrong_half_cosine(step, max_lr, min_lr, warmup_steps, total_steps):
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    if step > total_steps:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_lr + 0.5 * (1 + math.cos(math.pi * progress)) * (max_lr - min_lr)


def wrong_squared(step, max_lr, min_lr, warmup_steps, total_steps):
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    if step > total_steps:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_lr + (1 - progress) ** 2 * (max_lr - min_lr)


def wrong_minimum_not_added(step, max_lr, min_lr, warmup_steps, total_steps):
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    if step > total_steps:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return (1 - progress) * (max_lr - min_lr)


def wrong_minimum_not_subtracted(step, max_lr, min_lr, warmup_steps, total_steps):
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    if step > total_steps:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_lr + (1 - progress) * max_lr


def wrong_minimum_left_out(step, max_lr, min_lr, warmup_steps, total_steps):
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    if step > total_steps:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return (1 - progress) * max_lr


def wrong_zero_after_the_end(step, max_lr, min_lr, warmup_steps, total_steps):
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    if step > total_steps:
        return 0.0
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_lr + (1 - progress) * (max_lr - min_lr)


def wrong_maximum_after_the_end(step, max_lr, min_lr, warmup_steps, total_steps):
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    if step > total_steps:
        return max_lr
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_lr + (1 - progress) * (max_lr - min_lr)


def wrong_below_the_minimum(step, max_lr, min_lr, warmup_steps, total_steps):
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_lr + (1 - progress) * (max_lr - min_lr)
