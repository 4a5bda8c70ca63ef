"""The tokenizer of a run, trained on its corpus."""

from __future__ import annotations

from collections.abc import Iterable

from headway.errors import OptionError
from headway.tokenizers import LibraryTokenizer, byte_tokenizer, character_tokenizer, train_bpe

KINDS = ("bpe", "bytes", "characters")
VOCAB_SIZE = 4096
PAD = "<pad>"


def check_kind(kind: str, vocab_size: int | None) -> None:
    """Raise OptionError for an unknown kind of tokenizer, or a vocab_size for a kind other than bpe."""
    if kind not in KINDS:
        raise OptionError(f"got tokenizer={kind!r}, expected bpe, bytes or characters")
    if vocab_size is not None and kind != "bpe":
        raise OptionError(f"vocab_size={vocab_size} and tokenizer={kind} cannot be combined", hint="leave vocab_size out, or use bpe")


def make_tokenizer(texts: Iterable[str], kind: str, vocab_size: int | None, *, is_for_pairs: bool) -> LibraryTokenizer:
    """Create a tokenizer for these texts: a byte-level BPE of vocab_size, bytes, or the characters of the texts.

    The end token is <|endoftext|>. For pairs, encode adds the end token, and <pad> is the first token of the decoder, as in Marian.
    """
    named_tokens = {"pad_token": PAD} if is_for_pairs else None
    if kind == "bpe":
        return train_bpe(texts, vocab_size or VOCAB_SIZE, named_tokens=named_tokens, adds_end=is_for_pairs)
    if kind == "bytes":
        return byte_tokenizer(named_tokens=named_tokens, adds_end=is_for_pairs)
    return character_tokenizer(texts, named_tokens=named_tokens, adds_end=is_for_pairs)
