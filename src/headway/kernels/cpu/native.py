"""Machine code for this processor: compiled once by Numba, kept in the cache folder, and loaded from then on without Numba.

An entry is a function of (address, thread) to a number, as `decoder.run` is. What is kept is one object file per entry, named by
a digest of the sources here, the compiler's version and the processor, so that a file which is there is the right one.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import importlib.metadata
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from llvmlite import binding

from headway.files import replacing
from headway.kernels.cpu.progress import Progress, no_progress
from headway.kernels.cpu.team import Entry

SYMBOL = "headway_entry"
SOURCES = Path(__file__).parent
_alive: list[Any] = []
"""What the loaded code stands in; it is never unloaded."""


def load(name: str, folder: Path | None, progress: Progress = no_progress) -> Entry:
    """The entry `module.function` of this package; compiled where the folder has no code of it yet.

    folder   where code is kept; None, or one that cannot be written, compiles for this process alone
    progress     called before a compilation, which takes seconds, and where its code cannot be kept
    """
    path = folder / f"{name}-{_digest(name)}.o" if folder else None
    code = _read(path)
    if code is None:
        progress("compiling kernels", 0, 1)
        code = _compile(name)
        if not _keep(path, code):
            progress(f"compiled code cannot be kept in {folder}: every start compiles it again, which takes some 12 seconds", 0, 0)
    return _link(code)


@cache
def _digest(name: str) -> str:
    """Of all that the code depends on."""
    digest = hashlib.sha256(name.encode())
    for path in sorted(SOURCES.glob("*.py")):
        digest.update(path.read_bytes())
    versions = [importlib.metadata.version(each) for each in ("llvmlite", "numba", "numpy")]
    features = binding.get_host_cpu_features().flatten()
    digest.update(repr((versions, binding.get_process_triple(), binding.get_host_cpu_name(), features)).encode())
    return digest.hexdigest()[:32]


def _read(path: Path | None) -> bytes | None:
    """The code in a file, which ends with its own digest; None where there is none, or it is not whole."""
    try:
        content = path.read_bytes() if path else b""
    except OSError:
        return None
    code, digest = content[:-32], content[-32:]
    return code if code and hashlib.sha256(code).digest() == digest else None


def _keep(path: Path | None, code: bytes) -> bool:
    """Whether the code could be written, where it was to be."""
    if path is None:
        return True
    try:
        with replacing(path) as temporary:
            temporary.write_bytes(code + hashlib.sha256(code).digest())
    except OSError:
        return False
    return True


@cache
def _compile(name: str) -> bytes:
    """An object file with the entry in it under a name of ours; once per process, where it cannot be kept."""
    from numba import types

    module, function = name.split(".")
    dispatcher = getattr(importlib.import_module(f"headway.kernels.cpu.{module}"), function)
    signature = (types.int64, types.int64)
    with _unoptimised():
        dispatcher.compile(signature)
    result = dispatcher.overloads[signature]
    codegen = result.library._codegen
    code = binding.parse_assembly(str(result.library._final_module).replace(result.fndesc.mangled_name, SYMBOL))
    for options in ({"loop_vectorize": False, "slp_vectorize": False, "opt": 0, "cost": "cheap"}, {}):
        passes, builder = codegen._module_pass_manager(**options)
        passes.run(code, builder)
    return codegen._tm.emit_object(code)


@contextmanager
def _unoptimised() -> Iterator[None]:
    """Compile functions as they are: Numba would optimise each of them with all that it calls, the innermost ones a dozen times."""
    from numba.core import codegen

    library: Any = codegen.CPUCodeLibrary
    optimise = library._optimize_final_module
    library._optimize_final_module = lambda self: None
    try:
        yield
    finally:
        library._optimize_final_module = optimise


def _link(code: bytes) -> Entry:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_triple(binding.get_process_triple()).create_target_machine(jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _alive.append(engine)
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    function = kind(engine.get_function_address(SYMBOL))  # Numba's own convention: where to put the answer and an exception first
    answer, exception = ctypes.c_int64(), ctypes.c_void_p()
    _alive.append((answer, exception))
    places = ctypes.addressof(answer), ctypes.addressof(exception)
    return lambda address, thread: function(*places, address, thread)
