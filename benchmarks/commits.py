"""One stream on this commit and on another one: `python -m benchmarks.commits SOURCES [FOLDER]` prints a table in about four minutes.

SOURCES is the folder src of another checkout, such as `git worktree add /tmp/before COMMIT` makes. FOLDER is a checkpoint in the shape of
Qwen2-0.5B, as `python -m benchmarks.tasks make_qwen2 FOLDER` writes it; without it only the embedded model is measured. Both commits run
`stream` of a loaded model, in turn, a process each. Nothing else should run on the machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.peers.settings import THREADS

ROOT = Path(__file__).parents[1]
ROUNDS = int(os.environ.get("HEADWAY_BENCHMARK_ROUNDS", "7"))


def main(sources: str, folder: str = "") -> None:
    print(
        "| one stream, tokens/s | before | this commit | ratio of the medians | ratios of the rounds |\n|---|---|---|---|---|", flush=True
    )
    for name in ("stories", folder) if folder else ("stories",):
        before, ours = [], []
        for _ in range(ROUNDS):
            before.append(_measure(Path(sources), name))
            ours.append(_measure(ROOT / "src", name))
        runs = ", ".join(f"{our / other:.3f}" for our, other in zip(ours, before, strict=True))
        old, new = statistics.median(before), statistics.median(ours)
        print(f"| {Path(name).name} | {old:,.1f} | {new:,.1f} | {new / old:.3f} | {runs} |", flush=True)


def _measure(sources: Path, name: str) -> float:
    """Return the tokens per second of a model in a process of its own, with a cache folder per commit."""
    cache = Path(tempfile.gettempdir()) / "headway-benchmark-commits" / hashlib.sha256(str(sources.resolve()).encode()).hexdigest()[:16]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(sources), str(ROOT)]),
        "XDG_CACHE_HOME": str(cache),
    }
    command = [sys.executable, "-m", "benchmarks.commits", "measure", name]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=300, check=True)
    return json.loads(result.stdout.splitlines()[-1])


def measure(name: str) -> float:
    """Return the median of the tokens per second of several streams, from the first token to the last.

    The tokens are sampled, because the greedy texts of random weights repeat themselves, and prompt lookup would gain from that.
    """
    import headway

    is_embedded = name == "stories"
    if not is_embedded:
        _write_tokenizer(Path(name))
    model = headway.load(name, weights="int8", num_threads=1 if is_embedded else THREADS)
    paces = []
    for seed in range(10 if is_embedded else 3):
        prompt = "Once upon a time" if is_embedded else list(range(100 + 64 * seed, 164 + 64 * seed))
        length = 450 if is_embedded else 128
        stream = model.stream(prompt, max_new_tokens=length, temperature=1.0, seed=seed, ignore_end=True)
        times = [time.perf_counter() for _ in stream]
        paces.append((len(times) - 1) / (times[-1] - times[0]))
    return statistics.median(paces[1:])


def _write_tokenizer(folder: Path) -> None:
    """Give a folder a tokenizer with a name for each token id."""
    path, vocab_size = folder / "tokenizer.json", json.loads((folder / "config.json").read_text())["vocab_size"]
    if path.exists():
        return
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    vocab = {f"{token_id:x}": token_id for token_id in range(vocab_size)}
    model = {"type": "BPE", "vocab": vocab, "merges": []}
    settings = {"version": "1.0", "added_tokens": [], "pre_tokenizer": byte_level, "decoder": byte_level, "model": model}
    path.write_text(json.dumps(settings))


if __name__ == "__main__":
    if sys.argv[1] == "measure":
        print(measure(sys.argv[2]))
    else:
        main(*sys.argv[1:])
