# ruff: noqa: N801
import numpy as np


class Right_dicts:
    def __init__(self, lr=0.001, beta1=0.9, beta2=0.999):
        self.lr, self.beta1, self.beta2 = lr, beta1, beta2
        self.iter, self.m, self.v = 0, None, None

    def update(self, params, grads):
        if self.m is None:
            self.m = {key: np.zeros_like(value) for key, value in params.items()}
            self.v = {key: np.zeros_like(value) for key, value in params.items()}
        self.iter += 1
        rate = self.lr * np.sqrt(1.0 - self.beta2**self.iter) / (1.0 - self.beta1**self.iter)
        for key in params:
            self.m[key] += (1 - self.beta1) * (grads[key] - self.m[key])
            self.v[key] += (1 - self.beta2) * (grads[key] ** 2 - self.v[key])
            params[key] -= rate * self.m[key] / (np.sqrt(self.v[key]) + 1e-8)


class Right_one_array:
    def __init__(self, learning_rate=0.001, b1=0.9, b2=0.999, eps=1e-8):
        self.rate, self.b1, self.b2, self.eps, self.t, self.m, self.v = learning_rate, b1, b2, eps, 0, 0, 0

    def update(self, w, grad_wrt_w):
        self.t += 1
        self.m = self.b1 * self.m + (1 - self.b1) * grad_wrt_w
        self.v = self.b2 * self.v + (1 - self.b2) * grad_wrt_w**2
        return w - self.rate * (self.m / (1 - self.b1**self.t)) / (np.sqrt(self.v / (1 - self.b2**self.t)) + self.eps)


class Right_decay_in_gradient:
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        self.params, self.lr, self.betas, self.eps, self.wd, self.t = params, lr, betas, eps, weight_decay, 0
        self.state = [(0.0, 0.0) for _ in params]

    def step(self, grads):
        self.t += 1
        b1, b2 = self.betas
        for i, (p, g) in enumerate(zip(self.params, grads, strict=True)):
            g = g + self.wd * p
            m, v = b1 * self.state[i][0] + (1 - b1) * g, b2 * self.state[i][1] + (1 - b2) * g * g
            self.state[i] = (m, v)
            p -= self.lr * (m / (1 - b1**self.t)) / (np.sqrt(v / (1 - b2**self.t)) + self.eps)


class Wrong_correction_without_power:
    def __init__(self, learning_rate=0.001, b1=0.9, b2=0.999, eps=1e-8):
        self.rate, self.b1, self.b2, self.eps, self.m, self.v = learning_rate, b1, b2, eps, 0, 0

    def update(self, w, grad_wrt_w):
        self.m = self.b1 * self.m + (1 - self.b1) * grad_wrt_w
        self.v = self.b2 * self.v + (1 - self.b2) * grad_wrt_w**2
        return w - self.rate * (self.m / (1 - self.b1)) / (np.sqrt(self.v / (1 - self.b2)) + self.eps)


class Wrong_betas_exchanged:
    def __init__(self, learning_rate=0.001, b1=0.9, b2=0.999, eps=1e-8):
        self.rate, self.b1, self.b2, self.eps, self.t, self.m, self.v = learning_rate, b2, b1, eps, 0, 0, 0

    def update(self, w, grad_wrt_w):
        self.t += 1
        self.m = self.b1 * self.m + (1 - self.b1) * grad_wrt_w
        self.v = self.b2 * self.v + (1 - self.b2) * grad_wrt_w**2
        return w - self.rate * (self.m / (1 - self.b1**self.t)) / (np.sqrt(self.v / (1 - self.b2**self.t)) + self.eps)


class Right_own_name_of_the_step:
    def __init__(self, learning_rate=0.001, mu=0.9, rho=0.999):
        self.rate, self.mu, self.rho, self.count, self.mean, self.square = learning_rate, mu, rho, 0, 0.0, 0.0

    def new_weights(self, weight_tensor, gradient_tensor):
        self.count += 1
        self.mean = self.mu * self.mean + (1 - self.mu) * gradient_tensor
        self.square = self.rho * self.square + (1 - self.rho) * gradient_tensor**2
        mean, square = self.mean / (1 - self.mu**self.count), self.square / (1 - self.rho**self.count)
        return weight_tensor - self.rate * mean / (np.sqrt(square) + np.finfo(float).eps)


class Wrong_default_value:
    def __init__(self, lr=0.001, beta1=0.999, beta2=0.9, eps=1e-8):
        self.rate, self.b1, self.b2, self.eps, self.t, self.m, self.v = lr, beta1, beta2, eps, 0, 0, 0

    def update(self, w, grad):
        self.t += 1
        self.m = self.b1 * self.m + (1 - self.b1) * grad
        self.v = self.b2 * self.v + (1 - self.b2) * grad**2
        return w - self.rate * (self.m / (1 - self.b1**self.t)) / (np.sqrt(self.v / (1 - self.b2**self.t)) + self.eps)


def right_dict_of_moments(params, grads, state, lr=1e-3, b1=0.9, b2=0.999, eps=1e-8):
    t, moved = state["t"] + 1, {}
    m = {key: b1 * state["m"][key] + (1 - b1) * grad for key, grad in grads.items()}
    v = {key: b2 * state["v"][key] + (1 - b2) * grad**2 for key, grad in grads.items()}
    for key, value in params.items():
        moved[key] = value - lr * m[key] / (1 - b1**t) / (np.sqrt(v[key] / (1 - b2**t)) + eps)
    return moved, {"t": t, "m": m, "v": v}


def right_state_of_one_array(theta, grad, opt_state, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
    opt_state["step"] += 1
    opt_state["mean"] = beta1 * opt_state["mean"] + (1 - beta1) * grad
    opt_state["square"] = beta2 * opt_state["square"] + (1 - beta2) * grad**2
    mean, square = (opt_state[key] / (1 - beta ** opt_state["step"]) for key, beta in (("mean", beta1), ("square", beta2)))
    return theta - lr * mean / (np.sqrt(square) + eps), opt_state


def wrong_square_not_corrected__in_a_dict(theta, grad, opt_state, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
    opt_state["step"] += 1
    opt_state["mean"] = beta1 * opt_state["mean"] + (1 - beta1) * grad
    opt_state["square"] = beta2 * opt_state["square"] + (1 - beta2) * grad**2
    return theta - lr * opt_state["mean"] / (1 - beta1 ** opt_state["step"]) / (np.sqrt(opt_state["square"]) + eps), opt_state
