"""Updates of parameters that hold their gradients, and methods of tokenizers: programs in conventions of public code."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "Adam",
        "adam_optimizer",
        """
import numpy as np

class Adam:
    def __init__(self, params, rate=0.001, beta1=0.9, beta2=0.999, eps=1e-8):
        self.params = params
        self.rate, self.beta1, self.beta2, self.eps = rate, beta1, beta2, eps
        self.count = 0
        self.means = [np.zeros_like(pair[0]) for pair in params]
        self.squares = [np.zeros_like(pair[0]) for pair in params]

    def step(self):
        self.count += 1
        for place in range(len(self.params)):
            weight, grad = self.params[place]
            self.means[place] = self.beta1 * self.means[place] + (1 - self.beta1) * grad
            self.squares[place] = self.beta2 * self.squares[place] + (1 - self.beta2) * grad**2
            mean = self.means[place] / (1 - self.beta1**self.count)
            square = self.squares[place] / (1 - self.beta2**self.count)
            weight -= self.rate * mean / (np.sqrt(square) + self.eps)
""",
        (
            ("(1 - self.beta2**self.count)", "(1 - self.beta1**self.count)"),
            ("weight -= self.rate", "weight += self.rate"),
            ("grad**2", "grad"),
        ),
    ),
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
        (
            ("parameter -= learning_rate", "parameter += learning_rate"),
            ("learning_rate * parameter.grad", "learning_rate * parameter.grad.mean()"),
        ),
    ),
    Program(
        "TextTokenizer",
        "bpe_tokenizer",
        """
class TextTokenizer:
    def __init__(self, vocab, merges):
        self.vocab, self.ids = vocab, {text: number for number, text in vocab.items()}
        self.order = {}
        for place, (left, right) in enumerate(merges):
            self.order[self.ids[left], self.ids[right]] = place

    def encode(self, text):
        ids = [self.ids[each] for each in text]
        while known := [(self.order[pair], pair) for pair in zip(ids, ids[1:]) if pair in self.order]:
            left, right = min(known)[1]
            joined, place = [], 0
            while place < len(ids):
                is_pair = ids[place : place + 2] == [left, right]
                joined.append(self.ids[self.vocab[left] + self.vocab[right]] if is_pair else ids[place])
                place += 2 if is_pair else 1
            ids = joined
        return ids

    def decode(self, ids):
        return "".join(map(self.vocab.__getitem__, ids))
""",
        (("min(known)", "max(known)"), ("[left, right]", "[right, left]"), ("place += 2", "place += 1")),
    ),
    Program(
        "WordTokenizer.encode_word",
        "bpe_encode",
        """
class WordTokenizer:
    def __init__(self):
        self.rules, self.merge_ranks = [], {}

    def symbols_of(self, word):
        return list(word) + ["</w>"]

    def encode_word(self, word):
        symbols = self.symbols_of(word)
        while len(symbols) > 1:
            ranked = [(self.merge_ranks.get(pair, len(self.rules)), place) for place, pair in enumerate(zip(symbols, symbols[1:]))]
            rank, place = min(ranked)
            if rank == len(self.rules):
                break
            symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]
        return symbols
""",
    ),
    Program(
        "MarkedTokenizer.decode",
        "bpe_decode",
        """
class MarkedTokenizer:
    def __init__(self, vocab, merges):
        self.vocab, self.merges = vocab, merges

    def encode(self, text):
        raise NotImplementedError

    def decode(self, ids):
        text = ""
        for number in ids:
            token = self.vocab[number]
            text += " " + token[1:] if token.startswith("\u0120") else token
        return text
""",
    ),
    Program(
        "Momentum",
        "sgd_optimizer",
        """
import numpy as np

class Momentum:
    def __init__(self, params, l_r, momentum):
        assert all(isinstance(held, dict) for held in params)
        self.params, self.l_r, self.momentum = params, l_r, momentum
        self.speed = [{name: np.zeros_like(each.value) for name, each in held.items()} for held in params]

    def step(self):
        for place, held in enumerate(self.params):
            for name, each in held.items():
                self.speed[place][name] = self.momentum * self.speed[place][name] + each.gradient
                each.value -= self.l_r * self.speed[place][name]
""",
        (("] + each.gradient", "] - each.gradient"),),
    ),
    Program(
        "SGD",
        "sgd_optimizer",
        """
class SGD:
    def __init__(self, lr=0.01):
        self.lr = lr

    def update(self, params, grads):
        for held, slopes in zip(params, grads):
            for name in held:
                held[name] -= self.lr * slopes[name]
""",
        (("held[name] -=", "held[name] = -"),),
    ),
)
