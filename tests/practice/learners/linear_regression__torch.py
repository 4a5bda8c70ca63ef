import torch


def right_autograd(X, y, lr, epochs):
    w = torch.zeros(X.shape[1], requires_grad=True)
    for _ in range(epochs):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
            w.grad.zero_()
    return w.detach()


def wrong_gradients_accumulated(X, y, lr, epochs):
    w = torch.zeros(X.shape[1], requires_grad=True)
    for _ in range(epochs):
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
    return w.detach()
