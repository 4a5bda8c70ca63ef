"""Models in GGUF files: the weights, the config and the number formats, against transformers and llama.cpp's own package."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import numpy
import pytest

from headway.checkpoints import open_checkpoint
from headway.checkpoints.gguf_blocks import BLOCKS, dequantize
from headway.errors import CheckpointError, NotFiniteError, UnsupportedError
from headway.gguf_file import FORMATS, GGUFFile
from headway.models import architecture
from headway.trees import leaves

gguf = pytest.importorskip("gguf", reason="llama.cpp's package gguf is not installed")

from tests.checkpoints.gguf_files import VOCAB_SIZE, tensors, write, write_gguf  # noqa: E402

ROPE = {"rope_type": "default", "rope_theta": 10000.0}
SIZES: dict[str, Any] = {
    **{"vocab_size": VOCAB_SIZE, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "max_position_embeddings": 32},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "rms_norm_eps": 1e-5, "rope_parameters": ROPE},
}
METADATA: dict[str, Any] = {
    **{"embedding_length": 64, "feed_forward_length": 96, "block_count": 2, "context_length": 32, "vocab_size": VOCAB_SIZE},
    **{"attention.head_count": 4, "attention.head_count_kv": 2, "attention.key_length": 16, "attention.value_length": 16},
    **{"attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 10000.0, "rope.dimension_count": 16},
}
WINDOW = {"sliding_window": 4, "tie_word_embeddings": True}
GEMMA = {"attention.sliding_window": 4}
LOCAL = {"full_attention": ROPE | {"rope_theta": 1e6}, "sliding_attention": ROPE}
EXPERTS = {"num_experts": 3, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "norm_topk_prob": True}
GRANITE = {"embedding_multiplier": 2.0, "attention_multiplier": 0.5, "residual_multiplier": 0.25, "logits_scaling": 4.0}
SCALES = {"embedding_scale": 2.0, "attention.scale": 0.5, "residual_scale": 0.25, "logit_scale": 4.0}
GPT_OSS = {"num_local_experts": 3, "num_experts_per_tok": 2, "sliding_window": 4, "intermediate_size": 32}
GPT_OSS |= {
    "rope_parameters": {
        "rope_type": "yarn",
        "rope_theta": 10000.0,
        "factor": 32.0,
        "original_max_position_embeddings": 16,
        "truncate": False,
    }
}
GPT_OSS_METADATA = {"attention.sliding_window": 4, "expert_count": 3, "expert_used_count": 2, "expert_feed_forward_length": 32}
GPT_OSS_METADATA |= {"rope.scaling.type": "yarn", "rope.scaling.factor": 32.0, "rope.scaling.original_context_length": 16}
MODELS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "llama": ("llama", "llama", {}, {}),
    "llama, tied": ("llama", "llama", {"tie_word_embeddings": True}, {}),
    "llama, biases": ("llama", "llama", {"attention_bias": True}, {}),
    "mixtral": ("llama", "mixtral", {"num_local_experts": 3}, {"expert_count": 3, "expert_used_count": 2}),
    "qwen2": ("qwen2", "qwen2", {"head_dim": None}, {}),
    "qwen3": ("qwen3", "qwen3", {}, {}),
    "qwen3moe": ("qwen3moe", "qwen3_moe", EXPERTS, {"expert_count": 3, "expert_used_count": 2, "expert_feed_forward_length": 32}),
    "gemma": ("gemma", "gemma", {"tie_word_embeddings": True}, {}),
    "gemma2": ("gemma2", "gemma2", WINDOW | {"query_pre_attn_scalar": 16}, GEMMA),
    "gemma3": (
        "gemma3",
        "gemma3_text",
        WINDOW | {"query_pre_attn_scalar": 16, "rope_parameters": LOCAL},
        GEMMA | {"rope.freq_base": 1e6},
    ),
    "smollm3": ("smollm3", "smollm3", {"tie_word_embeddings": True}, {}),
    "granite": ("granite", "granite", GRANITE, SCALES),
    "granite, biases": ("granite", "granite", GRANITE | {"attention_bias": True, "mlp_bias": True}, SCALES),
    "olmo2": ("olmo2", "olmo2", {"head_dim": None}, {}),
    "olmoe": ("olmoe", "olmoe", {"num_experts": 3, "num_experts_per_tok": 2}, {"expert_count": 3, "expert_used_count": 2}),
    "gpt-oss": ("gpt-oss", "gpt_oss", GPT_OSS, GPT_OSS_METADATA),
}
BY_TRANSFORMERS = ("llama", "llama, tied", "qwen2", "qwen3", "gemma2")
"""Models that transformers reads too."""


def write_model(path: Path, case: str, formats: dict[str, str] | None = None) -> tuple[Any, Any, Any]:
    """Write a file; return the module, the config and the weights."""
    name, model_type, keys, metadata = MODELS[case]
    module = architecture(model_type)
    config = module.Config(**{key: value for key, value in (SIZES | keys).items() if value is not None})
    return module, config, write_gguf(path, name, module, config, METADATA | metadata, formats)


@pytest.mark.parametrize("case", MODELS)
def test_config_and_weights_are_those_that_were_written(tmp_path, case):
    module, config, weights = write_model(tmp_path / "model.gguf", case)
    loaded = open_checkpoint(tmp_path / "model.gguf")
    assert module.spec(loaded.config) == approximately(module.spec(config))
    for (path, expected), (other, actual) in zip(leaves(weights), leaves(loaded.weights), strict=True):
        assert path == other
        numpy.testing.assert_array_equal(actual, expected, err_msg=path)
    assert loaded.generation_config == {"bos_token_id": 1, "eos_token_id": [2]}


@pytest.mark.parametrize("case", MODELS)
def test_names_of_tensors_are_those_of_llama_cpp(tmp_path, case):
    write_model(tmp_path / "model.gguf", case)
    arch = next(arch for arch, name in gguf.MODEL_ARCH_NAMES.items() if name == MODELS[case][0])
    known = {gguf.TENSOR_NAMES[tensor] for tensor in gguf.MODEL_TENSORS[arch]}
    names = GGUFFile(tmp_path / "model.gguf").tensors
    assert {re.sub(r"blk\.\d+", "blk.{bid}", name.rpartition(".")[0]) for name in names} <= known


def approximately(spec: Any) -> Any:
    """Return an object that equals a spec whose numbers were stored in float32."""
    shown = repr(spec)

    class Approximately:
        def __eq__(self, other: object) -> bool:
            def parts(text: str) -> list[Any]:
                return [float(numpy.float32(part)) if is_number(part) else part for part in text.replace(")", ",").split(",")]

            return parts(repr(other).replace("=", ",")) == parts(shown.replace("=", ","))

    return Approximately()


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("case", BY_TRANSFORMERS)
def test_logits_equal_those_of_transformers(tmp_path, case):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    write_model(tmp_path / "model.gguf", case)
    ours = open_checkpoint(tmp_path / "model.gguf")
    theirs = by_transformers(transformers, tmp_path / "model.gguf")
    token_ids = numpy.random.default_rng(0).integers(3, VOCAB_SIZE, (2, 11))
    with torch.no_grad():
        expected = theirs(torch.from_numpy(token_ids)).logits.numpy()
    actual = ours.architecture.forward(token_ids, ours.weights, ours.config)
    numpy.testing.assert_allclose(actual, expected, atol=1e-4, rtol=1e-4)


def by_transformers(transformers: Any, path: Path) -> Any:
    """The model as transformers reads it, without the package accelerate, which from_pretrained needs.

    transformers leaves some sizes at the defaults of its classes, which are those of published models.
    """
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    keys = load_gguf_checkpoint(path)["config"] | {"head_dim": 16, "query_pre_attn_scalar": 16}
    model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(**keys)).eval()
    missing, unexpected = model.load_state_dict(
        load_gguf_checkpoint(path, return_tensors=True, model_to_load=model)["tensors"], strict=False
    )
    assert not unexpected
    assert set(missing) <= {"lm_head.weight"}
    model.tie_weights()
    return model


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_are_converted_as_by_llama_cpp(name):
    number, number_format = next((number, each) for number, each in FORMATS.items() if each.name == name)
    kind = gguf.GGMLQuantizationType(number)
    assert gguf.GGML_QUANT_SIZES[kind] == (number_format.block_size, number_format.num_bytes)
    rows = numpy.random.default_rng(0).integers(0, 256, (5, 3 * number_format.num_bytes)).astype(numpy.uint8)
    with numpy.errstate(all="ignore"):  # random scales may be NaN or infinite
        expected, actual = gguf.quants.dequantize(rows, kind), dequantize(rows, number_format)
    numpy.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q4_0", "Q5_1"])
def test_matrices_are_read_in_every_format(tmp_path, kind):
    _, config, weights = write_model(tmp_path / "model.gguf", "llama", {"_q.weight": kind, "_down.weight": kind})
    loaded = open_checkpoint(tmp_path / "model.gguf").weights.layers[1]
    number_format = gguf.GGMLQuantizationType[kind]
    matrix = tensors("llama", config, weights)["blk.1.ffn_down.weight"]
    stored = gguf.quants.dequantize(gguf.quants.quantize(matrix, number_format), number_format)
    numpy.testing.assert_array_equal(loaded.feed_forward.down.weight, stored)
    assert numpy.abs(loaded.attention.query.weight - weights.layers[1].attention.query.weight).max() < 0.15


def test_the_factors_of_llama_3_are_recognized(tmp_path):
    """The file has the factors only; those of another length of training give the same angles as a list."""
    from headway.functions import rotary_frequencies, scale_rotary_llama3

    given = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    frequencies = rotary_frequencies(16, theta=10000.0, like=numpy.zeros(0, numpy.float32))
    for length, expected in ((16, "llama3"), (17, "longrope")):
        path = tmp_path / f"{length}.gguf"
        factors = frequencies / scale_rotary_llama3(frequencies, original_max_seq_len=length, **given)
        write_model(tmp_path / "model.gguf", "llama")
        add_tensor(tmp_path / "model.gguf", path, "rope_freqs.weight", factors.astype(numpy.float32))
        assert open_checkpoint(path).config.rope_parameters["rope_type"] == expected
    assert open_checkpoint(tmp_path / "16.gguf").config.rope_parameters["original_max_position_embeddings"] == 16


def add_tensor(source: Path, target: Path, name: str, array: numpy.ndarray) -> None:
    """Copy a file of float32 tensors with one more."""
    from tests.checkpoints.gguf_files import add_metadata, add_sentencepiece

    file = GGUFFile(source)
    writer = gguf.GGUFWriter(target, "llama")
    add_metadata(writer, {key: value for key, value in file.metadata.items() if key.startswith("llama.")})
    add_sentencepiece(writer)
    for each, info in file.tensors.items():
        writer.add_tensor(each, file.data(each).view(numpy.float32).reshape(info.shape))
    writer.add_tensor(name, array)
    write(writer)


def test_a_folder_with_one_file_is_loaded(tmp_path):
    write_model(tmp_path / "model.gguf", "llama")
    assert open_checkpoint(tmp_path).config.hidden_size == 64
    write_model(tmp_path / "other.gguf", "llama")
    with pytest.raises(CheckpointError, match=r"model\.gguf, other\.gguf, expected one GGUF file"):
        open_checkpoint(tmp_path)


def test_generated_tokens_equal_those_of_the_definition(tmp_path):
    import headway

    write_model(tmp_path / "model.gguf", "llama", {".weight": "F16", "norm.weight": "F32"})
    options = {"max_new_tokens": 8, "temperature": 0, "ignore_end": True}
    compiled = headway.load(tmp_path / "model.gguf", weights="float32").generate("ab a b", **options)
    assert compiled == headway.load(tmp_path / "model.gguf", weights="none").generate("ab a b", **options)
    assert len(compiled.token_ids) == 8


def test_metadata_of_every_type_is_read(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "llama")
    values = {"uint8": 255, "int8": -128, "uint16": 65_535, "int16": -1, "uint32": 2**32 - 1, "int32": -(2**31), "uint64": 2**64 - 1}
    values |= {"int64": -(2**63), "float32": 0.5, "float64": 1e300, "bool": True, "string": "ä"}
    for kind, value in values.items():
        getattr(writer, f"add_{kind}")(f"a.{kind}", value)
    writer.add_array("a.strings", ["x", "", "ü"])
    writer.add_array("a.floats", [0.5, -1.0])
    writer.add_array("a.bytes", b"\x00\xff")
    write(writer)
    metadata = GGUFFile(tmp_path / "model.gguf").metadata
    assert {key.removeprefix("a."): value for key, value in metadata.items() if key.startswith("a.")} == {
        **values,
        "strings": ["x", "", "ü"],
        "floats": [0.5, -1.0],
        "bytes": b"\x00\xff",
    }


def header(num_tensors: int, *tensor_infos: bytes, version: int = 3, size: int = 4096) -> bytes:
    """A file without metadata."""
    content = b"GGUF" + struct.pack("<IQQ", version, num_tensors, 0) + b"".join(tensor_infos)
    return content.ljust(size, b"\0")


def info(name: str, shape: tuple[int, ...], kind: int, offset: int) -> bytes:
    """The description of a tensor, with the fastest axis first."""
    return struct.pack("<Q", len(name)) + name.encode() + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read"),
        (b"GGML" + bytes(64), r"first bytes b'GGML', expected b'GGUF'"),
        (header(2**60), r"1,152,921,504,606,846,976 tensors and 0 metadata entries, expected as many as fit in 4,096 bytes"),
        (header(0, version=1), "GGUF version 1, expected little-endian version 2 or 3"),
        (header(0, version=0x03000000), "big-endian byte order"),
        (header(1, info("a", (33,), 8, 0)), r"tensor 'a' of shape \(33,\), expected rows of a multiple of 32 numbers for Q8_0"),
        (header(1, info("a", (32,), 99, 0)), "tensor 'a' in the format 99, expected one of F32"),
        (header(1, info("a", (32,), 20, 0)), "tensor 'a' in the format IQ4_NL, expected one of F32"),
        (header(1, info("a", (2**40, 2**40), 0, 0)), r"tensor 'a' of shape"),
        (header(1, info("a", (2**20,), 0, 0)), r"tensor 'a', F32 \(1048576,\), of 4,194,304 bytes at offset 0, expected"),
        (header(1, info("a", (32,), 0, 8)), "a multiple of 32"),
        (header(1, info("a", (1,) * 5, 0, 0)), "5 axes, expected 1 to 4"),
        (header(2, info("a", (32,), 0, 0), info("b", (32,), 0, 64)), "tensors 'a' and 'b' overlapping"),
        (header(2, info("a", (32,), 0, 0), info("a", (32,), 0, 128)), "tensor 'a' twice"),
        (header(1, struct.pack("<Q", 2**50)), r"name of tensor 0 of 1,125,899,906,842,624 bytes at byte 32"),
    ],
)
def test_broken_files_are_refused(tmp_path, content, message):
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        GGUFFile(path)


def test_a_truncated_file_is_refused_at_every_length(tmp_path):
    write_model(tmp_path / "whole.gguf", "llama")
    content = (tmp_path / "whole.gguf").read_bytes()
    path = tmp_path / "model.gguf"
    for length in range(0, len(content), len(content) // 97):
        path.write_bytes(content[:length])
        with pytest.raises(CheckpointError):
            open_checkpoint(path)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("expert_count", r"llama\.expert_count=40,832, expected at most 3, as many as the tensors are for"),
        ("block_count", r"llama\.block_count=40,832, expected at most 23, as many"),
    ],
)
def test_more_layers_and_experts_than_tensors_are_refused_before_they_are_listed(tmp_path, key, message):
    path = tmp_path / "model.gguf"
    write_model(path, "mixtral")
    content = path.read_bytes()
    at = content.index(f"llama.{key}".encode()) + len(f"llama.{key}") + 4
    path.write_bytes(content[:at] + struct.pack("<I", 40832) + content[at + 4 :])
    with pytest.raises(CheckpointError, match=message):
        open_checkpoint(path)


def test_other_architectures_and_missing_tensors_are_named(tmp_path):
    path = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(path, "mamba")
    write(writer)
    with pytest.raises(UnsupportedError, match=r"general\.architecture='mamba', expected one of llama, "):
        open_checkpoint(path)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_uint16("split.count", 3)
    write(writer)
    with pytest.raises(UnsupportedError, match="one of 3 parts of a model"):
        open_checkpoint(path)
    writer = gguf.GGUFWriter(path, "llama")
    write(writer)
    with pytest.raises(CheckpointError, match=r"llama\.embedding_length=None, expected an integer"):
        open_checkpoint(path)


INT4_PARTS = ("query.weight", "key.weight", "value.weight", "gate.weight", "up.weight", "down.weight")
QUANTIZED = ("embd.weight", "_q.weight", "_k.weight", "_v.weight", "output.weight", "gate.weight", "up.weight", "down.weight")


def packed_leaves(path: Path, kind: str, file: Path | None = None) -> dict[str, Any]:
    """Return the packed weights of a file by the path of the leaf."""
    from platformdirs import user_cache_path

    from headway.kernels.cpu.packed_file import packed_weights
    from headway.kernels.cpu.runtime import Runtime

    tree = leaves(open_checkpoint(path, dtype=None).weights)
    return packed_weights(file, "key", kind, tree, Runtime(1, user_cache_path("headway") / "compiled"))


def spread_scales(path: Path) -> None:
    """Double the scale of every fourth block and halve its codes, as quantizers with importance weights leave codes that are not extreme."""
    content = bytearray(path.read_bytes())
    file = GGUFFile(path)
    for info in file.tensors.values():
        if info.format.name in ("Q8_0", "Q4_0"):
            blocks = numpy.frombuffer(content, numpy.uint8)[info.start : info.stop].reshape(-1, info.format.num_bytes)[::4].copy()
            blocks[:, :2] = (blocks[:, :2].copy().view("<f2") * 2).view(numpy.uint8)
            if info.format.name == "Q8_0":
                blocks[:, 2:] = (blocks[:, 2:].view(numpy.int8) // 2).view(numpy.uint8)
            else:
                lower, upper = (8 + (codes.astype(numpy.int8) - 8) // 2 for codes in (blocks[:, 2:] & 15, blocks[:, 2:] >> 4))
                blocks[:, 2:] = (lower | upper << 4).astype(numpy.uint8)
            view = numpy.frombuffer(content, numpy.uint8)[info.start : info.stop]
            view.reshape(-1, info.format.num_bytes)[::4] = blocks
    path.write_bytes(content)


@pytest.mark.parametrize(("kind", "packed_kind"), [("Q8_0", "int8"), ("Q4_0", "int4"), ("Q4_0", "int8")])
def test_packing_copies_the_codes_and_scales_of_q8_0_and_q4_0(tmp_path, kind, packed_kind):
    path = tmp_path / "model.gguf"
    write_model(path, "llama", dict.fromkeys(QUANTIZED, kind))
    spread_scales(path)
    whole = dict(leaves(open_checkpoint(path).weights))
    expected_kind = "int4" if kind == "Q4_0" else "int8"
    for file in (None, tmp_path / "packed", tmp_path / "packed"):  # in memory, written, and mapped again
        packed = packed_leaves(path, packed_kind, file)
        quantized = [name for name, leaf in packed.items() if hasattr(leaf, "codes")]
        assert len(quantized) == 2 * 7 + 2
        for name in quantized:
            assert packed[name].kind == expected_kind
            numpy.testing.assert_array_equal(packed[name].dense().view(numpy.uint32), whole[name].view(numpy.uint32), err_msg=name)


@pytest.mark.parametrize("num_tokens", [6, 13])  # wide tiles begin at 12 tokens
@pytest.mark.parametrize("head_kind", ["Q8_0", "Q4_0"])
def test_a_compiled_decoder_may_have_int4_and_int8_matrices(tmp_path, head_kind, num_tokens):
    from headway.language_model.decoders import compiled_decoder

    path, others = tmp_path / "model.gguf", "Q4_0" if head_kind == "Q8_0" else "Q8_0"
    write_model(path, "llama", dict.fromkeys(QUANTIZED, others) | {"embd.weight": head_kind, "output.weight": head_kind})
    decoder = compiled_decoder(open_checkpoint(path, dtype=None), path, "int8")
    kinds = {name: leaf.kind for name, leaf in packed_leaves(path, "int8").items() if hasattr(leaf, "codes")}
    ends = {name for name in kinds if not name.endswith(INT4_PARTS)}
    assert {name for name, kind in kinds.items() if kind == ("int8" if head_kind == "Q8_0" else "int4")} == ends
    assert {"output_head", "layers.1.attention.output.weight"} <= ends
    plain, token_ids = open_checkpoint(path), [260, 261, 263, 5, 99, 265, 7, 262, 31, 32, 264, 8, 9][:num_tokens]
    expected = plain.architecture.hidden_states(numpy.array([token_ids]), plain.weights, plain.config)[0]
    numpy.testing.assert_allclose(decoder.hidden_states(token_ids), expected, atol=0.05 * numpy.abs(expected).max())


def test_a_code_that_the_kernels_do_not_have_is_rounded():
    from headway.checkpoints.gguf_blocks import QuantizedRows

    rows = numpy.zeros((1, 34), numpy.uint8)
    rows[0, :4] = [0, 60, 128, 1]  # the scale 1, and the codes -128 and 1
    matrix = QuantizedRows(rows, FORMATS[8])
    assert matrix.packed() is None
    assert numpy.asarray(matrix)[0, :2].tolist() == [-128, 1]


@pytest.mark.parametrize(("kind", "packed_kind"), [("Q8_0", "int8"), ("Q4_0", "int4")])
def test_an_infinite_scale_is_refused_by_name(tmp_path, kind, packed_kind):
    path = tmp_path / "model.gguf"
    write_model(path, "llama", {"_q.weight": kind})
    content = bytearray(path.read_bytes())
    start = GGUFFile(path).tensors["blk.1.attn_q.weight"].start
    content[start : start + 2] = b"\0\x7c"
    path.write_bytes(content)
    with pytest.raises(NotFiniteError, match=r"layers\.1\.attention\.query\.weight with NaN or infinity"):
        packed_leaves(path, packed_kind)
