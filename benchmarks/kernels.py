"""The compiled decoder against the peers and against what the machine allows: `python -m benchmarks.kernels PEERS_PYTHON [TASK …]`.

PEERS_PYTHON is the interpreter of the environment that benchmarks/peers describes, and TASK a task of benchmarks.peers.measure, all by
default. Ours and the peers run in turn, one process per measurement; a peer that cannot be measured is named. The engine with 16 requests
against the continuous batching of the peers, in about six minutes:

    python -m benchmarks.kernels .venv-peers/bin/python batch_16
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.peers.measure import TASKS
from benchmarks.peers.settings import THREADS

ROOT = Path(__file__).parents[1]
ROUNDS = int(os.environ.get("HEADWAY_BENCHMARK_ROUNDS", "3"))
AT_8_BITS = ("llama.cpp-q8_0", "openvino-int8", "ctranslate2-int8")
AT_4_BITS = ("llama.cpp-q4_0", "openvino-int4")
TABLE = (
    ("decode", "headway-int8", AT_8_BITS),
    ("decode", "headway-int4", AT_4_BITS),
    ("decode", "headway-bfloat16", ("llama.cpp-f16", "transformers-bf16")),
    ("decode", "headway-float32", ("transformers-f32",)),
    ("decode_at_4096", "headway-int8-cache-int8", AT_8_BITS),
    ("prefill_512", "headway-int8", AT_8_BITS),
    ("prefill_512", "headway-int4", AT_4_BITS),
    ("batch_16", "headway-int8", AT_8_BITS),
    ("prefill_8192", "headway-int8", AT_8_BITS),
)


def main(peers_python: str, *tasks: str) -> None:
    print(f"| what | reading, GB/s | share of it | {'ours':>8} | peers, tokens/s | ratio to the best |")
    print("|---|---|---|---|---|---|", flush=True)
    for task, ours, peers in (row for row in TABLE if row[0] in (tasks or TASKS)):
        names = (ours, *peers)
        paces: dict[str, list[float]] = {name: [] for name in names}
        limits, errors, peak = [], {}, 0
        for _ in range(ROUNDS):
            limits.append(_limit())
            for name in names:
                answer = _measure(sys.executable if name == ours else peers_python, name, task)
                if "error" in answer:
                    errors[name] = answer["error"]
                else:
                    paces[name].append(answer["tokens_per_second"])
                    peak = answer["peak_bytes"] if name == ours else peak  # the last run's: the first may have packed
        _print(task, ours, paces, errors, statistics.median(limits), peak)


def _print(task: str, ours: str, paces: dict[str, list[float]], errors: dict[str, str], limit: float, peak: int) -> None:
    medians = {name: statistics.median(runs) for name, runs in paces.items() if runs}
    read = _bytes_per_step(ours, task)
    share = f"{medians[ours] * read / limit:.2f}" if task.startswith("decode") else ""
    best = max((pace for name, pace in medians.items() if name != ours), default=0.0)
    others = ", ".join(f"{name} {pace:.1f}" for name, pace in medians.items() if name != ours)
    left_out = "".join(f"; {name}: {error}" for name, error in errors.items())
    ratio = f"{medians[ours] / best:.2f}" if best else ""
    runs = ", ".join(f"{pace:.1f}" for pace in paces[ours])
    print(
        f"| {task}, {ours} (peak {peak / 1e6:,.0f} MB) | {limit / 1e9:.1f} | {share} | {medians[ours]:.1f} ({runs}) | {others}{left_out} | {ratio} |",
        flush=True,
    )


def _bytes_per_step(name: str, task: str) -> int:
    """Bytes that a step reads: the weights, and at a long context the cache."""
    bits = {"headway-int8": 8.5, "headway-int4": 4.5, "headway-bfloat16": 16, "headway-float32": 32}[name.removesuffix("-cache-int8")]
    weights = 151_936 * 896 + 24 * (896 * (2 * 896 + 2 * 128) + 3 * 896 * 4864)
    cache = 24 * 2 * 2 * (64 + 4) * 4096 if task == "decode_at_4096" else 0
    return int(weights * bits / 8) + cache


def _limit() -> float:
    answer = _run([sys.executable, "-m", "benchmarks.tasks", "read_limit"])
    return answer["bytes_per_second"]


def _measure(python: str, name: str, task: str) -> dict[str, object]:
    return _run([python, "-m", "benchmarks.peers.measure", name, task])


def _run(command: list[str]) -> dict:
    environment = os.environ | {"OMP_NUM_THREADS": str(THREADS), "OPENBLAS_NUM_THREADS": str(THREADS)}
    try:
        result = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=300, check=False)
        return json.loads(result.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, IndexError, ValueError) as error:
        return {"error": type(error).__name__}


if __name__ == "__main__":
    main(*sys.argv[1:])
