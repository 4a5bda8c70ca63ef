"""Mutated and malicious tokenizer files: each gives a working tokenizer or a HeadwayError.

Known cases that end the process (an abort in native code) are in the tables; the mutants of a run with HEADWAY_FUZZ=20000 have found no others.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors

from headway.errors import TokenizerError
from headway.tokenizers import Tokenizer, byte_tokenizer, load_tokenizer, train_bpe
from headway.tokenizers.sentencepiece_file import check_charsmap
from tests.fuzz.mutations import BYTES_PER_BYTE, byte_mutants, json_mutants, num_mutants, report, run
from tests.tokenizers.conftest import (  # noqa: F401 (fixtures)
    corpus_lines,
    llama_model,
    small_llama2c,
    t5_model,
    train_pieces,
    write_llama2c,
)

SECONDS_EACH = 120
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "bos_token": "<s>",
    "eos_token": {"content": "</s>", "lstrip": False},
    "unk_token": "<unk>",
    "add_bos_token": True,
    "clean_up_tokenization_spaces": True,
    "added_tokens_decoder": {"0": {"content": "<unk>", "special": True}, "1": {"content": "<s>", "special": True, "lstrip": True}},
    "additional_special_tokens": ["<s>", {"content": "</s>"}],
    "chat_template": [{"name": "default", "template": "{% for message in messages %}{{ message.content }}{% endfor %}"}],
    "model_max_length": 1000000000000000019884624838656,
    "split_special_tokens": False,
    "do_lower_case": True,
    "extra_ids": 3,
    "sp_model_kwargs": {},
}


def use(folder: Path) -> None:
    """Load a tokenizer and call each of its methods."""
    tokenizer = load_tokenizer(folder)
    for text in ("the  cat sat <s>é 中 12", ""):
        token_ids = tokenizer.encode(text)
        tokenizer.encode_target(text)
        tokenizer.decode(token_ids)
        decoder = tokenizer.stream_decoder(after=token_ids[:1])
        for token_id in token_ids:
            decoder.add(token_id)
        decoder.flush()
    assert tokenizer.vocab_size >= 0
    tokenizer.decode([0, 1, 2, 300], skip_special_tokens=False)
    if tokenizer.has_chat_template:
        tokenizer.apply_chat_template([{"role": "user", "content": "Hi"}])


def check(attempt: Callable[[bytes], object], mutants: Iterator[tuple[int, bytes]], more_bytes: int = 0) -> None:
    limits = {"seconds_each": SECONDS_EACH, "memory_bytes": 512 * 2**20, "bytes_per_byte": BYTES_PER_BYTE, "more_bytes": more_bytes}
    failures = run(attempt, mutants, **limits)
    assert not failures, report(failures)


def writer(path: Path) -> Callable[[bytes], None]:
    """Return a function that writes a mutant to a file and uses the tokenizer of its folder."""

    def attempt(mutant: bytes) -> None:
        path.write_bytes(mutant)
        use(path.parent)

    return attempt


def tokenizer_jsons() -> list[dict[str, Any]]:
    """One tokenizer.json of each model, with many kinds of steps."""
    byte_level = train_bpe(["the cat sat on the mat " * 3], 280).backend
    byte_level.enable_truncation(512)
    byte_level.enable_padding(length=8)
    pieces = ["<unk>", "<s>", "</s>", *BYTES, "▁", "▁the", "▁cat", "th", "e", "a", "t", "▁s", "at", "é", "te"]
    unigram = tokenizers.Tokenizer(models.Unigram([(piece, -float(i)) for i, piece in enumerate(pieces)], unk_id=0, byte_fallback=True))
    unigram.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    unigram.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    unigram.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    unigram.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)])
    unigram.add_special_tokens([AddedToken(content, special=True, normalized=False) for content in ("<s>", "</s>")])
    words = {word: i for i, word in enumerate(["<unk>", "[CLS]", "[SEP]", "the", "cat", "a", "##a", "##t", ".", "t"])}
    wordpiece = tokenizers.Tokenizer(models.WordPiece(words, unk_token="<unk>"))
    wordpiece.normalizer = normalizers.BertNormalizer()
    wordpiece.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    wordpiece.decoder = decoders.WordPiece()
    wordpiece.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    vocab = {piece: i for i, piece in enumerate(pieces)}
    bpe = tokenizers.Tokenizer(models.BPE(vocab, [("a", "t"), ("t", "e")], unk_token="<unk>", byte_fallback=True))
    split = pre_tokenizers.Split(Regex(r"\p{L}+|\d{1,3}"), "isolated")
    byte_step = pre_tokenizers.ByteLevel(False, use_regex=False)
    bpe.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.Digits(True), byte_step])
    bpe.decoder = decoders.ByteLevel()
    roberta = processors.RobertaProcessing(("</s>", 2), ("<s>", 1))
    bpe.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), roberta])
    word_level = tokenizers.Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    word_level.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Strip(), normalizers.Lowercase()])
    word_level.pre_tokenizer = pre_tokenizers.Whitespace()
    word_level.decoder = decoders.CTC()
    return [json.loads(backend.to_str()) for backend in (byte_level, unigram, wordpiece, bpe, word_level)]


def byte_level_files() -> tuple[dict[str, int], bytes]:
    model = json.loads(train_bpe(["the cat sat on the mat"], 270).backend.to_str())["model"]
    return model["vocab"], "\n".join(" ".join(merge) for merge in model["merges"]).encode()


def test_mutated_tokenizer_json(tmp_path: Path) -> None:
    check(writer(tmp_path / "tokenizer.json"), json_mutants(tokenizer_jsons(), num_mutants(400)))


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt"])
def test_mutated_vocabulary_and_merges(tmp_path: Path, name: str) -> None:
    vocab, merges = byte_level_files()
    (tmp_path / "vocab.json").write_text(json.dumps(vocab))
    (tmp_path / "merges.txt").write_bytes(merges)
    mutants = json_mutants([vocab], num_mutants(300)) if name == "vocab.json" else byte_mutants([merges], num_mutants(300))
    check(writer(tmp_path / name), mutants)


@pytest.mark.parametrize("kind", ["tokenizer.json", "vocab.txt", "vocab.json", "spiece.model"])
@pytest.mark.parametrize(
    ("name", "sample"),
    [
        ("tokenizer_config.json", CONFIG),
        ("special_tokens_map.json", {"bos_token": "<s>", "eos_token": {"content": "</s>"}, "additional_special_tokens": ["<s>"]}),
        ("added_tokens.json", {"<s>": 1, "</s>": 2, "<x>": 269}),
    ],
)
def test_mutated_config_files(tmp_path: Path, kind: str, name: str, sample: dict[str, Any], request: pytest.FixtureRequest) -> None:
    if kind == "tokenizer.json":
        (tmp_path / kind).write_text(json.dumps(tokenizer_jsons()[1]))
    elif kind == "vocab.txt":
        (tmp_path / kind).write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat"]))
    elif kind == "vocab.json":
        vocab, merges = byte_level_files()
        (tmp_path / kind).write_text(json.dumps(vocab))
        (tmp_path / "merges.txt").write_bytes(merges)
    else:
        (tmp_path / kind).write_bytes(request.getfixturevalue("t5_model"))
    check(writer(tmp_path / name), json_mutants([sample], num_mutants(60)), more_bytes=(tmp_path / kind).stat().st_size)


def test_mutated_vocab_txt(tmp_path: Path) -> None:
    words = "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s", "é"]).encode()
    check(writer(tmp_path / "vocab.txt"), byte_mutants([words], num_mutants(300)))


def test_mutated_llama2c_tokenizer(tmp_path: Path, small_llama2c: Tokenizer, write_llama2c: Callable[..., Path]) -> None:  # noqa: F811
    path = write_llama2c(tmp_path / "tokenizer.bin", small_llama2c.pieces, small_llama2c.scores)  # type: ignore[attr-defined]
    check(writer(path), byte_mutants([path.read_bytes()], num_mutants(300)))


@pytest.mark.parametrize("name", ["spiece.model", "tokenizer.model"])
def test_mutated_sentencepiece_models(tmp_path: Path, name: str, t5_model: bytes, llama_model: bytes) -> None:  # noqa: F811
    sample = t5_model if name == "spiece.model" else llama_model
    check(writer(tmp_path / name), byte_mutants([sample], num_mutants(200)))


def replace_step(content: str, **pattern: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def nested(parts_key: str, step: dict[str, Any], depth: int) -> dict[str, Any]:
    for _ in range(depth):
        step = {"type": "Sequence", parts_key: [step]}
    return step


def template(num_texts: int) -> dict[str, Any]:
    texts = [{"Sequence": {"id": "A", "type_id": 0}}] * num_texts
    return {"type": "TemplateProcessing", "single": texts, "pair": texts, "special_tokens": {}}


MALICIOUS = {
    "a normalizer that doubles 40 times": {
        "normalizer": {"type": "Sequence", "normalizers": [replace_step("aa", String="a")] * 40},
    },
    "a decoder that doubles 40 times": {"decoder": {"type": "Sequence", "decoders": [replace_step("aa", String="a")] * 40}},
    "byte level 40 times": {
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "ByteLevel"}] * 40},
    },
    "a long prefix": {"normalizer": {"type": "Prepend", "prepend": "x" * 10**6}},
    "an empty pattern": {"normalizer": replace_step("aa", String="")},
    "an empty regular expression": {"normalizer": replace_step("b", Regex="")},
    "exponential backtracking": {"normalizer": replace_step("b", Regex="(a+)+$")},
    "a deep regular expression": {"normalizer": replace_step("b", Regex="(" * 20_000 + "a" + ")" * 20_000)},
    "a text 10,000 times": {"post_processor": template(10_000)},
    "100 nested normalizers": {"normalizer": nested("normalizers", {"type": "NFC"}, 100)},
    "3,000 nested normalizers": {"normalizer": nested("normalizers", {"type": "NFC"}, 300)},
    "a strip of 2**63": {"decoder": {"type": "Strip", "content": "a", "start": 2**63, "stop": 2**63}},
    "chunks of length 0": {"pre_tokenizer": {"type": "FixedLength", "length": 0}},
    "an empty normalizer table": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAAAAAA"}},
    "a normalizer table of 4 GB": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "////////" + "A" * 1_000}},
    "a long prefix of subwords": {
        "model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "byte_fallback": True, "continuing_subword_prefix": "x" * 10**5},
    },
    "a vocabulary without unknown": {"model": {"type": "Unigram", "unk_id": None, "vocab": []}},
    "a word model without unknown": {
        "model": {
            "type": "WordPiece",
            "unk_token": "?",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {"b": 0},
        },
    },
}


@pytest.mark.parametrize("name", MALICIOUS)
def test_a_malicious_tokenizer_json_is_an_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(byte_tokenizer().backend.to_str()), **MALICIOUS[name]}))

    def attempt(_: object) -> None:
        tokenizer = load_tokenizer(tmp_path)
        tokenizer.encode("a" * 40 + " the cat é")
        tokenizer.encode("a" * 2_000 + "c")
        tokenizer.decode([97] * 50)

    with pytest.raises(TokenizerError):
        attempt(None)
    assert not run(attempt, [(0, None)], seconds_each=SECONDS_EACH, memory_bytes=500 * 1024**2)


PANICS = {
    "load": ({"model": {"type": "BPE", "vocab": {"a": 0, "é": 1}, "merges": [["a", "é"]], "continuing_subword_prefix": "##"}}, "the merge"),
    "load a template": (
        {"post_processor": template(1) | {"single": [{"SpecialToken": {"id": "<x>", "type_id": 0}}]}},
        "'<x>' in the single",
    ),
    "encode": ({"post_processor": template(1) | {"single": [{"Sequence": {"id": "B", "type_id": 0}}]}}, "cannot encode the text: its code"),
    "encode a prefix": ({"normalizer": {"type": "Prepend", "prepend": ""}}, "cannot encode the text: its code"),
    "decode": ({"decoder": {"type": "Strip", "content": "a", "start": 3, "stop": 3}}, "cannot decode the token ids: its code panicked"),
}


@pytest.mark.parametrize("name", PANICS)
def test_what_the_library_panics_for_is_an_error_with_a_hint(tmp_path: Path, name: str) -> None:
    """Rust's PanicException is no Exception, so a program would end with it."""
    keys, message = PANICS[name]
    (tmp_path / "tokenizer.json").write_text(json.dumps({**json.loads(byte_tokenizer().backend.to_str()), **keys}))
    if name.startswith("load"):
        with pytest.raises(TokenizerError, match=message) as raised:
            load_tokenizer(tmp_path)
    else:
        tokenizer = load_tokenizer(tmp_path)
        with pytest.raises(TokenizerError, match=message) as raised:
            tokenizer.decode([97]) if name == "decode" else tokenizer.encode(" aé ")
    assert raised.value.hint


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokenizer_config.json", '{"added_tokens_decoder": 5}'),
        ("tokenizer_config.json", '{"additional_special_tokens": 5}'),
        ("tokenizer_config.json", '{"added_tokens_decoder": {"' + "9" * 5_000 + '": {"content": "a"}}}'),
        ("tokenizer_config.json", '{"added_tokens_decoder": {"0": {"content": 5}}}'),
        ("tokenizer_config.json", '{"eos_token": "\\ud800"}'),
        ("tokenizer_config.json", "[" * 100_000),
        ("tokenizer_config.json", '{"model_max_length": ' + "9" * 5_000 + "}"),
        ("special_tokens_map.json", '{"a": ' * 100_000),
        ("added_tokens.json", '{"a": ' + "9" * 5_000 + "}"),
        ("added_tokens.json", '{"\\ud800": 300}'),
    ],
)
def test_a_config_that_used_to_raise_other_errors_is_an_error(tmp_path: Path, name: str, content: str) -> None:
    byte_tokenizer().save(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(TokenizerError):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("name", ["tokenizer.json", "vocab.json"])
@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, '{"a": ' + "9" * 5_000 + "}", '{"\\ud800": 1}'])
def test_a_vocabulary_that_used_to_raise_other_errors_is_an_error(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / "merges.txt").touch()
    (tmp_path / name).write_text(content)
    with pytest.raises(TokenizerError):
        load_tokenizer(tmp_path)


def test_a_score_that_is_not_a_number_is_an_error(tmp_path: Path, small_llama2c: Tokenizer, write_llama2c: Callable[..., Path]) -> None:  # noqa: F811
    scores = [float("nan"), *small_llama2c.scores[1:]]  # type: ignore[attr-defined]
    path = write_llama2c(tmp_path / "tokenizer.bin", small_llama2c.pieces, scores)  # type: ignore[attr-defined]
    with pytest.raises(TokenizerError, match="token 0 has the score NaN"):
        load_tokenizer(path)


def charsmap(units: list[int], texts: bytes) -> bytes:
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + texts


def test_the_check_of_a_normalizer_table_finds_what_leads_outside() -> None:
    check_charsmap(charsmap([0] * 256, b"a\0"))
    with pytest.raises(ValueError, match="leads outside itself"):
        check_charsmap(charsmap([1 << 18, *[0] * 255], b"a\0"))
    with pytest.raises(ValueError, match="texts are missing"):
        check_charsmap(charsmap([1 << 8 | 1 << 10, 5 | 1 << 31, *[0] * 254], b"a\0"))
    for data in (b"", b"\0\0\0\0", charsmap([0] * 256, b""), charsmap([0] * 256, b"a"), charsmap([0] * 100, b"a\0")):
        with pytest.raises(ValueError, match="broken normalizer table"):
            check_charsmap(data)


def test_random_bytes_are_no_sentencepiece_model(tmp_path: Path) -> None:
    rng = random.Random(0)
    for size in (0, 1, 10, 1_000):
        (tmp_path / "tokenizer.model").write_bytes(rng.randbytes(size))
        with pytest.raises(TokenizerError):
            load_tokenizer(tmp_path)
