"""Run the benchmarks and print their tables in Markdown."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
ROUNDS = 5
COMMAND = [sys.executable, "-m", "headway"]


def main() -> None:
    print(f"{platform.platform()}, Python {platform.python_version()}, {THREADS} threads, {_cpu()}")
    print(", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "torch", "transformers")))
    folder = Path(os.environ.get("HEADWAY_BENCHMARK_FOLDER") or Path(tempfile.gettempdir()) / "headway-benchmark-qwen2-0.5b")
    if not (folder / "config.json").exists():
        _in_process("make_qwen2", str(folder))
    _decoding(folder)
    _starting()


def _decoding(folder: Path) -> None:
    ours, theirs, limits = [], [], []
    for _ in range(ROUNDS):
        ours.append(_in_process("decode_headway", str(folder)))
        theirs.append(_in_process("decode_transformers", str(folder)))
        limits.append(_in_process("read_limit"))
    weights = ours[0]["weight_bytes"]
    pace, peer = _median(ours, "tokens_per_second"), _median(theirs, "tokens_per_second")
    limit = _median(limits, "bytes_per_second")
    peak, expected = max(run["peak_bytes"] for run in ours), weights + ours[0]["cache_bytes"]
    print("\n## Decoding, definitions on NumPy, float32, shape of Qwen2-0.5B, one sequence, context 64\n")
    print("| | median | all runs |\n|---|---|---|")
    print(f"| Headway, tokens/s | {pace:.2f} | {_all(ours, 'tokens_per_second')} |")
    print(f"| transformers, float32, tokens/s | {peer:.2f} | {_all(theirs, 'tokens_per_second')} |")
    print(f"| ratio | {pace / peer:.2f} | asked for: at least 2 |")
    print(f"| reading memory, {THREADS} threads, GB/s | {limit / 1e9:.1f} | {_all(limits, 'bytes_per_second', 1e9)} |")
    print(
        f"| tokens/s that this reading allows ({weights / 1e9:.3f} GB per token) | {limit / weights:.2f} | ratio {limit / weights / peer:.2f} |"
    )
    print(f"| Headway's share of it | {pace * weights / limit:.2f} | |")
    print(
        f"| peak memory over weights and cache | {peak / expected:.3f} | {peak / 1e6:,.0f} MB over {expected / 1e6:,.0f} MB; asked for: at most 1.2 |"
    )


def _starting() -> None:
    first, pace, imports = [], [], []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        process = subprocess.Popen(
            [*COMMAND, "generate", "Once upon a time", "--seed", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        process.stdout.read(len("Once upon a time") + 1)  # type: ignore[union-attr]
        first.append(time.perf_counter() - started)
        process.communicate()
        answer = subprocess.run(
            [*COMMAND, "generate", "Once upon a time", "--seed", "1", "--json"], capture_output=True, text=True, check=True
        )
        pace.append(json.loads(answer.stdout)["tokens_per_second"])
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import headway"], check=True)
        with_import = time.perf_counter() - started
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        imports.append(with_import - (time.perf_counter() - started))
    print("\n## The embedded model, and starting\n")
    print("| | median | asked for |\n|---|---|---|")
    print(f"| first text after process start, s | {statistics.median(first):.3f} | 1 |")
    print(f"| `stories` on NumPy, tokens/s | {statistics.median(pace):,.0f} | 300 |")
    print(f"| `import headway`, s | {statistics.median(imports):.3f} | 0.3 |")


def _in_process(task: str, *arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.tasks", task, *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": str(THREADS), "OPENBLAS_NUM_THREADS": str(THREADS)}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=Path(__file__).parents[1], check=False)
    if result.returncode:
        sys.exit(f"{task} failed:\n{result.stderr}")
    return json.loads(result.stdout.splitlines()[-1])


def _median(runs: list[dict[str, float]], key: str) -> float:
    return statistics.median(run[key] for run in runs)


def _all(runs: list[dict[str, float]], key: str, unit: float = 1.0) -> str:
    return ", ".join(f"{run[key] / unit:.2f}" for run in runs)


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    main()
