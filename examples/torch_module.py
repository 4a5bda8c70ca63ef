"""Train a causal attention layer from headway.nn to copy the previous token. Needs torch."""

import torch
from torch import nn as torch_nn

from headway import nn

torch.manual_seed(0)
vocab_size, hidden_size, seq_len = 16, 32, 12


class Model(torch_nn.Module):
    """Token and position embeddings, one block, and a projection to logits."""

    def __init__(self):
        super().__init__()
        self.tokens = torch_nn.Embedding(vocab_size, hidden_size)
        self.positions = nn.SinusoidalPositions(seq_len, hidden_size)
        self.attention = nn.MultiHeadAttention(hidden_size, 4)
        self.head = torch_nn.Linear(hidden_size, vocab_size)

    def forward(self, token_ids):
        """Return logits of shape (batch, seq_len, vocab_size)."""
        x = self.positions(self.tokens(token_ids))
        return self.head(x + self.attention(x, x, x, is_causal=True))


model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for _ in range(300):
    token_ids = torch.randint(vocab_size, (32, seq_len))
    logits = model(token_ids)[:, 1:]
    loss = torch_nn.functional.cross_entropy(logits.flatten(0, 1), token_ids[:, :-1].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss after 300 steps: {loss.item():.3f} (guessing: {torch.tensor(vocab_size).log():.3f})")
