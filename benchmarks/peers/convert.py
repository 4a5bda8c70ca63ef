"""Bring the checkpoint into each peer's format: `python -m benchmarks.peers.convert` prints a line per output.

An output that is there is left as it is. A conversion whose packages are missing, or that fails, is named with its reason.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

from benchmarks.peers import with_ctranslate2, with_llama_cpp, with_openvino, with_transformers
from benchmarks.peers.settings import checkpoint, converted

CONVERSIONS: dict[str, Callable[[Path, Path], None]] = {
    "f16.gguf": with_llama_cpp.write_f16,
    "q8_0.gguf": partial(with_llama_cpp.quantise, ftype="Q8_0"),
    "q4_0.gguf": partial(with_llama_cpp.quantise, ftype="Q4_0"),
    "openvino-int8": partial(with_openvino.write, bits=8),
    "openvino-int4": partial(with_openvino.write, bits=4),
    "ctranslate2-int8": with_ctranslate2.write_int8,
    "transformers-bf16": with_transformers.write_bf16,
}


def main() -> None:
    if not (checkpoint() / "config.json").exists():
        sys.exit(f"got no checkpoint in {checkpoint()}; run python -m benchmarks.tasks make_qwen2 {checkpoint()}")
    for name, convert in CONVERSIONS.items():
        print(f"{name}: {_outcome(convert, converted(name))}", flush=True)


def _outcome(convert: Callable[[Path, Path], None], target: Path) -> str:
    if target.exists():
        return f"there, {_size(target)}"
    unfinished = target.with_name("unfinished-" + target.name)  # so that what is there is whole
    _remove(unfinished)
    target.parent.mkdir(exist_ok=True)
    try:
        with redirect_stdout(sys.stderr):  # tools talk there
            convert(checkpoint(), unfinished)
    except Exception as error:
        _remove(unfinished)
        return f"left out: {type(error).__name__}: {error}"
    os.replace(unfinished, target)
    return f"made, {_size(target)}"


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _size(path: Path) -> str:
    files = path.rglob("*") if path.is_dir() else [path]
    return f"{sum(file.stat().st_size for file in files) / 1e6:,.0f} MB"


if __name__ == "__main__":
    main()
