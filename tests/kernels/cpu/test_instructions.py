"""Every instruction set: its machine code, and the results of a decoder that uses it, emulated if necessary."""

from __future__ import annotations

import subprocess
import sys

import pytest
from llvmlite import binding, ir

from headway.kernels.cpu.instructions import ALL, F32, I32, detect, vector

PROCESSORS = {
    "avx512bf16": ("x86_64-unknown-linux-gnu", "znver4", ""),
    "avx512vnni": ("x86_64-unknown-linux-gnu", "cascadelake", ""),
    "avxvnni": ("x86_64-unknown-linux-gnu", "alderlake", ""),
    "avx2": ("x86_64-unknown-linux-gnu", "haswell", ""),
    "dotprod": ("aarch64-unknown-linux-gnu", "generic", "+dotprod"),
    "portable": ("x86_64-unknown-linux-gnu", "x86-64", ""),
}
EXPECTED = {
    "avx512bf16": ("vpdpbusd", "zmm"),
    "avx512vnni": ("vpdpbusd", "zmm"),
    "avxvnni": ("vpdpbusd", "ymm"),
    "avx2": ("vpmaddubsw", "ymm"),
    "dotprod": ("sdot", "16b"),
    "portable": ("pmul", "xmm"),
}
A_DECODER = """
import sys
from tests.kernels.cpu.emulation import compile_for
compile_for(sys.argv[1])
from headway.kernels.cpu.runtime import Runtime
from tests.kernels.cpu.packed_models import CACHES, TOLERANCE, Texts, error, model, prompts

runtime = Runtime(2, None)
for kind, cache_kind in zip(TOLERANCE, CACHES, strict=True):
    mine, (prompt,) = model("llama with odd sizes and a window", kind, runtime, cache_kind=cache_kind), prompts(37)
    most = max(TOLERANCE[kind], CACHES[cache_kind])
    texts = Texts(mine.decoder, 2)
    together = texts.read([prompt])[0]
    one_by_one = [texts.read([[], [token_id]])[0] for token_id in prompt]
    assert error(together, mine.last_logits(prompt)) < most, kind
    assert (together == one_by_one[-1]).all(), kind
    assert error(texts.read([[7]])[0], mine.last_logits([*prompt, 7])) < most, kind
print("the same")
"""


def assembly(instructions, dot, total=I32):
    triple, processor, features = PROCESSORS[instructions.name]
    totals, words = vector(total, instructions.lanes), vector(I32, instructions.lanes)
    module = ir.Module()
    module.triple = triple
    function = ir.Function(module, ir.FunctionType(totals, [totals, words, words]), "dot")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(getattr(instructions, dot)(builder, *function.args))
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    try:
        target = binding.Target.from_triple(triple)
    except RuntimeError:
        pytest.skip(f"this LLVM was built without {triple}")
    runtime = target.create_target_machine(cpu=processor, features=features, opt=2)
    return runtime.emit_assembly(binding.parse_assembly(str(module)))


@pytest.mark.parametrize("dot", ["dot_signed", "dot_unsigned"])
@pytest.mark.parametrize("instructions", ALL, ids=lambda each: each.name)
def test_a_dot_product_is_the_processors_instruction(instructions, dot):
    code = assembly(instructions, dot)
    assert all(word in code for word in EXPECTED[instructions.name]), code


@pytest.mark.parametrize("instructions", [each for each in ALL if each.lanes >= 8], ids=lambda each: each.name)
def test_a_pair_of_int16_products_is_one_instruction(instructions):
    code = assembly(instructions, "dot_int16")
    assert "vpmulld" not in code
    assert EXPECTED[instructions.name][1] in code
    assert "vpdpwssd" in code or ("vpmaddwd" in code and "vpaddd" in code), code


def test_a_pair_of_bfloat16_products_is_one_instruction():
    assert "vdpbf16ps\t%zmm2, %zmm1, %zmm0" in assembly(ALL[0], "dot_bfloat16", F32)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ("avx512bf16", "dotprod", "portable") if name != detect().name])
def test_a_decoder_gives_the_same_answers(name):
    run = subprocess.run([sys.executable, "-c", A_DECODER, name], capture_output=True, text=True, check=False)
    assert run.stdout == "the same\n", run.stderr
