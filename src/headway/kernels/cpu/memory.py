"""Arrays over plain addresses, and what threads share: for use inside Numba functions."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic as numba_intrinsic
from numba.np.arrayobj import populate_array

from headway.kernels.cpu.instructions import F32, I32, I64
from headway.kernels.cpu.layout import ARRIVED, NUM_THREADS

intrinsic: Any = numba_intrinsic
"""LLVM code as a function; untyped, because what is written takes other arguments than what is called."""

SPINS = 4000
"""How often a waiting thread looks again before it lets others run."""


def compiled(function: Any = None, *, fastmath: Any = False) -> Any:
    """Compile a function for use by others: it allocates nothing, raises nothing, and is never called from Python."""
    if function is None:
        return lambda function: compiled(function, fastmath=fastmath)
    options: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False, "error_model": "numpy", "boundscheck": False}
    return njit(fastmath=fastmath, **options)(function)


def _view(scalar: types.Type) -> Any:
    @intrinsic
    def view(context: Any, address: Any, count: Any) -> Any:
        array = types.Array(scalar, 1, "C")

        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
            address, count = arguments
            size = context.get_abi_sizeof(context.get_data_type(scalar))
            result = cgutils.create_struct_proxy(array)(context, builder)
            pointer = builder.inttoptr(address, context.get_data_type(scalar).as_pointer())
            stride = context.get_constant(types.intp, size)
            populate_array(result, data=pointer, shape=[count], strides=[stride], itemsize=stride, meminfo=None)
            return result._getvalue()

        return array(types.intp, types.intp), generate

    return view


floats, whole_numbers, words, shorts, halves, signed_bytes, unsigned_bytes = (
    _view(scalar) for scalar in (types.float32, types.int64, types.int32, types.int16, types.uint16, types.int8, types.uint8)
)
"""view(address, count): an array over numbers that lie at an address."""


@intrinsic
def bits_of(context: Any, number: Any) -> Any:
    """The 32 bits of a float32, as int32."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], I32)

    return types.int32(types.float32), generate


@intrinsic
def float_of(context: Any, bits: Any) -> Any:
    """The float32 of 32 bits."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], F32)

    return types.float32(types.int32), generate


@intrinsic
def claim(context: Any, address: Any) -> Any:
    """Add one to the int64 at an address, which other threads do too; what it was before."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        counter = builder.inttoptr(arguments[0], I64.as_pointer())
        return builder.atomic_rmw("add", counter, ir.Constant(I64, 1), "acq_rel")

    return types.int64(types.intp), generate


@intrinsic
def seen(context: Any, address: Any) -> Any:
    """The int64 at an address that other threads write, as it is now."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(builder.inttoptr(arguments[0], I64.as_pointer()), "acquire", 8)

    return types.int64(types.intp), generate


@intrinsic
def _pause(context: Any) -> Any:
    """Tell the processor that this is a waiting loop."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        if "x86" in builder.module.triple:
            function = builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), ir.FunctionType(ir.VoidType(), []))
            builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def _give_way(context: Any) -> Any:
    """Let another thread have this core."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        name = "SwitchToThread" if "windows" in builder.module.triple else "sched_yield"
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(I32, []), name)
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate


@compiled
def wait_until(address: int, number: int) -> None:
    """Return once the int64 at an address has reached a number: spin for a while, then let others run between looks."""
    spins = 0
    while seen(address) < number:
        spins += 1
        if spins < SPINS:
            _pause()
        else:
            _give_way()


@compiled
def next_piece(counter: int) -> int:
    """Count a piece of work as done, in the int64 behind the one at an address, and claim another."""
    claim(counter + 8)
    return claim(counter)


@compiled
def wait_for_all(counter: int, total: int) -> None:
    """Wait until so many pieces of work are done.

    It is the work that is waited for, not the threads: one that does not get to run holds up nobody, unless in the middle of a piece.
    """
    wait_until(counter + 8, total)


@compiled
def meet(record: Any, number: int) -> int:
    """Wait until every thread has come here, having met `number` times before; how often they have met now.

    Arrivals are counted on from call to call: a thread that is late to look would miss a count that began anew.
    """
    claim(record[ARRIVED])
    wait_until(record[ARRIVED], record[NUM_THREADS] * (number + 1))
    return number + 1


@compiled
def watch(address: int, number: int) -> int:
    """Return once the int64 at an address differs from a number, or after a while."""
    for _ in range(SPINS):
        if seen(address) != number:
            return 1
        _pause()
    return 0
