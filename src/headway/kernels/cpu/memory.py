"""Arrays over plain addresses, atomic operations and barriers, for use inside Numba functions."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic as numba_intrinsic

from headway.kernels.cpu.instructions import F32, I32, I64
from headway.kernels.cpu.layout import ARRIVALS, NUM_THREADS
from headway.kernels.cpu.numba_internals import COMPILED_OPTIONS, cgutils, populate_array

intrinsic: Any = numba_intrinsic
"""Decorator that turns a generator of LLVM code into a function; untyped, because the two take different arguments."""

SPINS = 4000
"""Number of times that a waiting thread looks again before it yields its core."""


def compiled(function: Any = None, *, fastmath: Any = False) -> Any:
    """Compile a function that other compiled functions call: it allocates nothing, raises nothing and is never called from Python."""
    if function is None:
        return lambda function: compiled(function, fastmath=fastmath)
    return njit(fastmath=fastmath, **COMPILED_OPTIONS)(function)


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


float32_view, int64_view, uint64_view, int16_view, uint16_view, int8_view, uint8_view = (
    _view(scalar) for scalar in (types.float32, types.int64, types.uint64, types.int16, types.uint16, types.int8, types.uint8)
)
"""view(address, count): an array over the numbers at an address."""


@intrinsic
def float_bits(context: Any, number: Any) -> Any:
    """Return the bits of a float32 as an int32."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], I32)

    return types.int32(types.float32), generate


@intrinsic
def float_from_bits(context: Any, bits: Any) -> Any:
    """Return the float32 with these 32 bits."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], F32)

    return types.float32(types.int32), generate


@intrinsic
def _float64_from_bits(context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@compiled
def float_field(record: Any, index: int) -> float:
    """Return a field of a record that holds a float64."""
    return _float64_from_bits(record[index])


@intrinsic
def fetch_and_add(context: Any, address: Any) -> Any:
    """Atomically add one to the int64 at an address and return its previous value."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        counter = builder.inttoptr(arguments[0], I64.as_pointer())
        return builder.atomic_rmw("add", counter, ir.Constant(I64, 1), "acq_rel")

    return types.int64(types.intp), generate


@intrinsic
def atomic_load(context: Any, address: Any) -> Any:
    """Return the int64 at an address that other threads write."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(builder.inttoptr(arguments[0], I64.as_pointer()), "acquire", 8)

    return types.int64(types.intp), generate


@intrinsic
def _pause(context: Any) -> Any:
    """Hint to the processor that this is a spin loop."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        if "x86" in builder.module.triple:
            function = builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), ir.FunctionType(ir.VoidType(), []))
            builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def _yield_core(context: Any) -> Any:
    """Let the scheduler run another thread on this core."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        name = "SwitchToThread" if "windows" in builder.module.triple else "sched_yield"
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(I32, []), name)
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate


@compiled
def wait_until(address: int, number: int) -> None:
    """Return once the int64 at an address has reached a number. Spin first, then yield the core between looks."""
    spins = 0
    while atomic_load(address) < number:
        spins += 1
        if spins < SPINS:
            _pause()
        else:
            _yield_core()


@compiled
def next_task(counter: int) -> int:
    """Count a task as done, in the int64 that follows the one at `counter`, and claim the next."""
    fetch_and_add(counter + 8)
    return fetch_and_add(counter)


@compiled
def wait_for_all(counter: int, total: int) -> None:
    """Wait until `total` tasks are done.

    Threads wait for tasks, not for one another: a thread that the scheduler does not run delays the others only if it has a task.
    """
    wait_until(counter + 8, total)


@compiled
def barrier(record: Any, number: int) -> int:
    """Wait until every thread has arrived at this barrier, the `number`-th one of the pool; return number + 1.

    The count of arrivals is never reset, because a thread that looks late would miss the old count.
    """
    # Read before the thread arrives: when all threads have, the caller may free the record while this one still waits.
    arrivals, expected = record[ARRIVALS], record[NUM_THREADS] * (number + 1)
    fetch_and_add(arrivals)
    wait_until(arrivals, expected)
    return number + 1


@compiled
def wait_for_change(address: int, number: int) -> int:
    """Return 1 once the int64 at an address differs from a number, or 0 after SPINS looks."""
    for _ in range(SPINS):
        if atomic_load(address) != number:
            return 1
        _pause()
    return 0
