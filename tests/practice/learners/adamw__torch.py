# ruff: noqa: N801
import math

import torch


class _Base(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.one(p, p.grad, self.state[p], group)
        return loss


class Right_optimizer(_Base):
    def one(self, p, grad, state, group):
        b1, b2 = group["betas"]
        t = state["t"] = state.get("t", 0) + 1
        state["m"] = b1 * state.get("m", torch.zeros_like(p)) + (1 - b1) * grad
        state["v"] = b2 * state.get("v", torch.zeros_like(p)) + (1 - b2) * grad**2
        p.mul_(1 - group["lr"] * group["weight_decay"])
        p.sub_(group["lr"] * (state["m"] / (1 - b1**t)) / ((state["v"] / (1 - b2**t)).sqrt() + group["eps"]))


class Right_rate_with_correction_and_decay_last(_Base):
    def one(self, p, grad, state, group):
        b1, b2 = group["betas"]
        t = state.get("t", 1)
        m = b1 * state.get("m", torch.zeros_like(p)) + (1 - b1) * grad
        v = b2 * state.get("v", torch.zeros_like(p)) + (1 - b2) * grad**2
        rate = group["lr"] * math.sqrt(1 - b2**t) / (1 - b1**t)
        p -= rate * m / (v.sqrt() + group["eps"])
        p -= group["lr"] * group["weight_decay"] * p
        state["m"], state["v"], state["t"] = m, v, t + 1


class Wrong_decay_with_corrected_rate(_Base):
    def one(self, p, grad, state, group):
        b1, b2 = group["betas"]
        t = state.get("t", 1)
        m = b1 * state.get("m", torch.zeros_like(p)) + (1 - b1) * grad
        v = b2 * state.get("v", torch.zeros_like(p)) + (1 - b2) * grad**2
        rate = group["lr"] * math.sqrt(1 - b2**t) / (1 - b1**t)
        p -= group["lr"] * (m / (1 - b1**t)) / ((v / (1 - b2**t)).sqrt() + group["eps"])
        p -= rate * group["weight_decay"] * p
        state["m"], state["v"], state["t"] = m, v, t + 1


class Wrong_root_of_correction_missing(_Base):
    def one(self, p, grad, state, group):
        b1, b2 = group["betas"]
        t = state.get("t", 1)
        m = b1 * state.get("m", torch.zeros_like(p)) + (1 - b1) * grad
        v = b2 * state.get("v", torch.zeros_like(p)) + (1 - b2) * grad**2
        rate = group["lr"] * (1 - b2**t) / (1 - b1**t)
        p -= rate * m / (v.sqrt() + group["eps"])
        p -= group["lr"] * group["weight_decay"] * p
        state["m"], state["v"], state["t"] = m, v, t + 1


class Wrong_no_bias_correction(_Base):
    def one(self, p, grad, state, group):
        b1, b2 = group["betas"]
        m = b1 * state.get("m", torch.zeros_like(p)) + (1 - b1) * grad
        v = b2 * state.get("v", torch.zeros_like(p)) + (1 - b2) * grad**2
        p.mul_(1 - group["lr"] * group["weight_decay"])
        p -= group["lr"] * m / (v.sqrt() + group["eps"])
        state["m"], state["v"] = m, v


class Wrong_update_not_stored:  # noqa: N801
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.params, self.lr, self.betas, self.eps, self.weight_decay, self.t = list(params), lr, betas, eps, weight_decay, 0
        self.m = [torch.zeros_like(p) for p in self.params]
        self.v = [torch.zeros_like(p) for p in self.params]

    @torch.no_grad()
    def step(self):
        self.t += 1
        for i, p in enumerate(self.params):
            self.m[i] = self.betas[0] * self.m[i] + (1 - self.betas[0]) * p.grad
            self.v[i] = self.betas[1] * self.v[i] + (1 - self.betas[1]) * p.grad**2
            mean, square = self.m[i] / (1 - self.betas[0] ** self.t), self.v[i] / (1 - self.betas[1] ** self.t)
            p = p - self.lr * (mean / (square.sqrt() + self.eps) + self.weight_decay * p)


class _Listed:
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.params, self.lr, self.betas, self.eps, self.weight_decay, self.t = list(params), lr, betas, eps, weight_decay, 0
        self.m = [torch.zeros_like(p) for p in self.params]
        self.v = [torch.zeros_like(p) for p in self.params]

    def moments(self, i, grad):
        self.m[i] = self.betas[0] * self.m[i] + (1 - self.betas[0]) * grad
        self.v[i] = self.betas[1] * self.v[i] + (1 - self.betas[1]) * grad**2
        return self.m[i] / (1 - self.betas[0] ** self.t), self.v[i] / (1 - self.betas[1] ** self.t)


class Wrong_only_first_updated(_Listed):  # noqa: N801
    @torch.no_grad()
    def step(self):
        self.t += 1
        for i, p in enumerate(self.params):
            mean, square = self.moments(i, p.grad)
            p.mul_(1 - self.lr * self.weight_decay)
            p -= self.lr * mean / (square.sqrt() + self.eps)
            return


class Wrong_only_last_updated(_Listed):  # noqa: N801
    @torch.no_grad()
    def step(self):
        self.t += 1
        for i, p in enumerate(self.params):
            mean, square = self.moments(i, p.grad)
        p.mul_(1 - self.lr * self.weight_decay)
        p -= self.lr * mean / (square.sqrt() + self.eps)


class Wrong_decay_twice(_Base):
    def one(self, p, grad, state, group):
        b1, b2 = group["betas"]
        t = state.get("t", 1)
        grad = grad + group["weight_decay"] * p
        m = b1 * state.get("m", torch.zeros_like(p)) + (1 - b1) * grad
        v = b2 * state.get("v", torch.zeros_like(p)) + (1 - b2) * grad**2
        p.mul_(1 - group["lr"] * group["weight_decay"])
        p -= group["lr"] * (m / (1 - b1**t)) / ((v / (1 - b2**t)).sqrt() + group["eps"])
        state["m"], state["v"], state["t"] = m, v, t + 1


class Wrong_decay_twice__with_corrected_rate(_Base):
    def one(self, p, grad, state, group):
        b1, b2 = group["betas"]
        t = state.get("t", 1)
        grad = grad + group["weight_decay"] * p
        m = b1 * state.get("m", torch.zeros_like(p)) + (1 - b1) * grad
        v = b2 * state.get("v", torch.zeros_like(p)) + (1 - b2) * grad**2
        rate = group["lr"] * math.sqrt(1 - b2**t) / (1 - b1**t)
        p -= rate * m / (v.sqrt() + group["eps"])
        p -= rate * group["weight_decay"] * p
        state["m"], state["v"], state["t"] = m, v, t + 1
