"""Losses and optimizers in conventions of public code, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "generate_text",
        "generate",
        """
import torch

@torch.no_grad()
def generate_text(model, tokenizer, prompt, max_new_tokens, context_size):
    ids = tokenizer.encode(prompt)
    for _ in range(max_new_tokens):
        token = int(model(torch.tensor([ids[-context_size:]]))[0, -1].argmax())
        if token == tokenizer.eot_token_id:
            break
        ids.append(token)
    return tokenizer.decode(ids)
""",
        (("[0, -1].argmax()", "[0, 0].argmax()"), ("ids[-context_size:]", "ids[:context_size]")),
    ),
    Program(
        "cross_entropy_loss",
        "cross_entropy",
        """
import numpy as np

def cross_entropy_loss(logits, targets, smoothing=0.1, ignore_index=0):
    count, classes = logits.shape
    shifted = logits - logits.max(1, keepdims=True)
    log_probs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    kept = targets != ignore_index
    wanted = np.full((count, classes), smoothing / classes)
    wanted[np.arange(count)[kept], targets[kept]] += 1.0 - smoothing
    loss = -(wanted * log_probs).sum(1)[kept].mean()
    gradient = (np.exp(log_probs) - wanted) / max(kept.sum(), 1)
    return loss, gradient
""",
        (
            ("1.0 - smoothing", "1.0 + smoothing + 1"),
            ("[kept].mean()", ".mean()"),
            ("-(wanted", "(wanted"),
            ("[kept].mean()", "[kept].sum()"),
            ("log_probs = shifted -", "log_probs = logits -"),
        ),
    ),
    Program(
        "causal_lm_loss",
        "next_token_loss",
        """
import torch.nn.functional as F

def causal_lm_loss(logits, labels, ignore_index=-100):
    shifted = logits[:, :-1, :].contiguous()
    wanted = labels[:, 1:].contiguous()
    return F.cross_entropy(shifted.view(-1, shifted.size(-1)), wanted.view(-1), ignore_index=ignore_index)
""",
        (
            ("wanted = labels[:, 1:]", "wanted = labels[:, :-1]"),
            ("logits[:, :-1, :]", "logits[:, 1:, :]"),
            (", ignore_index=ignore_index)", ")"),
            ("ignore_index=ignore_index)", "ignore_index=ignore_index, reduction='sum')"),
            ("shifted.view(-1, shifted.size(-1))", "shifted.view(-1, shifted.size(-1)).softmax(-1)"),
            ("wanted.view(-1)", "wanted.view(-1).roll(1)"),
        ),
    ),
    Program(
        "compute_loss",
        "cross_entropy",
        """
import torch.nn.functional as F

def compute_loss(logits, targets):
    B, T, C = logits.shape
    return F.cross_entropy(logits.view(B * T, C), targets.view(B * T))
""",
        (
            ("logits.view(B * T, C)", "-logits.view(B * T, C)"),
            ("targets.view(B * T))", "targets.view(B * T)) / T"),
            ("logits.view(B * T, C)", "logits.view(B * T, C).softmax(1)"),
            ("logits.view(B * T, C)", "logits.transpose(0, 1).reshape(B * T, C)"),
            ("targets.view(B * T))", "targets.view(B * T), reduction='sum')"),
        ),
    ),
    Program(
        "nll_and_perplexity",
        "cross_entropy",
        """
import math
import torch

def nll_and_perplexity(log_probs, target_ids):
    nll = -log_probs[torch.arange(len(target_ids)), target_ids].mean().item()
    return nll, math.exp(nll)
""",
        (
            ("-log_probs", "log_probs"),
            (".mean()", ".sum()"),
            ("target_ids].", "0]."),
        ),
    ),
    Program(
        "Adam",
        "adam_optimizer",
        """
import numpy as np

class Adam:
    def __init__(self, alpha=0.001, beta=0.9, beta2=0.999, epsilon=1e-8):
        self.alpha, self.beta, self.beta2, self.epsilon = alpha, beta, beta2, epsilon
    def update(self, gradient, weights, v, m, v_hat, m_hat, t):
        m = self.beta * m + (1 - self.beta) * gradient
        v = self.beta2 * v + (1 - self.beta2) * gradient**2
        m_hat = m / (1 - self.beta**t)
        v_hat = v / (1 - self.beta2**t)
        return weights - self.alpha * m_hat / (np.sqrt(v_hat) + self.epsilon), v, m, v_hat, m_hat
""",
        (("v / (1 - self.beta2**t)", "v / (1 - self.beta**t)"), ("gradient**2", "gradient")),
    ),
    Program(
        "Adam",
        "adam_optimizer",
        """
import numpy as np

class Adam:
    def __init__(self, lr=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-8, bias_correction=False):
        self.lr, self.beta_1, self.beta_2, self.epsilon = lr, beta_1, beta_2, epsilon
        self.bias_correction = bias_correction
        self.m, self.v = None, None

    def update(self, w, w_grads, iteration):
        new_w = {}
        if self.m is None:
            self.m, self.v = {k: 0 * v for k, v in w.items()}, {k: 0 * v for k, v in w.items()}
        for k in w:
            self.m[k] = self.beta_1 * self.m[k] + (1 - self.beta_1) * w_grads[k]
            self.v[k] = self.beta_2 * self.v[k] + (1 - self.beta_2) * w_grads[k] ** 2
            m_hat, v_hat = self.m[k], self.v[k]
            if self.bias_correction:
                m_hat, v_hat = m_hat / (1 - self.beta_1 ** (iteration + 1)), v_hat / (1 - self.beta_2 ** (iteration + 1))
            new_w[k] = w[k] - self.lr * m_hat / (np.sqrt(v_hat) + self.epsilon)
        return new_w
""",
        (("v_hat / (1 - self.beta_2 **", "v_hat / (1 - self.beta_1 **"), ("w_grads[k] ** 2", "w_grads[k]")),
    ),
    Program(
        "cross_entropy_with_z_loss",
        "cross_entropy",
        """
import torch

def cross_entropy_with_z_loss(inputs, targets, z_weight=1e-4):
    logs = torch.log_softmax(inputs, dim=-1)
    loss = -logs.gather(-1, targets.unsqueeze(-1)).mean()
    penalty = torch.logsumexp(inputs, dim=-1).square().mean()
    return loss + z_weight * penalty, loss, penalty
""",
        (("-logs.gather", "logs.gather"),),
    ),
    Program(
        "AdamOptimizer",
        "adam_optimizer",
        """
import numpy as np

class AdamOptimizer:
    def __init__(self, args, Layers, decay_rate_1=0.9, decay_rate_2=0.999):
        self.lr, self.lam = args.learning_rate, args.weight_decay
        self.beta1, self.beta2, self.t, self.Layers = decay_rate_1, decay_rate_2, 0, Layers
        self.m = [[np.zeros(L.W.shape), np.zeros(L.b.shape)] for L in Layers]
        self.v = [[np.zeros(L.W.shape), np.zeros(L.b.shape)] for L in Layers]

    def change(self, i, j, g):
        self.m[i][j] = self.beta1 * self.m[i][j] + (1 - self.beta1) * g
        self.v[i][j] = self.beta2 * self.v[i][j] + (1 - self.beta2) * g**2
        m, v = self.m[i][j] / (1 - self.beta1**self.t), self.v[i][j] / (1 - self.beta2**self.t)
        return self.lr * m / (np.sqrt(v) + 1e-8)

    def update(self):
        self.t += 1
        for i, L in enumerate(self.Layers):
            L.W *= 1 - self.lr * self.lam  # decay
            L.W -= self.change(i, 0, L.grad_W)
            L.b -= self.change(i, 1, L.grad_b)
""",
        (("(1 - self.beta2) * g**2", "(1 - self.beta2) * g"), ("L.W *= 1 - self.lr * self.lam", "L.W *= 1 - self.lam")),
    ),
    Program(
        "SGD",
        "sgd_optimizer",
        """
class Optimizer:
    def __init__(self, parameters):
        self.parameters = {name: each for name, each in parameters.items() if each.requires_grad}

class SGD(Optimizer):
    def __init__(self, parameters, start_rate=1e-3):
        super().__init__(parameters)
        self.rate = start_rate
    def step(self):
        for each in self.parameters.values():
            each -= self.rate * each.grad
""",
        (("each -=", "each +="),),
    ),
    Program(
        "SGD",
        "sgd_optimizer",
        """
import math
import torch

class SGD(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2):
        super().__init__(params, {"lr": lr})
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                count = self.state[p].get("count", 1)
                p.data -= group["lr"] / math.sqrt(count) * p.grad.data
                self.state[p]["count"] = count + 1
""",
        (("p.data -=", "p.data +="),),
    ),
    Program(
        "SGD",
        "sgd_optimizer",
        """
class Tensor:
    pass

class SGD:
    def __init__(self, params: list[Tensor], lr: float = 0.01, momentum: float = 0.0):
        self.params, self.lr, self.momentum, self.buffers = params, lr, momentum, [None] * len(params)
    def step(self):
        for i, param in enumerate(self.params):
            change = param.grad.data if isinstance(param.grad, Tensor) else param.grad
            if self.momentum != 0:
                self.buffers[i] = change if self.buffers[i] is None else self.momentum * self.buffers[i] + change
                change = self.buffers[i]
            param.data -= self.lr * change
""",
        (("param.data -=", "param.data +="), ("self.momentum * self.buffers[i] + change", "change - self.momentum * self.buffers[i]")),
    ),
    Program(
        "MomentumSGD",
        "sgd_optimizer",
        """
import numpy as np

class MomentumSGD:
    def __init__(self, train_rate=None, momentum=0.9, decay=0.99, clip_norm=1.0):
        self.rate, self.momentum, self.decay, self.clip_norm = train_rate, momentum, decay, clip_norm
    def register_parameter(self, parameter):
        parameter.velocity = np.zeros_like(parameter.value)
    def step(self, parameter):
        norm = np.linalg.norm(parameter.gradient)
        gradient = parameter.gradient * min(1.0, self.clip_norm / norm)
        parameter.velocity = self.momentum * parameter.velocity - self.rate * gradient
        parameter.value += parameter.velocity
        self.rate *= self.decay
""",
        (("value += p", "value -= p"), ("* parameter.velocity - self.rate *", "* parameter.velocity -")),
    ),
    Program(
        "GradientDescent",
        "sgd_optimizer",
        """
class GradientDescent:
    def __init__(self, params, lr=0.01):
        self.params, self.lr = params, lr
    def step(self, grads):
        for key in self.params:
            self.params[key] = self.params[key] - self.lr * grads[key]
""",
        (("[key] - self", "[key] + self"), (" - self.lr * grads", " - grads")),
    ),
    Program(
        "entropy_between",
        "cross_entropy",
        """
from math import log

def entropy_between(p: list[float], q: list[float]) -> float:
    return -sum(a * log(b + 1e-15) for a, b in zip(p, q))
""",
        (("-sum", "sum"),),
    ),
    Program(
        "split_loss",
        "next_token_loss",
        """
import torch

def split_loss(logits, x, position_mask):
    chosen = logits[:, :-1].log_softmax(-1).gather(-1, x[:, 1:, None])[..., 0]
    counts = position_mask[:, :-1]
    return -chosen[counts].mean(), -chosen[~counts].mean()
""",
        (("-chosen[counts].mean()", "-chosen[counts].sum()"),),
    ),
    Program(
        "loss_fn",
        "cross_entropy",
        """
import numpy as np
import torch
import torch.nn.functional as F

def loss_fn(model, x, y):
    logits = model(x)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), y[:, 1:].flatten())

def get_batch(tokens, size, length):
    starts = np.random.randint(0, len(tokens) - length, size)
    batch = torch.stack([tokens[i : i + length] for i in starts])
    return batch, batch
""",
        (("return batch, batch", "return batch[:, :-1], batch[:, 1:]"), ("y[:, 1:]", "y[:, :-1]")),
    ),
    Program(
        "cross_entropy",
        "cross_entropy",
        """
import numpy as np

wanted = np.zeros(6)
wanted[4] = 1

def cross_entropy(prediction, target):
    return -np.sum(target * np.log(prediction + 1e-8))

def report(row):
    return cross_entropy(row, wanted)
""",
        (("-np.sum", "np.sum"), ("np.log(prediction + 1e-8)", "prediction")),
    ),
    Program(
        "cross_entropy_loss",
        "cross_entropy",
        """
from einops import rearrange

def cross_entropy_loss(logits, labels):
    rows = rearrange(logits, "batch seq vocab -> (batch seq) vocab")
    wanted = rearrange(labels, "batch seq -> (batch seq) 1")
    largest = rows.max(dim=-1, keepdim=True).values
    total = (rows - largest).exp().sum(dim=-1, keepdim=True).log() + largest
    return (total - rows.gather(-1, wanted)).mean()
""",
        ((".log() + largest", ".log()"), (".mean()", ".sum()")),
    ),
)
