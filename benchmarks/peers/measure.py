"""One measurement per process: `python -m benchmarks.peers.measure PEER TASK` prints one JSON object.

Token ids go in, and a step's greedy choice is part of its time. A first run, which is not counted, lets an engine pack its weights and
compile its kernels.
"""

from __future__ import annotations

import importlib
import itertools
import json
import random
import resource
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers.settings import checkpoint, converted


@dataclass(frozen=True)
class Task:
    """Number of sequences, tokens of each prompt, tokens to generate, and repetitions."""

    num_sequences: int
    prompt_len: int
    num_tokens: int
    num_runs: int = 1


@dataclass(frozen=True)
class Peer:
    """The module that runs an engine, the file that it opens, and further arguments."""

    module: str
    path: Path
    options: dict[str, str] = field(default_factory=dict)


TASKS = {
    "decode": Task(1, 64, 64),
    "decode_at_4096": Task(1, 4096, 64),
    "batch_16": Task(16, 64, 64),
    "prefill_512": Task(1, 512, 1, num_runs=3),
    "prefill_8192": Task(1, 8192, 1),
}
PEERS = {
    "llama.cpp-q8_0": Peer("with_llama_cpp", converted("q8_0.gguf")),
    "llama.cpp-q4_0": Peer("with_llama_cpp", converted("q4_0.gguf")),
    "llama.cpp-f16": Peer("with_llama_cpp", converted("f16.gguf")),
    "openvino-int8": Peer("with_openvino", converted("openvino-int8")),
    "openvino-int4": Peer("with_openvino", converted("openvino-int4")),
    "ctranslate2-int8": Peer("with_ctranslate2", converted("ctranslate2-int8")),
    "transformers-bf16": Peer("with_transformers", converted("transformers-bf16")),
    "transformers-f32": Peer("with_transformers", checkpoint()),
    "headway-int8": Peer("with_headway", checkpoint(), {"weights": "int8", "cache": "int16"}),
    "headway-int8-cache-int8": Peer("with_headway", checkpoint(), {"weights": "int8", "cache": "int8"}),
    "headway-int4": Peer("with_headway", checkpoint(), {"weights": "int4", "cache": "int16"}),
    "headway-bfloat16": Peer("with_headway", checkpoint(), {"weights": "bfloat16", "cache": "bfloat16"}),
    "headway-float32": Peer("with_headway", checkpoint(), {"weights": "float32", "cache": "float32"}),
}
WARM_UP_LEN = 512


def measure(peer: Peer, task: Task) -> dict[str, float]:
    """Tokens per second of all sequences together, and the most memory that the process has held."""
    if not peer.path.exists():
        raise FileNotFoundError(f"got no {peer.path}; run python -m benchmarks.peers.convert")
    engine = importlib.import_module(f"benchmarks.peers.{peer.module}")
    generate = engine.load(peer.path, task.num_sequences, task.prompt_len + task.num_tokens, **peer.options)
    generate(_prompts(task.num_sequences, min(task.prompt_len, WARM_UP_LEN), seed=0), 2)
    paces = []
    for run in range(task.num_runs):
        prompts = _prompts(task.num_sequences, task.prompt_len, seed=1 + run)
        started = time.perf_counter()
        times = generate(prompts, task.num_tokens)
        if len(times) != task.num_tokens:
            raise RuntimeError(f"got {len(times)} steps, expected {task.num_tokens}")
        if task.num_tokens == 1:
            paces.append(task.num_sequences * task.prompt_len / (times[0] - started))
        else:
            paces.append(task.num_sequences / statistics.median(later - earlier for earlier, later in itertools.pairwise(times)))
    return {"tokens_per_second": statistics.median(paces), "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def _prompts(num_sequences: int, prompt_len: int, *, seed: int) -> list[list[int]]:
    draw = random.Random(seed)
    return [draw.choices(range(100, 150_000), k=prompt_len) for _ in range(num_sequences)]


def main(peer: str, name: str) -> None:
    try:
        result: dict[str, object] = {**measure(PEERS[peer], TASKS[name])}
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps({"peer": peer, "task": name, **result}))


if __name__ == "__main__":
    main(*sys.argv[1:])
