"""Byte-level BPE from its two files: vocab.json and merges.txt, or encoder.json and vocab.bpe as OpenAI called them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from headway.errors import TokenizerError
from headway.tokenizers.reading import read_text, read_vocab

QWEN2_PATTERN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
"""Source   transformers, models/qwen2/tokenization_qwen2.py"""


@cache
def byte_characters() -> dict[str, int]:
    """The character that stands for each byte: itself where it is printable Latin-1, else the next free one from U+0100 on.

    Source   openai/gpt-2, src/encoder.py (bytes_to_unicode)
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {**{chr(byte): byte for byte in printable}, **{chr(256 + place): byte for place, byte in enumerate(others)}}


def build_byte_level(
    vocab_path: Path, merges_path: Path, kind: str | None, config: Mapping[str, Any], declared: Mapping[int, AddedToken]
) -> Tokenizer:
    """The tokenizer of a vocabulary and its merges, with GPT-2's way to cut text, or Qwen2's where tokenizer_config.json says so.

    Errors   TokenizerError where a file is broken, cut off, or belongs to another vocabulary; and for a tokenizer_class that
             would need other rules.
    """
    if kind not in (None, "GPT2Tokenizer", "Qwen2Tokenizer"):
        raise TokenizerError(
            f"came: {vocab_path.parent} with tokenizer_class {kind!r} and no tokenizer.json; "
            "expected: GPT2Tokenizer or Qwen2Tokenizer; "
            "write a tokenizer.json with transformers: AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"
        )
    vocab = read_vocab(vocab_path)
    merges = _read_merges(merges_path, vocab, vocab_path)
    ids = set(vocab.values())
    # The library numbers added tokens itself; in the vocabulary they keep the ids that the files give them.
    vocab |= {token.content: token_id for token_id, token in declared.items() if token.content not in vocab and token_id not in ids}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    has_space = bool(config.get("add_prefix_space"))
    if kind == "Qwen2Tokenizer":
        backend.normalizer = normalizers.NFC()
        cut = pre_tokenizers.Split(Regex(QWEN2_PATTERN), behavior="isolated", invert=False)
        backend.pre_tokenizer = pre_tokenizers.Sequence([cut, pre_tokenizers.ByteLevel(add_prefix_space=has_space, use_regex=False)])
    else:
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=has_space)
    backend.decoder = decoders.ByteLevel()
    return backend


def surround(backend: Tokenizer, config: Mapping[str, Any], named: Mapping[str, str]) -> None:
    """Put the beginning and the end token around texts where tokenizer_config.json says add_bos_token, add_eos_token.

    Errors   TokenizerError where it says so and names no such token.
    """
    wanted = [name for name in ("bos_token", "eos_token") if config.get(f"add_{name}")]
    if unnamed := [name for name in wanted if name not in named]:
        raise TokenizerError(f"came: tokenizer_config.json with add_{unnamed[0]} and no {unnamed[0]}; expected: both, or neither")
    if wanted:
        template = [named[name] if name in wanted else None for name in ("bos_token", "eos_token")]
        single = [part for part in (template[0], "$A", template[1]) if part]
        tokens = [(content, backend.token_to_id(content)) for content in {named[name] for name in wanted}]
        backend.post_processor = processors.TemplateProcessing(single=single, special_tokens=tokens)


def _read_merges(path: Path, vocab: Mapping[str, int], vocab_path: Path) -> list[tuple[str, str]]:
    merges: list[tuple[str, str]] = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        line = line.rstrip("\r")
        if not line or line.startswith("#version"):
            continue
        first, _, second = line.partition(" ")
        if not first or not second or " " in second:
            raise TokenizerError(f"came: {path}, line {number}: {line!r:.60}; expected: two tokens, a space between; download it again")
        if missing := next((token for token in (first, second, first + second) if token not in vocab), None):
            raise TokenizerError(
                f"came: {path}, line {number}: {line!r:.60}, where {missing!r} is not in {vocab_path.name}; "
                "expected: files of one model, whole; download both again"
            )
        merges.append((first, second))
    _check_complete(path, merges, vocab)
    return merges


def _check_complete(path: Path, merges: Sequence[tuple[str, str]], vocab: Mapping[str, int]) -> None:
    """A file cut off between two lines has no broken line, but leaves tokens that no merge makes.

    A few of those are normal: special tokens, and words that someone added by hand.
    """
    made = {first + second for first, second in merges}
    lost = sum(len(token) > 1 and token not in made and not (token[0] in "<[" and token[-1] in ">]") for token in vocab)
    if lost > max(20, len(vocab) // 100):
        raise TokenizerError(
            f"came: {path} with {len(merges)} merges, which leave {lost} tokens of the vocabulary unmade; expected: a merge for each; "
            "the file is cut off, or of another model: download it again"
        )
