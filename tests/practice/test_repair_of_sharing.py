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

ZEROS = "[np.zeros_like(p) for p in params]\n"
PROGRAMS = [
    (ADAM, [(f"self.m = {ZEROS}        self.v = {ZEROS}", f"self.m = self.v = {ZEROS}")]),
    (OF_LAYERS, [("weight.copy()", "weight"), ("bias.copy()", "bias")]),
    (ADAM, [("p -= self.lr * m_hat / (np.sqrt(v_hat) + self.eps)", "p = p - self.lr * m_hat / (np.sqrt(v_hat) + self.eps)")]),
]


@pytest.mark.parametrize(("program", "slips"), PROGRAMS, ids=("assigned to both", "appended twice", "no longer in place"))
def test_what_is_shared_or_no_longer_is_is_repaired(program: str, slips: list[tuple[str, str]]):
    text, _ = with_slips(program, slips)
    repair, is_right = repaired("adam_optimizer", text)
    assert is_right, repair
