"""Reading and writing checkpoints: files to weight trees, and back."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from headway.checkpoints.fingerprint import fingerprint
from headway.checkpoints.gguf import load_gguf
from headway.checkpoints.hub import models_here, resolve_model
from headway.checkpoints.llama2c import load_llama2c
from headway.checkpoints.lora import merge_adapter, read_adapter, update_bytes, with_adapter
from headway.checkpoints.reading import Checkpoint, load_checkpoint
from headway.checkpoints.writing import save_checkpoint
from headway.errors import CheckpointError
from headway.gguf_file import find_gguf

__all__ = [
    "Checkpoint",
    "fingerprint",
    "load_checkpoint",
    "load_gguf",
    "load_llama2c",
    "merge_adapter",
    "models_here",
    "open_checkpoint",
    "read_adapter",
    "resolve_model",
    "save_checkpoint",
    "update_bytes",
    "with_adapter",
]


def open_checkpoint(
    path: Path, *, array: str = "numpy", dtype: str | None = "float32", device: str | None = None, ignored_config_keys: Collection[str] = ()
) -> Checkpoint:
    """Load a Hugging Face folder, a GGUF file, a llama2.c file, or a folder with one such file and no config.json.

    Errors   as load_checkpoint, load_gguf and load_llama2c.
    """
    if path.is_file() and path.suffix not in (".bin", ".gguf"):
        raise CheckpointError(
            f"got {path}, expected a model folder, a .gguf file, or a .bin file of llama2.c", hint="pass the folder that contains the file"
        )
    if (gguf := find_gguf(path)) is not None:
        return load_gguf(gguf, array=array, dtype=dtype, device=device)
    candidates = [path] if path.is_file() else sorted(path.glob("*.bin"))
    models = [candidate for candidate in candidates if not candidate.name.startswith("tok")]
    if len(models) == 1 and not (path / "config.json").exists():
        return load_llama2c(models[0], array=array, dtype=dtype or "float32", device=device)
    return load_checkpoint(path, array=array, dtype=dtype, device=device, ignored_config_keys=ignored_config_keys)
