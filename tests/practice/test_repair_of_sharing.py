"""Repairs of arrays that two names share, and of an update in place that became a new array."""

from __future__ import annotations

import pytest

from tests.practice.test_repair import repaired, with_slips

ADAM = """
import numpy as np

class Adam:
    def __init__(self, params, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
        self.params, self.lr, self.beta1, self.beta2, self.eps = params, lr, beta1, beta2, eps
        self.t = 0
        self.m = [np.zeros_like(p) for p in params]
        self.v = [np.zeros_like(p) for p in params]

    def step(self, grads):
        self.t += 1
        for i, (p, g) in enumerate(zip(self.params, grads)):
            self.m[i] = self.beta1 * self.m[i] + (1 - self.beta1) * g
            self.v[i] = self.beta2 * self.v[i] + (1 - self.beta2) * g ** 2
            m_hat = self.m[i] / (1 - self.beta1 ** self.t)
            v_hat = self.v[i] / (1 - self.beta2 ** self.t)
            p -= self.lr * m_hat / (np.sqrt(v_hat) + self.eps)
"""

OF_LAYERS = """
import numpy as np

class Adam:
    def __init__(self, layers: list, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
        self.layers, self.lr, self.beta1, self.beta2, self.eps = layers, lr, beta1, beta2, eps
        self.t = 0
        self.start()

    def start(self):
        self.first, self.second, self.first_b, self.second_b = [], [], [], []
        for layer in self.layers:
            weight, bias = np.zeros(layer.W.shape), np.zeros(layer.b.shape)
            self.first.append(weight)
            self.second.append(weight.copy())
            self.first_b.append(bias)
            self.second_b.append(bias.copy())

    def update(self):
        self.t += 1
        for i, layer in enumerate(self.layers):
            for first, second, p, g in ((self.first[i], self.second[i], layer.W, layer.dW), (self.first_b[i], self.second_b[i], layer.b, layer.db)):
                first *= self.beta1
                first += (1 - self.beta1) * g
                second *= self.beta2
                second += (1 - self.beta2) * g ** 2
                m_hat, v_hat = first / (1 - self.beta1 ** self.t), second / (1 - self.beta2 ** self.t)
                p -= self.lr * m_hat / (np.sqrt(v_hat) + self.eps)
"""

OF_STATE = """
import torch

class DecayedAdam(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["first"] = torch.zeros_like(p)
                    state["second"] = torch.zeros_like(p)
                state["step"] += 1
                state["first"].lerp_(p.grad, 1 - beta1)
                state["second"].mul_(beta2).add_(p.grad ** 2, alpha=1 - beta2)
                first, second = state["first"] / (1 - beta1 ** state["step"]), state["second"] / (1 - beta2 ** state["step"])
                p.mul_(1 - group["lr"] * group["weight_decay"]).sub_(group["lr"] * first / (second.sqrt() + group["eps"]))
"""

ZEROS = "[np.zeros_like(p) for p in params]\n"
PROGRAMS = [
    (ADAM, [(f"self.m = {ZEROS}        self.v = {ZEROS}", f"self.m = self.v = {ZEROS}")]),
    (OF_LAYERS, [("weight.copy()", "weight"), ("bias.copy()", "bias")]),
    (ADAM, [("p -= self.lr * m_hat / (np.sqrt(v_hat) + self.eps)", "p = p - self.lr * m_hat / (np.sqrt(v_hat) + self.eps)")]),
]


def test_the_array_of_another_element_of_a_state_is_repaired():
    text, _ = with_slips(OF_STATE, [('state["second"] = torch.zeros_like(p)', 'state["second"] = state["first"]')])
    repair, is_right = repaired("adamw", text)
    assert is_right, repair


@pytest.mark.parametrize(("program", "slips"), PROGRAMS, ids=("assigned to both", "appended twice", "no longer in place"))
def test_what_is_shared_or_no_longer_is_is_repaired(program: str, slips: list[tuple[str, str]]):
    text, _ = with_slips(program, slips)
    repair, is_right = repaired("adam_optimizer", text)
    assert is_right, repair


ROWS = """
import math

def product(a, b):
    out = [[0.0] * len(b[0]) for _ in range(len(a))]
    for i, row in enumerate(a):
        for j in range(len(b[0])):
            for k, value in enumerate(row):
                out[i][j] += value * b[k][j]
    return out

def attention(q, k, v):
    turned = [list(each) for each in zip(*k)]
    weights = []
    for row in product(q, turned):
        powers = [math.exp(each / math.sqrt(len(k[0]))) for each in row]
        weights.append([each / sum(powers) for each in powers])
    return product(weights, v)
"""


def test_rows_that_are_one_list_are_repaired():
    text, _ = with_slips(ROWS, [("[[0.0] * len(b[0]) for _ in range(len(a))]", "[[0.0] * len(b[0])] * len(a)")])
    repair, is_right = repaired("scaled_dot_product_attention", text)
    assert is_right, repair
