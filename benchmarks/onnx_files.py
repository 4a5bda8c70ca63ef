"""ONNX Runtime's sessions for the benchmarks, over files that are exported and quantized when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxruntime import InferenceSession


def session(path: Path, kind: str, num_threads: int, export: Callable[[Path], None]) -> InferenceSession:
    """Return a session over a model in the folder `path`.

    kind     float32 or int8
    export   writes the float32 model to a file
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = num_threads
    return onnxruntime.InferenceSession(str(_file(path, kind, export)), options, providers=["CPUExecutionProvider"])


def _file(path: Path, kind: str, export: Callable[[Path], None]) -> Path:
    file = path / f"{kind}.onnx"
    if file.exists():
        return file
    if kind == "int8":
        from onnxruntime.quantization import quantize_dynamic

        quantize_dynamic(_file(path, "float32", export), file)
    else:
        export(file)
    return file
