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


class Right_names:
    def __init__(self, lr=0.001, beta1=0.9, beta2=0.999, eps=1e-8):
        self.lr, self.b1, self.b2, self.eps = lr, beta1, beta2, eps
        self.m, self.v, self.t = {}, {}, 0

    def step(self, params):
        self.t += 1
        for p in params:
            if p.name not in self.m:
                self.m[p.name] = np.zeros_like(p.data)
                self.v[p.name] = np.zeros_like(p.data)
            self.m[p.name] = self.b1 * self.m[p.name] + (1 - self.b1) * p.grad
            self.v[p.name] = self.b2 * self.v[p.name] + (1 - self.b2) * p.grad**2
            mh = self.m[p.name] / (1 - self.b1**self.t)
            vh = self.v[p.name] / (1 - self.b2**self.t)
            p.data -= self.lr * mh / (np.sqrt(vh) + self.eps)


class Right_layers_of_a_model:
    def __init__(self, model, lr=0.001, beta1=0.9, beta2=0.999, eps=1e-8):
        self.model, self.lr, self.b1, self.b2, self.eps, self.t = model, lr, beta1, beta2, eps, 0
        self.m = [{k: np.zeros_like(v) for k, v in layer.params.items()} for layer in model.layers]
        self.v = [{k: np.zeros_like(v) for k, v in layer.params.items()} for layer in model.layers]

    def step(self):
        self.t += 1
        for i, layer in enumerate(self.model.layers):
            for k in layer.params:
                g = layer.grads[k]
                self.m[i][k] = self.b1 * self.m[i][k] + (1 - self.b1) * g
                self.v[i][k] = self.b2 * self.v[i][k] + (1 - self.b2) * g * g
                mh = self.m[i][k] / (1 - self.b1**self.t)
                vh = self.v[i][k] / (1 - self.b2**self.t)
                layer.params[k] -= self.lr * mh / (np.sqrt(vh) + self.eps)


class Right_parameters_of_a_model:
    def __init__(self, model, lr=0.001, beta1=0.9, beta2=0.999, eps=1e-8):
        self.params = model.parameters()
        self.lr, self.b1, self.b2, self.eps, self.t = lr, beta1, beta2, eps, 0
        self.m = [np.zeros_like(p.data) for p in self.params]
        self.v = [np.zeros_like(p.data) for p in self.params]

    def step(self):
        self.t += 1
        for i, p in enumerate(self.params):
            self.m[i] = self.b1 * self.m[i] + (1 - self.b1) * p.grad
            self.v[i] = self.b2 * self.v[i] + (1 - self.b2) * p.grad**2
            mh = self.m[i] / (1 - self.b1**self.t)
            vh = self.v[i] / (1 - self.b2**self.t)
            p.data -= self.lr * mh / (np.sqrt(vh) + self.eps)


class Right_list_of_layers:
    def __init__(self, lr=0.001, beta1=0.9, beta2=0.999, eps=1e-8):
        self.lr, self.b1, self.b2, self.eps, self.t = lr, beta1, beta2, eps, 0

    def update(self, layers):
        self.t += 1
        for layer in layers:
            if not hasattr(layer, "weights"):
                continue
            if not hasattr(layer, "m_w"):
                layer.m_w, layer.v_w = np.zeros_like(layer.weights), np.zeros_like(layer.weights)
                layer.m_b, layer.v_b = np.zeros_like(layer.biases), np.zeros_like(layer.biases)
            layer.m_w = self.b1 * layer.m_w + (1 - self.b1) * layer.dweights
            layer.v_w = self.b2 * layer.v_w + (1 - self.b2) * layer.dweights**2
            layer.m_b = self.b1 * layer.m_b + (1 - self.b1) * layer.dbiases
            layer.v_b = self.b2 * layer.v_b + (1 - self.b2) * layer.dbiases**2
            c1, c2 = 1 - self.b1**self.t, 1 - self.b2**self.t
            layer.weights -= self.lr * (layer.m_w / c1) / (np.sqrt(layer.v_w / c2) + self.eps)
            layer.biases -= self.lr * (layer.m_b / c1) / (np.sqrt(layer.v_b / c2) + self.eps)


class Right_one_layer_at_a_time:
    def __init__(self, learning_rate=0.001, decay=0.0, epsilon=1e-7, beta_1=0.9, beta_2=0.999):
        self.learning_rate = learning_rate
        self.current_learning_rate = learning_rate
        self.decay = decay
        self.iterations = 0
        self.epsilon = epsilon
        self.beta_1 = beta_1
        self.beta_2 = beta_2

    def pre_update_params(self):
        if self.decay:
            self.current_learning_rate = self.learning_rate * (1.0 / (1.0 + self.decay * self.iterations))

    def update_params(self, layer):
        if not hasattr(layer, "weight_cache"):
            layer.weight_momentums = np.zeros_like(layer.weights)
            layer.weight_cache = np.zeros_like(layer.weights)
            layer.bias_momentums = np.zeros_like(layer.biases)
            layer.bias_cache = np.zeros_like(layer.biases)
        layer.weight_momentums = self.beta_1 * layer.weight_momentums + (1 - self.beta_1) * layer.dweights
        layer.bias_momentums = self.beta_1 * layer.bias_momentums + (1 - self.beta_1) * layer.dbiases
        wm = layer.weight_momentums / (1 - self.beta_1 ** (self.iterations + 1))
        bm = layer.bias_momentums / (1 - self.beta_1 ** (self.iterations + 1))
        layer.weight_cache = self.beta_2 * layer.weight_cache + (1 - self.beta_2) * layer.dweights**2
        layer.bias_cache = self.beta_2 * layer.bias_cache + (1 - self.beta_2) * layer.dbiases**2
        wc = layer.weight_cache / (1 - self.beta_2 ** (self.iterations + 1))
        bc = layer.bias_cache / (1 - self.beta_2 ** (self.iterations + 1))
        layer.weights += -self.current_learning_rate * wm / (np.sqrt(wc) + self.epsilon)
        layer.biases += -self.current_learning_rate * bm / (np.sqrt(bc) + self.epsilon)

    def post_update_params(self):
        self.iterations += 1


class Wrong_gradient_not_squared__model:
    def __init__(self, model, lr=0.001, beta1=0.9, beta2=0.999, eps=1e-8):
        self.params, self.lr, self.beta1, self.beta2, self.eps, self.t = model.parameters(), lr, beta1, beta2, eps, 0
        self.m, self.v = [0.0 for _ in self.params], [0.0 for _ in self.params]

    def step(self):
        self.t += 1
        for i, p in enumerate(self.params):
            self.m[i] = self.beta1 * self.m[i] + (1 - self.beta1) * p.grad
            self.v[i] = self.beta2 * self.v[i] + (1 - self.beta2) * p.grad
            mean, square = self.m[i] / (1 - self.beta1**self.t), self.v[i] / (1 - self.beta2**self.t)
            p.data -= self.lr * mean / (np.sqrt(square) + self.eps)


class Right_layers_by_attributes:  # noqa: N801
    def __init__(self, model, lr=0.001, beta1=0.9, beta2=0.999, eps=1e-8):
        self.model, self.lr, self.beta1, self.beta2, self.eps, self.t = model, lr, beta1, beta2, eps, 0
        self.m, self.v = {}, {}

    def step(self):
        self.t += 1
        self._update("weight", self.model.weight, self.model.grad_weight)
        if hasattr(self.model, "bias"):
            self._update("bias", self.model.bias, self.model.grad_bias)

    def _update(self, name, p, g):
        self.m[name] = self.beta1 * self.m.get(name, 0.0) + (1 - self.beta1) * g
        self.v[name] = self.beta2 * self.v.get(name, 0.0) + (1 - self.beta2) * g**2
        mean, square = self.m[name] / (1 - self.beta1**self.t), self.v[name] / (1 - self.beta2**self.t)
        p -= self.lr * mean / (np.sqrt(square) + self.eps)


class Right_pairs:  # noqa: N801
    def __init__(self, lr=0.001, beta1=0.9, beta2=0.999, eps=1e-8):
        self.lr, self.beta1, self.beta2, self.eps, self.t = lr, beta1, beta2, eps, 0
        self.m, self.v = {}, {}

    def apply_gradients(self, grads_and_vars):
        self.t += 1
        for i, (g, p) in enumerate(grads_and_vars):
            self.m[i] = self.beta1 * self.m.get(i, 0.0) + (1 - self.beta1) * g
            self.v[i] = self.beta2 * self.v.get(i, 0.0) + (1 - self.beta2) * g**2
            mean, square = self.m[i] / (1 - self.beta1**self.t), self.v[i] / (1 - self.beta2**self.t)
            p -= self.lr * mean / (np.sqrt(square) + self.eps)


class Wrong_root_missing__pairs:  # noqa: N801
    def __init__(self, lr=0.001, beta1=0.9, beta2=0.999, eps=1e-8):
        self.lr, self.beta1, self.beta2, self.eps, self.t = lr, beta1, beta2, eps, 0
        self.m, self.v = {}, {}

    def step(self, params_and_grads):
        self.t += 1
        for i, (p, g) in enumerate(params_and_grads):
            self.m[i] = self.beta1 * self.m.get(i, 0.0) + (1 - self.beta1) * g
            self.v[i] = self.beta2 * self.v.get(i, 0.0) + (1 - self.beta2) * g**2
            mean, square = self.m[i] / (1 - self.beta1**self.t), self.v[i] / (1 - self.beta2**self.t)
            p -= self.lr * mean / (square + self.eps)
