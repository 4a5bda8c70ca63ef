import torch


def right_deep_ml(grad, x0, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, num_iterations=10):
    x, m, v = x0.clone(), torch.zeros_like(x0), torch.zeros_like(x0)
    for t in range(1, num_iterations + 1):
        g = grad(x)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        x = x - learning_rate * (m / (1 - beta1**t)) / (torch.sqrt(v / (1 - beta2**t)) + epsilon)
    return x


def wrong_no_bias_correction(grad, x0, lr, steps):
    x, m, v = x0.clone(), torch.zeros_like(x0), torch.zeros_like(x0)
    for _ in range(steps):
        g = grad(x)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        x = x - lr * m / (v.sqrt() + 1e-8)
    return x
