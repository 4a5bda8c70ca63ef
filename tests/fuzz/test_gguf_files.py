"""Mutants of GGUF files: fields of the header are set to edge values, strings are exchanged, and bytes are changed anywhere."""

from __future__ import annotations

import random
import struct
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.checkpoints import open_checkpoint
from headway.checkpoints.classification import read_classifier_options
from headway.checkpoints.sentence_transformers import read_sentence_options
from headway.gguf_file import ARRAY, SCALARS, STRING
from headway.tokenizers import load_tokenizer
from headway.tokenizers.library import LibraryTokenizer
from tests.fuzz.mutations import mutate_bytes, num_mutants, report, run

gguf = pytest.importorskip("gguf", reason="llama.cpp's package gguf is not installed")

from tests.checkpoints import gguf_t5_files  # noqa: E402
from tests.checkpoints.gguf_encoder_files import convert, save  # noqa: E402
from tests.checkpoints.gguf_files import VOCAB_SIZE, write_gguf  # noqa: E402
from tests.checkpoints.test_gguf import METADATA, MODELS, SIZES  # noqa: E402

SMALL = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1}
SMALL_METADATA = {
    **{"embedding_length": 32, "feed_forward_length": 32, "block_count": 1, "attention.head_count": 2, "attention.head_count_kv": 1},
}
QUANTIZED = {"embd.weight": "Q4_0", "output.weight": "Q4_0", "_q.weight": "Q8_0", "_down.weight": "Q8_0", "_up.weight": "F16"}
ENCODERS = (
    *("BertModel", "XLMRobertaForSequenceClassification", "RobertaModel", "ModernBertForSequenceClassification"),
    *("T5ForConditionalGeneration", "T5EncoderModel"),
)
CASES = ("llama", "mixtral", "qwen3moe", "gemma3", "gpt-oss")
EDGES = (
    0,
    1,
    2,
    3,
    7,
    8,
    9,
    12,
    13,
    31,
    32,
    33,
    39,
    40,
    255,
    2**16,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**40,
    2**60,
    2**63 - 1,
    2**63,
    2**64 - 1,
)


def sample(path: Path, case: str) -> bytes:
    """The smallest file of an architecture that loads."""
    from headway.models import architecture

    name, model_type, keys, metadata = MODELS[case]
    module = architecture(model_type)
    config = module.Config(**SIZES | SMALL | keys)
    write_gguf(path, name, module, config, METADATA | SMALL_METADATA | metadata, QUANTIZED)
    return path.read_bytes()


def encoder_sample(folder: Path, kind: str) -> bytes:
    """A file of an encoder, or of an encoder–decoder, with a tokenizer of its own kind."""
    if kind.startswith("T5"):
        return gguf_t5_files.convert(gguf_t5_files.save(folder / kind, kind), folder / f"{kind}.gguf", kind="Q8_0").read_bytes()
    keys = {"XLMR": {"type_vocab_size": 1, "num_labels": 1}, "Mode": {"num_labels": 1}}.get(kind[:4], {})
    return convert(save(folder / kind, kind, **keys), folder / f"{kind}.gguf", kind="Q8_0", pooling=2).read_bytes()


def fields(content: bytes) -> list[tuple[int, str]]:
    """The place and the struct code of every count, length, type, number, size and offset in front of the data."""
    found: list[tuple[int, str]] = [(4, "<I"), (8, "<Q"), (16, "<Q")]
    at = 24

    def number(code: str) -> int:
        nonlocal at
        found.append((at, code))
        (value,) = struct.unpack_from(code, content, at)
        at += struct.calcsize(code)
        return int(value)

    def string() -> None:
        nonlocal at
        length = number("<Q")
        at += length

    num_tensors, num_entries = struct.unpack_from("<QQ", content, 8)
    for _ in range(num_entries):
        string()
        kind = number("<I")
        count = 1
        if kind == ARRAY:
            kind, count = number("<I"), number("<Q")
        for _ in range(count):
            string() if kind == STRING else number(SCALARS[kind])
    for _ in range(num_tensors):
        string()
        for _ in range(number("<I")):
            number("<Q")
        number("<I")
        number("<Q")
    return found


def mutants(samples: list[bytes], count: int, *, first_seed: int = 0) -> Iterator[tuple[int, bytes]]:
    """Three of four with one to three fields at edge values, or at the value of another field, the fourth with edited bytes."""
    places = [fields(each) for each in samples]
    for seed in range(first_seed, first_seed + count):
        rng = random.Random(seed)
        which = rng.randrange(len(samples))
        if seed % 4 == 0:
            yield seed, mutate_bytes(rng, samples[which][: rng.choice((2_000, 8_000, len(samples[which])))])
            continue
        content = bytearray(samples[which])
        # Three of four fields are lengths of tokens; the first and last of them are those of the config and of the tensors.
        ends = places[which][:120] + places[which][-120:]
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            at, code = rng.choice(ends if rng.random() < 0.8 else places[which])
            size = struct.calcsize(code)
            if rng.random() < 0.6:
                content[at : at + size] = (rng.choice(EDGES) % 2 ** (8 * size)).to_bytes(size, "little")
            else:
                other, _ = rng.choice(ends)
                content[at : at + size] = content[other : other + size]
        yield seed, bytes(content)


def test_a_sample_has_the_fields_of_its_header(tmp_path):
    content = sample(tmp_path / "model.gguf", "llama")
    places = fields(content)
    assert len(places) > 3 * VOCAB_SIZE  # a length, a score and a type for each token
    assert places == sorted(set(places))
    assert content[places[-1][0] + 8 :][:32].count(0) > 0  # the padding in front of the data


def samples_of(group: str, folder: Path) -> list[bytes]:
    if group == "decoders":
        return [sample(folder / "model.gguf", case) for case in CASES]
    return [encoder_sample(folder, kind) for kind in ENCODERS]


@pytest.mark.slow
@pytest.mark.parametrize("group", ["decoders", "encoders"])
@pytest.mark.filterwarnings("ignore")  # overflow in the arithmetic of absurd rotary scalings
def test_gguf_files(tmp_path, group):
    path, samples = tmp_path / "model.gguf", samples_of(group, tmp_path)

    def attempt(mutant: bytes) -> None:
        path.write_bytes(mutant)
        open_checkpoint(path, dtype=None)
        tokenizer = load_tokenizer(path)
        tokenizer.encode("ab a")
        if isinstance(tokenizer, LibraryTokenizer):
            tokenizer.encode_pair("ab", "a")
        read_sentence_options(path)
        read_classifier_options(path)

    for each in samples:
        attempt(each)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failures = run(attempt, mutants(samples, num_mutants(500)), seconds_each=120, memory_bytes=128 * 2**20, bytes_per_byte=4)
    assert not failures, report(failures)
