import mlx.core as mx


def right_autograd(f, x0, lr, steps):
    x = x0
    for _ in range(steps):
        x = x - lr * mx.grad(f)(x)
    return x


def wrong_ascent(f, x0, lr, steps):
    x = x0
    for _ in range(steps):
        x = x + lr * mx.grad(f)(x)
    return x
