"""Parts whose operands have the names of sizes, or whose sizes have long names."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "Head",
        "causal_self_attention",
        """
import torch
from torch import nn

WIDTH, CONTEXT = 48, 32

class Head(nn.Module):
    def __init__(self, head_size):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, head_size, bias=False) for _ in range(3))
        self.register_buffer("visible", torch.tril(torch.ones(CONTEXT, CONTEXT)))

    def forward(self, batch):
        length = batch.shape[1]
        q, k = self.q(batch), self.k(batch)
        scores = q @ k.mT * k.shape[-1] ** -0.5
        scores = scores.masked_fill(self.visible[:length, :length] == 0, -torch.inf)
        return scores.softmax(-1) @ self.v(batch)
""",
        (("k.shape[-1] ** -0.5", "WIDTH ** -0.5"),),
    ),
    Program(
        "generate_text",
        "generate",
        """
from dataclasses import dataclass

import torch

@dataclass
class Settings:
    maximum_length: int
    temperature: float
    device: torch.device

def generate_text(model, tokenizer, prompt, settings: Settings):
    ids = torch.tensor([tokenizer.encode(prompt)]).to(settings.device)
    for _ in range(settings.maximum_length):
        shares = (model(ids)[0, -1] / settings.temperature).softmax(-1)
        ids = torch.cat([ids, torch.multinomial(shares, 1)[None]], 1)
    return tokenizer.decode(ids[0].tolist())
""",
        (("[0, -1]", "[0, 0]"),),
    ),
)
