"""The tokenizer of a run, made from what it trains on."""

from __future__ import annotations

from collections.abc import Iterable

from headway.errors import OptionError
from headway.tokenizers import LibraryTokenizer, byte_tokenizer, character_tokenizer, train_bpe

KINDS = ("bpe", "bytes", "characters")
VOCAB_SIZE = 4096
PAD = "<pad>"


def check_kind(kind: str, vocab_size: int | None) -> None:
    """Raise OptionError unless there is such a tokenizer, and it may be told its size."""
    if kind not in KINDS:
        raise OptionError(f"came: tokenizer={kind!r}; expected: bpe, bytes or characters")
    if vocab_size is not None and kind != "bpe":
        raise OptionError(f"came: vocab_size={vocab_size} with tokenizer={kind}; expected: it with bpe only; leave it out")


def make_tokenizer(texts: Iterable[str], kind: str, vocab_size: int | None, *, is_for_pairs: bool) -> LibraryTokenizer:
    """A tokenizer of these texts: a byte-level BPE of vocab_size, bytes, or their characters. <|endoftext|> ends a text.

    For pairs encode adds the end, and <pad> begins what is written, as Marian has it.
    """
    named_tokens = {"pad_token": PAD} if is_for_pairs else None
    if kind == "bpe":
        return train_bpe(texts, vocab_size or VOCAB_SIZE, named_tokens=named_tokens, adds_end=is_for_pairs)
    if kind == "bytes":
        return byte_tokenizer(named_tokens=named_tokens, adds_end=is_for_pairs)
    return character_tokenizer(texts, named_tokens=named_tokens, adds_end=is_for_pairs)
