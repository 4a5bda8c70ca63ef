import torch


def right_autograd(f, x0, lr, steps):
    x = x0.detach().clone().requires_grad_(True)
    for _ in range(steps):
        f(x).backward()
        with torch.no_grad():
            x -= lr * x.grad
        x.grad.zero_()
    return x.detach()


def right_gradient(grad, x0, lr, steps):
    x = x0.clone()
    for _ in range(steps):
        x = x - lr * grad(x)
    return x


def wrong_gradients_accumulated(f, x0, lr, steps):
    x = x0.detach().clone().requires_grad_(True)
    for _ in range(steps):
        f(x).backward()
        with torch.no_grad():
            x -= lr * x.grad
    return x.detach()


def wrong_ascent(grad, x0, lr, steps):
    x = x0.clone()
    for _ in range(steps):
        x = x + lr * grad(x)
    return x
