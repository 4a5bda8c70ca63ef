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


def right_deep_ml(X, y, alpha, iterations):
    theta = torch.zeros(X.shape[1], 1)
    y = y.reshape(-1, 1)
    for _ in range(iterations):
        theta = theta - alpha * X.T @ (X @ theta - y) / X.shape[0]
    return theta.flatten()


def wrong_not_averaged(X, y, alpha, iterations):
    theta = torch.zeros(X.shape[1])
    for _ in range(iterations):
        theta = theta - alpha * X.T @ (X @ theta - y)
    return theta
