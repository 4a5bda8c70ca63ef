import jax


def right_autograd(f, x0, lr, steps):
    x = x0
    for _ in range(steps):
        x = x - lr * jax.grad(f)(x)
    return x


def wrong_one_step_too_few(f, x0, lr, steps):
    x = x0
    for _ in range(steps - 1):
        x = x - lr * jax.grad(f)(x)
    return x
