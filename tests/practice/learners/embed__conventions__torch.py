"""Embeddings that take only a batch, that inherit their method, and that keep a row for padding."""

import math

import torch.nn as nn


class right_batches_only(nn.Module):  # noqa: N801
    def __init__(self, vocab_size, model_dimension):
        super().__init__()
        self.table, self.width = nn.Embedding(vocab_size, model_dimension), model_dimension

    def forward(self, token_ids):
        assert token_ids.ndim == 2, token_ids.shape
        return self.table(token_ids) * math.sqrt(self.width)


class right_inherited(nn.Embedding):  # noqa: N801
    def __init__(self, vocab_size, d_model):
        super().__init__(vocab_size, d_model, padding_idx=1)
