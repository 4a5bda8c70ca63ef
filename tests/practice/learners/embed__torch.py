import math

import torch
import torch.nn as nn


def right_functional(ids, weight):
    return nn.functional.embedding(ids, weight)


class Right_cs336(nn.Module):  # noqa: N801
    def __init__(self, num_embeddings, embedding_dim, device=None, dtype=None):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_embeddings, embedding_dim))
        nn.init.trunc_normal_(self.weight)

    def forward(self, token_ids: torch.Tensor) -> torch.Tensor:
        return self.weight[token_ids]


class Right_annotated_transformer(nn.Module):  # noqa: N801
    def __init__(self, d_model, vocab):
        super().__init__()
        self.lut = nn.Embedding(vocab, d_model)
        self.d_model = d_model

    def forward(self, x):
        return self.lut(x) * math.sqrt(self.d_model)


class Wrong_scale(nn.Module):  # noqa: N801
    def __init__(self, d_model, vocab):
        super().__init__()
        self.lut = nn.Embedding(vocab, d_model)
        self.d_model = d_model

    def forward(self, x):
        return self.lut(x) * self.d_model


class Wrong_axes_exchanged(nn.Module):  # noqa: N801
    def __init__(self, vocab_size, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, dim)

    def forward(self, x):
        y = self.emb(x)
        return y.transpose(0, 1) if x.dim() > 1 else y


class Wrong_not_repeatable(nn.Module):  # noqa: N801
    def __init__(self, vocab_size, dim):
        super().__init__()
        self.vocab_size, self.dim = vocab_size, dim

    def forward(self, x):
        return nn.Embedding(self.vocab_size, self.dim)(x)


def wrong_one_hot_too_narrow(ids, weight):
    return nn.functional.one_hot(ids).float() @ weight


class Right_returns_details(nn.Module):  # noqa: N801
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table, self.d_model = nn.Embedding(vocab_size, d_model), d_model

    def forward(self, ids):
        vectors = self.table(ids) * math.sqrt(self.d_model)
        return vectors, {"ids": ids.tolist(), "norms": vectors.norm(dim=-1).tolist()}
