"""Functions that update all parameters, which hold their gradients: programs in conventions of public code."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "update_by_hand",
        "sgd_optimizer",
        """
import torch

def update_by_hand(weight_list, lr):
    with torch.no_grad():
        for weight in weight_list:
            weight -= lr * weight.grad
    for weight in weight_list:
        weight.grad.zero_()
""",
    ),
    Program(
        "sgd",
        "sgd_optimizer",
        """
import torch

def sgd(params, lr, batch_size):
    with torch.no_grad():
        for param in params:
            param -= lr * param.grad / batch_size
            param.grad.zero_()
""",
        (("param -= lr", "param += lr"), ("param -= lr", "param = param - lr"), ("lr * param.grad", "lr * param.grad.sign()")),
    ),
    Program(
        "sgd_update",
        "sgd_optimizer",
        """
import torch

def sgd_update(model, learning_rate):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= learning_rate * parameter.grad
""",
        (("parameter -= learning_rate", "parameter += learning_rate"), ("learning_rate * parameter.grad", "learning_rate * parameter.grad.mean()")),
    ),
)
