"""Training throughput of transformers' GPT-2 on CUDA, next to `headway train`: `python -m benchmarks.training_peer BATCH_SIZE`.

The shape of GPT-2 small (12 layers, 12 heads, width 768, context 1,024) with a vocabulary of 256 bytes, matrix products in bfloat16 by autocast,
fused AdamW, gradients clipped at 1; as it is, and after torch.compile. Headway's command is

    headway train --out OUT --stories 3000 --tokenizer bytes --num-layers 12 --num-heads 12 --hidden-size 768 --context 1024
        --batch-size BATCH_SIZE --num-steps 60 --eval-every 1000 --dtype bfloat16 --device cuda
"""

from __future__ import annotations

import statistics
import sys
import time

import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

VOCAB_SIZE, CONTEXT, WARM_UPS, STEPS = 256, 1024, 10, 20


def main(batch_size: int) -> None:
    for name, compiled in (("transformers", False), ("transformers, compiled", True)):
        seconds = _seconds_per_step(batch_size, compiled=compiled)
        print(f"| {name} | {batch_size} | {batch_size * CONTEXT / seconds:,.0f} tokens/s | {seconds * 1e3:.1f} ms per step |", flush=True)


def _seconds_per_step(batch_size: int, *, compiled: bool) -> float:
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=VOCAB_SIZE, n_positions=CONTEXT, embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0))
    model.to("cuda")  # type: ignore[arg-type]  # wrapped without its types
    forward = torch.compile(model) if compiled else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    tokens = torch.randint(0, VOCAB_SIZE, (batch_size, CONTEXT + 1), device="cuda")

    def step() -> float:
        started = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16):
            logits = forward(tokens[:, :-1]).logits
            loss = F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        return time.perf_counter() - started

    for _ in range(WARM_UPS):
        step()
    return statistics.median(step() for _ in range(STEPS))


if __name__ == "__main__":
    main(int(sys.argv[1]))
