# ruff: noqa: N801
import numpy as np


class Right_plain:
    def __init__(self, lr=0.01):
        self.lr = lr

    def update(self, params, grads):
        for i in range(len(params)):
            params[i] -= self.lr * grads[i]


class Right_rate_in_the_velocity:
    def __init__(self, lr=0.01, momentum=0.9):
        self.lr, self.momentum, self.v = lr, momentum, None

    def update(self, params, grads):
        if self.v is None:
            self.v = {key: np.zeros_like(value) for key, value in params.items()}
        for key in params:
            self.v[key] = self.momentum * self.v[key] - self.lr * grads[key]
            params[key] += self.v[key]


class Right_as_torch:
    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False):
        self.params, self.lr, self.momentum, self.dampening = list(params), lr, momentum, dampening
        self.weight_decay, self.nesterov, self.buffers = weight_decay, nesterov, [None] * len(self.params)

    def step(self):
        for i, p in enumerate(self.params):
            g = p.grad + self.weight_decay * p.data
            if self.momentum:
                old = self.buffers[i]
                self.buffers[i] = g if old is None else self.momentum * old + (1 - self.dampening) * g
                g = g + self.momentum * self.buffers[i] if self.nesterov else self.buffers[i]
            p.data -= self.lr * g


class Right_average:
    def __init__(self, learning_rate=0.01, beta=0.9):
        self.learning_rate, self.beta, self.v = learning_rate, beta, 0.0

    def update(self, w, grad):
        self.v = self.beta * self.v + (1 - self.beta) * grad
        return w - self.learning_rate * self.v


class Right_fixed_momentum:
    def __init__(self, lr=0.01):
        self.lr, self.velocity = lr, {}

    def step(self, params, grads):
        for i, (p, g) in enumerate(zip(params, grads, strict=True)):
            self.velocity[i] = 0.9 * self.velocity.get(i, 0.0) + g
            p -= self.lr * self.velocity[i]


class Right_dampened_from_the_first_step:
    def __init__(self, lr=0.01, momentum=0.0, dampening=0.0):
        self.lr, self.momentum, self.dampening, self.v = lr, momentum, dampening, {}

    def step(self, params, grads):
        for i, g in enumerate(grads):
            self.v[i] = self.momentum * self.v.get(i, 0.0) + (1 - self.dampening) * g
            params[i] -= self.lr * self.v[i]


class Right_decay_of_the_parameter:
    def __init__(self, lr=0.01, momentum=0.9, weight_decay=0.0):
        self.lr, self.momentum, self.weight_decay, self.v = lr, momentum, weight_decay, {}

    def step(self, params, grads):
        for i, g in enumerate(grads):
            self.v[i] = self.momentum * self.v.get(i, 0.0) + g
            params[i] *= 1 - self.lr * self.weight_decay
            params[i] -= self.lr * self.v[i]


class Right_always_nesterov:
    """Nesterov's momentum."""

    def __init__(self, lr=0.01, momentum=0.9):
        self.lr, self.momentum, self.v = lr, momentum, {}

    def step(self, params, grads):
        for i, g in enumerate(grads):
            self.v[i] = self.momentum * self.v.get(i, 0.0) - self.lr * g
            params[i] += self.momentum * self.v[i] - self.lr * g


class Wrong_ascent:
    def __init__(self, lr=0.01):
        self.lr = lr

    def update(self, params, grads):
        for i in range(len(params)):
            params[i] += self.lr * grads[i]


class Wrong_ascent__velocity:
    def __init__(self, lr=0.01, momentum=0.9):
        self.lr, self.momentum, self.v = lr, momentum, {}

    def update(self, params, grads):
        for key in params:
            self.v[key] = self.momentum * self.v.get(key, 0.0) - self.lr * grads[key]
            params[key] -= self.v[key]


class Wrong_rate_missing:
    def __init__(self, lr=0.01):
        self.lr = lr

    def update(self, w, grad):
        return w - grad


class Wrong_rate_twice:
    def __init__(self, lr=0.01, momentum=0.9):
        self.lr, self.momentum, self.v = lr, momentum, {}

    def update(self, params, grads):
        for i, g in enumerate(grads):
            self.v[i] = self.momentum * self.v.get(i, 0.0) + self.lr * g
            params[i] -= self.lr * self.v[i]


class Wrong_gradient_averaged:
    def __init__(self, params, lr=0.01):
        self.params, self.lr = params, lr

    def step(self):
        for p in self.params:
            p.data -= self.lr * p.grad.mean()


class Wrong_sign_of_gradient:
    def __init__(self, params, lr=0.01):
        self.params, self.lr = params, lr

    def step(self):
        for p in self.params:
            p.data -= self.lr * np.sign(p.grad)


class Wrong_velocity_not_kept:
    def __init__(self, params, lr=0.01, momentum=0.9):
        self.params, self.lr, self.momentum = params, lr, momentum

    def step(self):
        velocities = [np.zeros_like(p.data) for p in self.params]
        for p, v in zip(self.params, velocities, strict=True):
            v = self.momentum * v + p.grad
            p.data -= self.lr * v


class Wrong_velocity_shared:
    def __init__(self, params, lr=0.01, momentum=0.9):
        self.params, self.lr, self.momentum, self.v = params, lr, momentum, 0.0

    def step(self):
        for p in self.params:
            self.v = self.momentum * self.v + p.grad
            p.data -= self.lr * self.v


class Wrong_old_velocity_used:
    def __init__(self, lr=0.01, momentum=0.9):
        self.lr, self.momentum, self.v = lr, momentum, {}

    def update(self, params, grads):
        for i, g in enumerate(grads):
            old = self.v.get(i, 0.0 * g)
            self.v[i] = self.momentum * old + g
            params[i] -= self.lr * (old if self.momentum else g)


class Wrong_momentum_subtracted:
    def __init__(self, lr=0.01, momentum=0.9):
        self.lr, self.momentum, self.v = lr, momentum, {}

    def update(self, params, grads):
        for i, g in enumerate(grads):
            self.v[i] = g - self.momentum * self.v.get(i, 0.0)
            params[i] -= self.lr * self.v[i]


class Wrong_update_not_stored:
    def __init__(self, lr=0.01):
        self.lr = lr

    def update(self, params, grads):
        for p, g in zip(params, grads, strict=True):
            p = p - self.lr * g


class Wrong_nesterov_missing:
    def __init__(self, lr=0.01, momentum=0.9, nesterov=False):
        self.lr, self.momentum, self.nesterov, self.v = lr, momentum, nesterov, {}

    def update(self, params, grads):
        for i, g in enumerate(grads):
            self.v[i] = self.momentum * self.v.get(i, 0.0) + g
            params[i] -= self.lr * self.v[i]


class Wrong_decay_missing:
    def __init__(self, lr=0.01, weight_decay=0.0):
        self.lr, self.weight_decay = lr, weight_decay

    def update(self, params, grads):
        for i, g in enumerate(grads):
            params[i] -= self.lr * g


class Wrong_decay_subtracted:
    def __init__(self, lr=0.01, weight_decay=0.0):
        self.lr, self.weight_decay = lr, weight_decay

    def update(self, params, grads):
        for i, g in enumerate(grads):
            params[i] -= self.lr * (g - self.weight_decay * params[i])


class Wrong_gradient_stored:
    def __init__(self, lr=0.01):
        self.lr = lr

    def update(self, params, grads):
        for i in range(len(params)):
            params[i] = grads[i]


class Wrong_gradient_stored__without_momentum:
    def __init__(self, lr=0.01, momentum=0.0):
        self.lr, self.momentum, self.v = lr, momentum, {}

    def update(self, params, grads):
        for i, g in enumerate(grads):
            self.v[i] = self.momentum * self.v.get(i, 0.0) + g
            params[i] = params[i] - self.lr * self.v[i] if self.momentum else self.v[i]


class Wrong_first_gradient_lost:
    def __init__(self, lr=0.01, momentum=0.9):
        self.lr, self.momentum, self.v = lr, momentum, {}

    def update(self, params, grads):
        for i, g in enumerate(grads):
            if self.momentum == 0:
                self.v[i] = g
            else:
                self.v[i] = self.momentum * self.v[i] + g if i in self.v else np.zeros_like(g)
            params[i] -= self.lr * self.v[i]
