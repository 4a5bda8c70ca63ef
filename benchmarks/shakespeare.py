"""nanoGPT's character-level Shakespeare for a CPU, with transformers' GPT-2 for the model: `python -m benchmarks.shakespeare TEXT`.

Settings are nanoGPT's for a CPU: block 64, batch 12, 4 layers, 4 heads, width 128, 2,000 steps, no dropout, learning rate 1e-3 down to
1e-4, warm-up 100, beta2 0.99, weight decay 0.1, gradients clipped at 1, the last tenth for validation, 20 batches per estimate of the loss.
"""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel

BLOCK, BATCH, STEPS, WARMUP, EVAL_EVERY, EVAL_BATCHES = 64, 12, 2000, 100, 250, 20
LEARNING_RATE, MIN_LEARNING_RATE = 1e-3, 1e-4


def main(path: Path) -> None:
    torch.manual_seed(1337)
    text = path.read_text(encoding="utf-8")
    characters = {character: index for index, character in enumerate(sorted(set(text)))}
    tokens = torch.tensor([characters[character] for character in text])
    boundary = int(0.9 * len(tokens))
    parts = {"train": tokens[:boundary], "validation": tokens[boundary:]}
    config = GPT2Config(
        vocab_size=len(characters), n_positions=BLOCK, n_embd=128, n_layer=4, n_head=4, embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0
    )
    model = GPT2LMHeadModel(config)
    matrices = [p for p in model.parameters() if p.ndim > 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": [p for p in model.parameters() if p.ndim == 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=LEARNING_RATE, betas=(0.9, 0.99), fused=True)

    def loss_of(part: str) -> torch.Tensor:
        starts = torch.randint(len(parts[part]) - BLOCK - 1, (BATCH,))
        rows = torch.stack([parts[part][start : start + BLOCK + 1] for start in starts])
        logits = model(rows[:, :-1]).logits
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())

    started = time.perf_counter()
    for step in range(STEPS):
        if step % EVAL_EVERY == 0:
            with torch.no_grad():
                for part in parts:
                    sum(loss_of(part).item() for _ in range(EVAL_BATCHES))
        for group in optimizer.param_groups:
            group["lr"] = _learning_rate(step)
        loss = loss_of("train")
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    seconds = time.perf_counter() - started
    model.eval()
    with torch.no_grad():
        validation = sum(loss_of("validation").item() for _ in range(EVAL_BATCHES * 10)) / (EVAL_BATCHES * 10)
    print(json.dumps({"seconds": round(seconds, 1), "validation_loss": round(validation, 4)}))


def _learning_rate(step: int) -> float:
    if step < WARMUP:
        return LEARNING_RATE * (step + 1) / (WARMUP + 1)
    share = (step - WARMUP) / (STEPS - WARMUP)
    return MIN_LEARNING_RATE + (LEARNING_RATE - MIN_LEARNING_RATE) * (1 + math.cos(math.pi * share)) / 2


if __name__ == "__main__":
    main(Path(sys.argv[1]))
