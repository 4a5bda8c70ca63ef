"""Fixtures: real files from the data folder, and small artificial tokenizers of each kind."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors

from headway.tokenizers import LibraryTokenizer, Llama2cTokenizer, load_tokenizer, train_bpe

TEXTS = ["The cat sat on the mat. The dog sat on the log.", "naïve café 中文 😀 tokens, tokens! <tag> 12 345", "  two  spaces\n\tand tabs"]
WORDS = ["▁", "▁the", "▁cat", "th", "e", "a", "b", "c", "t", "s", "o", "n", "▁s", "at", ".", ",", "é", "中", "▁▁"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
SPECIAL = ["<unk>", "<s>", "</s>"]


@pytest.fixture(scope="session")
def gpt2(data_dir: Path) -> LibraryTokenizer:
    return load_tokenizer(data_dir / "tokenizers" / "gpt2")


@pytest.fixture(scope="session")
def qwen2(data_dir: Path) -> LibraryTokenizer:
    return load_tokenizer(data_dir / "tokenizers" / "qwen2")


@pytest.fixture(scope="session")
def tok512(data_dir: Path) -> Llama2cTokenizer:
    return load_tokenizer(data_dir / "weights" / "stories260K")


@pytest.fixture(scope="session")
def write_llama2c() -> Callable[[Path, Sequence[bytes], Sequence[float]], Path]:
    """Return a function that writes a file as llama2.c's tokenizer.py does."""

    def write(path: Path, pieces: Sequence[bytes], scores: Sequence[float]) -> Path:
        tokens = b"".join(struct.pack("<fi", score, len(piece)) + piece for piece, score in zip(pieces, scores, strict=True))
        path.write_bytes(struct.pack("<i", max(map(len, pieces))) + tokens)
        return path

    return write


@pytest.fixture(scope="session")
def small_llama2c() -> Llama2cTokenizer:
    """A few overlapping pieces, some with equal scores."""
    words = [word.encode() for word in (" ", "a", "b", "ab", "ba", "aa", "aba", " a", " ab", "é", "中", "é中")] + [b"\xe4", b"\xb8\xad"]
    scores = [-1.0, -2.0, -2.0, -3.0, -3.0, -3.0, -2.5, -4.0, -3.5, -5.0, -6.0, -1.5, -7.0, -8.0]
    return Llama2cTokenizer([b"<unk>", b"\n<s>\n", b"\n</s>\n", *(token.encode() for token in BYTES), *words], [0.0] * 259 + scores)


@pytest.fixture(scope="session")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each kind, with tokenizer.json and tokenizer_config.json."""
    root = tmp_path_factory.mktemp("made_up")
    kinds = ("byte_level", "llama", "gemma", "metaspace", "wordpiece", "no_decoder", "bpe_decoder", "two_spaces")
    folders = {name: root / name for name in kinds}
    byte_level = train_bpe(TEXTS, 300)
    # The library decodes "éa" as bytes and "中 é", which has characters outside the byte alphabet, as text.
    byte_level.backend.add_tokens([AddedToken(content, normalized=False) for content in ("中 é", "éa")])
    byte_level.save(folders["byte_level"])
    to_space = decoders.Replace("▁", " ")
    pieces = [*SPECIAL, *BYTES, *WORDS]
    unigram = models.Unigram([(piece, -float(place)) for place, piece in enumerate(pieces)], unk_id=0, byte_fallback=True)
    metaspace = pre_tokenizers.Metaspace(prepend_scheme="first")
    llama = _backend(unigram, metaspace, decoders.Sequence([to_space, decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]))
    llama.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    _write(llama, folders["llama"])
    two_spaces = decoders.Sequence([to_space, decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 2, 0)])
    _write(_backend(unigram, metaspace, two_spaces), folders["two_spaces"])
    bpe = models.BPE({piece: place for place, piece in enumerate(pieces)}, [("a", "t"), ("▁", "s")], unk_token="<unk>", byte_fallback=True)
    gemma = _backend(bpe, None, decoders.Sequence([to_space, decoders.ByteFallback(), decoders.Fuse()]))
    gemma.normalizer = normalizers.Replace(" ", "▁")
    _write(gemma, folders["gemma"])
    _write(_backend(unigram, pre_tokenizers.Metaspace(), decoders.Metaspace()), folders["metaspace"])
    words = {word: place for place, word in enumerate([*SPECIAL, "the", "cat", "a", "b", "##a", "##b", "##s", ".", "'", "中"])}
    wordpiece = models.WordPiece(words, unk_token="<unk>")
    _write(_backend(wordpiece, pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()), folders["wordpiece"])
    _write(_backend(models.WordLevel(words, unk_token="<unk>"), pre_tokenizers.Whitespace(), None), folders["no_decoder"])
    suffixed = {word: place for place, word in enumerate([*SPECIAL, "a", "b", "a</w>", "b</w>", "ab</w>"])}
    ending = models.BPE(suffixed, [("a", "b</w>")], unk_token="<unk>", end_of_word_suffix="</w>")
    _write(_backend(ending, pre_tokenizers.Whitespace(), decoders.BPEDecoder()), folders["bpe_decoder"])
    return folders


def _backend(model: models.Model, cut: pre_tokenizers.PreTokenizer | None, decoder: decoders.Decoder | None) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(model)
    if cut is not None:
        backend.pre_tokenizer = cut
    if decoder is not None:
        backend.decoder = decoder
    backend.add_special_tokens([AddedToken(content, special=True, normalized=False) for content in SPECIAL])
    backend.add_tokens([AddedToken("<tag>", normalized=False)])
    return backend


def _write(backend: tokenizers.Tokenizer, folder: Path) -> None:
    folder.mkdir()
    backend.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


@pytest.fixture(scope="session")
def corpus_lines(data_dir: Path) -> list[str]:
    """Lines to train small vocabularies on."""
    lines = (data_dir / "corpora" / "tinyshakespeare.txt").read_text(encoding="utf-8").splitlines()[:3000]
    return [*lines, "café naïve Élan ça 北京 爱 don't ."]


@pytest.fixture(scope="session")
def train_pieces(corpus_lines: list[str]) -> Callable[..., bytes]:
    """Return a function that trains a SentencePiece model; the library's trainer is deterministic for a small number of lines."""
    sentencepiece = pytest.importorskip("sentencepiece")

    def train(lines: Sequence[str] = corpus_lines, **options: Any) -> bytes:
        file = io.BytesIO()
        defaults = {"num_threads": 1, "minloglevel": 2, "character_coverage": 1.0}
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=file, **{**defaults, **options})
        return file.getvalue()

    return train


@pytest.fixture(scope="session")
def t5_model(train_pieces: Callable[..., bytes]) -> bytes:
    """A file as T5's spiece.model: unigram, NFKC, spaces collapsed."""
    return train_pieces(vocab_size=331, model_type="unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)


@pytest.fixture(scope="session")
def llama_model(train_pieces: Callable[..., bytes]) -> bytes:
    """A file as Llama 2's tokenizer.model: BPE with byte fallback, all spaces kept."""
    options = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "split_digits": True}
    return train_pieces(vocab_size=613, model_type="bpe", byte_fallback=True, **options)


@pytest.fixture(scope="session")
def marian_folder(train_pieces: Callable[..., bytes], corpus_lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Marian folder: one model per language and a shared vocabulary with language codes."""
    sentencepiece = pytest.importorskip("sentencepiece")
    folder = tmp_path_factory.mktemp("marian")
    backwards = [" ".join(word[::-1] for word in line.split()) for line in corpus_lines]
    pieces: dict[str, None] = dict.fromkeys(["</s>", "<unk>", ">>fra<<", ">>deu_Latn<<"])
    for name, lines, vocab_size in (("source.spm", corpus_lines, 307), ("target.spm", backwards, 293)):
        model = train_pieces(lines, vocab_size=vocab_size, model_type="unigram")
        (folder / name).write_bytes(model)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        # Marian vocabularies lack pieces that did not occur in the training text.
        pieces |= dict.fromkeys(processor.id_to_piece(place) for place in range(3, vocab_size) if place % 41)
    vocab = {piece: place for place, piece in enumerate([*pieces, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(vocab))
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "eng", "target_lang": "fra"}))
    (folder / "config.json").write_text(json.dumps({"model_type": "marian"}))
    return folder
