"""Every name of Numba that is not part of its documented interface. The version of Numba is pinned because of them.

    cgutils, populate_array               LLVM code generation inside intrinsics
    _nrt                                  option of njit: no reference counting
    library._final_module, _codegen       the LLVM module of a compiled function, and its compiler
    _module_pass_manager, _tm             the optimization passes and the target machine of that compiler
    the methods in _patches()             steps that are skipped for inner functions
    global_compiler_lock                  held while they are skipped

`tests/kernels/cpu/test_numba_internals.py` checks that each of them exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import binding
from numba import types
from numba.core import cgutils, codegen
from numba.core.compiler_lock import global_compiler_lock
from numba.np.arrayobj import populate_array

__all__ = ["COMPILED_OPTIONS", "cgutils", "object_code", "populate_array"]

COMPILED_OPTIONS: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "_nrt": False,
    "error_model": "numpy",
    "boundscheck": False,
}
"""Options of njit for functions that allocate nothing, raise nothing and are never called from Python."""


def object_code(dispatcher: Any, symbol: str) -> bytes:
    """Return the object file of a function of (int64, int64), which it defines under the name `symbol`."""
    signature = (types.int64, types.int64)
    with global_compiler_lock, _linking_only():
        dispatcher.compile(signature)
    result = dispatcher.overloads[signature]
    compiler = result.library._codegen
    module = binding.parse_assembly(str(result.library._final_module).replace(result.fndesc.mangled_name, symbol))
    for options in ({"loop_vectorize": False, "slp_vectorize": False, "opt": 0, "cost": "cheap"}, {}):
        passes, builder = compiler._module_pass_manager(**options)
        passes.run(module, builder)
    return compiler._tm.emit_object(module)


def _patches() -> list[tuple[type, str, Callable[..., Any]]]:
    """Return the steps that are skipped: (class, method, replacement)."""

    def finish(library: Any) -> None:
        library._finalized = True

    def no_address(library: Any, name: str) -> int:
        library._ensure_finalized()
        return 0

    return [
        (codegen.CPUCodeLibrary, "_optimize_final_module", lambda library: None),
        (codegen.CPUCodeLibrary, "_finalize_final_module", finish),
        (codegen.JITCodeLibrary, "get_pointer_to_function", no_address),
        (codegen.JITCPUCodegen, "set_env", lambda compiler, name, env: None),
    ]


@contextmanager
def _linking_only() -> Iterator[None]:
    """Let Numba translate functions to LLVM code and link them, without optimizing them or compiling them to machine code.

    Numba would do both for each of the 100 functions together with everything it calls, which takes longer than everything else.
    The whole module is optimized and compiled once, at the end.
    """
    patches = _patches()
    originals = [(owner, name, owner.__dict__[name]) for owner, name, _ in patches]
    for owner, name, replacement in patches:
        setattr(owner, name, replacement)
    try:
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)
