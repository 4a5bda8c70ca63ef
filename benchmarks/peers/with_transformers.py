"""transformers, on PyTorch."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.peers.settings import THREADS


def write_bf16(source: Path, target: Path) -> None:
    import torch
    from transformers import Qwen2ForCausalLM

    Qwen2ForCausalLM.from_pretrained(source, dtype=torch.bfloat16).save_pretrained(target, max_shard_size="10GB")


def load(path: Path, num_sequences: int, max_length: int) -> Callable[[list[list[int]], int], list[float]]:
    import torch
    from transformers import Qwen2ForCausalLM

    torch.set_num_threads(THREADS)
    model = Qwen2ForCausalLM.from_pretrained(path, dtype="auto").eval()

    @torch.inference_mode()
    def generate(prompts: list[list[int]], num_tokens: int) -> list[float]:
        times, cache, token_ids = [], None, torch.tensor(prompts)
        for _ in range(num_tokens):
            output = model(token_ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
            cache, token_ids = output.past_key_values, output.logits[:, -1].argmax(-1, keepdim=True)
            times.append(time.perf_counter())
        return times

    return generate
