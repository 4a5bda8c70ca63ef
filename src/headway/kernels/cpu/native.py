"""Machine code for this processor: compiled once by Numba, kept in the cache folder, and loaded from then on without Numba.

An entry is a function of (address, thread) that returns an integer, such as `forward_pass.run`. Each entry is kept as one object file.
The name of the file contains a digest of the entry's sources, the versions of the compiler and the processor, so outdated code is
never loaded.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import importlib.metadata
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from llvmlite import binding

from headway.files import replacing
from headway.kernels.cpu.file_lock import file_lock
from headway.kernels.cpu.progress import Progress, log_progress
from headway.kernels.cpu.thread_pool import Entry

SYMBOL = "headway_entry"
SOURCES = Path(__file__).parent
IMPORT = re.compile(r"^from headway\.kernels\.cpu(?:\.| import )(\w+)", re.MULTILINE)
COMPILING = "compiling kernels for this processor (about 12 s)"


def load(names: Iterable[str], folder: Path | None, progress: Progress = log_progress) -> dict[str, Entry]:
    """Load entries of this package by name, `module.function`; compile those that the folder does not have.

    folder     where code is kept; None, or a folder that cannot be written, compiles for this process alone
    progress   called before a compilation, which takes seconds, and if its code cannot be kept
    """
    paths = {name: folder / f"{name}-{_digest(name)}.o" if folder else None for name in names}
    codes = {name: _read(path) for name, path in paths.items()}
    if folder is None:
        codes |= _compile_missing(codes, progress)
    elif None in codes.values():
        with file_lock(folder / ".lock", COMPILING, progress):
            codes = {name: _read(path) for name, path in paths.items()}  # another process may have compiled them
            compiled = _compile_missing(codes, progress)
            kept = [_keep(paths[name], code) for name, code in compiled.items()]
            if not all(kept):
                progress(f"compiled kernels cannot be kept in {folder}: every start compiles them again, for about 12 s", 0, 0)
            codes |= compiled
    return {name: _link(code) for name, code in codes.items() if code is not None}


def _compile_missing(codes: dict[str, bytes | None], progress: Progress) -> dict[str, bytes]:
    missing, compiled = [name for name, code in codes.items() if code is None], {}
    for index, name in enumerate(missing):
        progress(COMPILING, index, len(missing))
        compiled[name] = _compile(name)
    return compiled


@cache
def _digest(name: str) -> str:
    """Return a digest of everything that the code of an entry depends on."""
    digest = hashlib.sha256(name.encode())
    for module in sorted(_modules(name.split(".")[0])):
        digest.update((SOURCES / f"{module}.py").read_bytes())
    versions = [importlib.metadata.version(each) for each in ("llvmlite", "numba", "numpy")]
    features = binding.get_host_cpu_features().flatten()
    digest.update(repr((versions, binding.get_process_triple(), binding.get_host_cpu_name(), features)).encode())
    return digest.hexdigest()[:32]


def _modules(module: str) -> set[str]:
    """Return the modules of this package that a module imports, directly or not, and itself."""
    found: set[str] = set()
    remaining = [module]
    while remaining:
        name = remaining.pop()
        if name not in found:
            found.add(name)
            remaining += IMPORT.findall((SOURCES / f"{name}.py").read_text(encoding="utf-8"))
    return found


def _read(path: Path | None) -> bytes | None:
    """Return the code in a file; None if there is no file or its last 32 bytes are not the SHA-256 of the others."""
    try:
        content = path.read_bytes() if path else b""
    except OSError:
        return None
    code, digest = content[:-32], content[-32:]
    return code if code and hashlib.sha256(code).digest() == digest else None


def _keep(path: Path | None, code: bytes) -> bool:
    """Write code to a file; return False if that is not possible."""
    assert path is not None
    try:
        with replacing(path) as temporary:
            temporary.write_bytes(code + hashlib.sha256(code).digest())
    except OSError:
        return False
    return True


@cache
def _compile(name: str) -> bytes:
    """Return the object file of an entry; compiled once per process if it cannot be kept."""
    from headway.kernels.cpu.numba_internals import object_code

    module, function = name.split(".")
    return object_code(getattr(importlib.import_module(f"headway.kernels.cpu.{module}"), function), SYMBOL)


@cache
def _link(code: bytes) -> Entry:
    """Load an object file into this process, once: code is never unloaded."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_triple(binding.get_process_triple()).create_target_machine(jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    # Numba's calling convention: the addresses of the result and of an exception come first.
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    function = prototype(engine.get_function_address(SYMBOL))
    result, exception = ctypes.c_int64(), ctypes.c_void_p()
    addresses = ctypes.addressof(result), ctypes.addressof(exception)

    def entry(address: int, thread: int, _kept: object = (engine, result, exception)) -> object:
        return function(*addresses, address, thread)

    return entry
