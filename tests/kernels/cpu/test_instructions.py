"""Every set of instructions: what it is compiled to, and for those that run here, what it computes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from llvmlite import binding, ir

from headway.kernels.cpu.instructions import ALL, I32, vector

PROCESSORS = {
    "avx512vnni": ("x86_64-unknown-linux-gnu", "cascadelake", ""),
    "avxvnni": ("x86_64-unknown-linux-gnu", "alderlake", ""),
    "avx2": ("x86_64-unknown-linux-gnu", "haswell", ""),
    "dotprod": ("aarch64-unknown-linux-gnu", "generic", "+dotprod"),
    "portable": ("x86_64-unknown-linux-gnu", "x86-64", ""),
}
EXPECTED = {
    "avx512vnni": ("vpdpbusd", "zmm"),
    "avxvnni": ("vpdpbusd", "ymm"),
    "avx2": ("vpmaddubsw", "ymm"),
    "dotprod": ("sdot", "16b"),
    "portable": ("pmul", "xmm"),
}
ON_PLAIN_CODE = """
from headway.kernels.cpu import instructions
instructions.here = lambda: instructions.ALL[-1]
from headway.kernels.cpu.machine import Machine
from tests.kernels.cpu.packed_models import TOLERANCE, error, model, prompts

machine = Machine(2, None)
for kind in TOLERANCE:
    mine, (prompt,) = model("llama with odd sizes and a window", kind, machine, cache_kind="float32"), prompts(37)
    cache = mine.stack.new_cache(1, 40)
    assert error(mine.stack.next_logits([prompt], cache)[0], mine.last_logits(prompt)) < TOLERANCE[kind], kind
    assert error(mine.stack.next_logits([[7]], cache)[0], mine.last_logits([*prompt, 7])) < TOLERANCE[kind], kind
print("the same")
"""


def assembly(instructions, dot):
    triple, processor, features = PROCESSORS[instructions.name]
    words = vector(I32, instructions.lanes)
    module = ir.Module()
    module.triple = triple
    function = ir.Function(module, ir.FunctionType(words, [words] * 3), "dot")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(getattr(instructions, dot)(builder, *function.args))
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    try:
        target = binding.Target.from_triple(triple)
    except RuntimeError:
        pytest.skip(f"this LLVM was built without {triple}")
    machine = target.create_target_machine(cpu=processor, features=features, opt=2)
    return machine.emit_assembly(binding.parse_assembly(str(module)))


@pytest.mark.parametrize("dot", ["dot_signed", "dot_unsigned"])
@pytest.mark.parametrize("instructions", ALL, ids=lambda each: each.name)
def test_it_is_the_processors_own_instruction(instructions, dot):
    code = assembly(instructions, dot)
    assert all(word in code for word in EXPECTED[instructions.name]), code


@pytest.mark.slow
def test_plain_code_gives_the_same_answers():
    run = subprocess.run([sys.executable, "-c", ON_PLAIN_CODE], capture_output=True, text=True, check=False)
    assert run.stdout == "the same\n", run.stderr
