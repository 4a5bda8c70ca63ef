"""Making a tokenizer: a byte-level BPE from texts, or one token per byte."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from headway.errors import OptionError
from headway.tokenizers.byte_level import byte_characters
from headway.tokenizers.library import LibraryTokenizer
from headway.tokenizers.reading import read_text
from headway.tokenizers.special_tokens import END_OF_TEXT


def train_bpe(texts: Iterable[str | Path], vocab_size: int, *, special_tokens: Sequence[str] = (END_OF_TEXT,)) -> LibraryTokenizer:
    """Train a byte-level BPE: start from the 256 bytes, and merge the most frequent pair of neighbours until there are enough tokens.

    Text is cut as GPT-2 cuts it. Of pairs that are equally frequent, the one with the lower ids is merged, so the same texts
    give the same tokenizer. Texts that run out of pairs give fewer tokens.

    texts            texts, and paths of UTF-8 files with text
    vocab_size       how many tokens at most, with the special ones and the bytes
    special_tokens   ids from 0 on; never merged with what stands beside them in the texts; the first begins and ends a text

    Errors   OptionError for a vocabulary without room for the bytes, or special tokens that are empty or the same;
             TokenizerError for a file that cannot be read.
    Source   Sennrich et al. 2016; Radford et al. 2019, section 2.2
    """
    if vocab_size < 256 + len(special_tokens):
        least = 256 + len(special_tokens)
        raise OptionError(f"came: vocab_size={vocab_size}; expected: at least {least}, for bytes and special tokens; or use byte_tokenizer")
    if "" in special_tokens or len(set(special_tokens)) < len(special_tokens):
        raise OptionError(f"came: special_tokens={tuple(special_tokens)}; expected: texts that are not empty, each once")
    backend = _byte_level(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[AddedToken(content, special=True, normalized=False) for content in special_tokens],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(_parts(texts, special_tokens), trainer)
    return _named(backend, special_tokens)


def byte_tokenizer() -> LibraryTokenizer:
    """One token per byte, whose id is the byte, and <|endoftext|>, whose id is 256.

    >>> byte_tokenizer().encode("hé")
    [104, 195, 169]
    """
    backend = _byte_level(models.BPE(vocab=byte_characters(), merges=[]))
    backend.add_special_tokens([AddedToken(END_OF_TEXT, special=True, normalized=False)])
    return _named(backend, [END_OF_TEXT])


def _byte_level(model: models.Model) -> Tokenizer:
    backend = Tokenizer(model)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return backend


def _named(backend: Tokenizer, special_tokens: Sequence[str]) -> LibraryTokenizer:
    return LibraryTokenizer(backend, special_tokens=dict.fromkeys(("bos_token", "eos_token"), special_tokens[0]) if special_tokens else {})


def _parts(texts: Iterable[str | Path], special_tokens: Sequence[str]) -> Iterator[str]:
    """The texts between special tokens: the library's trainer would count a special token's own characters."""
    longest_first = sorted(special_tokens, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
    for text in texts:
        yield from pattern.split(read_text(text) if isinstance(text, Path) else text)
