# ruff: noqa: N801
import numpy as np


def _moments(self, key, grad):
    m = self.b1 * self.m.get(key, 0) + (1 - self.b1) * grad
    v = self.b2 * self.v.get(key, 0) + (1 - self.b2) * grad**2
    self.m[key], self.v[key] = m, v
    return m / (1 - self.b1**self.t), v / (1 - self.b2**self.t)


class _Base:
    def __init__(self, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.lr, (self.b1, self.b2), self.eps, self.wd = lr, betas, eps, weight_decay
        self.m, self.v, self.t = {}, {}, 0


class Right_lists_in_place(_Base):
    def step(self, params, grads):
        self.t += 1
        for i, (p, g) in enumerate(zip(params, grads, strict=True)):
            m, v = _moments(self, i, g)
            p *= 1 - self.lr * self.wd
            p -= self.lr * m / (np.sqrt(v) + self.eps)


class Right_lists_returned(_Base):
    def update(self, params, grads):
        self.t += 1
        out = []
        for i, (p, g) in enumerate(zip(params, grads, strict=True)):
            m, v = _moments(self, i, g)
            out.append(p - self.lr * (m / (np.sqrt(v) + self.eps) + self.wd * p))
        return out


class Right_dicts(_Base):
    def update(self, params, grads):
        self.t += 1
        for key in params:
            m, v = _moments(self, key, grads[key])
            params[key] = params[key] * (1 - self.lr * self.wd) - self.lr * m / (np.sqrt(v) + self.eps)


class Right_one_array_and_decay_after_the_step(_Base):
    def update(self, w, grad):
        self.t += 1
        m, v = _moments(self, 0, grad)
        w = w - self.lr * m / (np.sqrt(v) + self.eps)
        return w - self.lr * self.wd * w


class Right_parameters_with_gradients:
    def __init__(self, parameters, lr=0.01, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.0):
        self.parameters, self.lr, self.b1, self.b2, self.eps, self.wd = list(parameters), lr, beta1, beta2, eps, weight_decay
        self.m, self.v, self.t = {}, {}, 0

    def step(self):
        self.t += 1
        for i, p in enumerate(self.parameters):
            m, v = _moments(self, i, p.grad)
            p.data = p.data * (1 - self.lr * self.wd) - self.lr * m / (np.sqrt(v) + self.eps)


def right_function(p, grad, m, v, t, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad**2
    p = p * (1 - lr * weight_decay)
    return p - lr * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + eps), m, v


class Wrong_decay_in_gradient(_Base):
    def step(self, params, grads):
        self.t += 1
        for i, (p, g) in enumerate(zip(params, grads, strict=True)):
            m, v = _moments(self, i, g + self.wd * p)
            p -= self.lr * m / (np.sqrt(v) + self.eps)


class Wrong_decay_without_rate(_Base):
    def step(self, params, grads):
        self.t += 1
        for i, (p, g) in enumerate(zip(params, grads, strict=True)):
            m, v = _moments(self, i, g)
            p *= 1 - self.wd
            p -= self.lr * m / (np.sqrt(v) + self.eps)


class Wrong_decay_missing(_Base):
    def step(self, params, grads):
        self.t += 1
        for i, (p, g) in enumerate(zip(params, grads, strict=True)):
            m, v = _moments(self, i, g)
            p -= self.lr * m / (np.sqrt(v) + self.eps)


class Wrong_step_counted_per_parameter(_Base):
    def step(self, params, grads):
        for i, (p, g) in enumerate(zip(params, grads, strict=True)):
            self.t += 1
            m, v = _moments(self, i, g)
            p *= 1 - self.lr * self.wd
            p -= self.lr * m / (np.sqrt(v) + self.eps)


class Wrong_eps_inside_root(_Base):
    def step(self, params, grads):
        self.t += 1
        for i, (p, g) in enumerate(zip(params, grads, strict=True)):
            m, v = _moments(self, i, g)
            p *= 1 - self.lr * self.wd
            p -= self.lr * m / np.sqrt(v + self.eps)


class Right_names_with_arrays:  # noqa: N801
    def __init__(self, learning_rate=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.lr, (self.beta1, self.beta2), self.eps, self.weight_decay, self.t = learning_rate, betas, eps, weight_decay, 0
        self.m, self.v = {}, {}

    def step(self, params, grads):
        self.t += 1
        for (name, p), (_, g) in zip(params, grads, strict=True):
            self.m[name] = self.beta1 * self.m.get(name, 0) + (1 - self.beta1) * g
            self.v[name] = self.beta2 * self.v.get(name, 0) + (1 - self.beta2) * g**2
            mean, square = self.m[name] / (1 - self.beta1**self.t), self.v[name] / (1 - self.beta2**self.t)
            p -= self.lr * (mean / (np.sqrt(square) + self.eps) + self.weight_decay * p)


class Wrong_decay_of_gradient(_Base):
    def update(self, w, grad):
        self.t += 1
        m, v = _moments(self, 0, grad)
        return w - self.lr * (m / (np.sqrt(v) + self.eps) + self.wd * grad)


class Wrong_decay_of_gradient__without_rate(_Base):
    def update(self, w, grad):
        self.t += 1
        m, v = _moments(self, 0, grad)
        return w - self.lr * m / (np.sqrt(v) + self.eps) - self.wd * grad
