"""A tokenizer of single letters, for functions that turn a text into a longer text."""

from __future__ import annotations

import re
import string
from types import SimpleNamespace
from typing import Any

import numpy

from headway.arrays import from_numpy

FIRST = ord("a")
NO_TOKEN = -1
"""Id of a special token that no text has."""

STARTS, ENDS = r"sos|bos|start|begin|cls|^<s>$", r"eos|eot|end|sep|</s>"
"""Patterns of the names of the tokens that begin and end a text."""


class Ids(list[int]):
    """Token ids that are the encoding of a text, too, as in tokenizers."""

    @property
    def ids(self) -> list[int]:
        """Return the token ids."""
        return self


class ToyTokenizer:
    """Tokenizer whose token i is the letter i of the alphabet, with the methods of the usual libraries.

    start, end   ids of the special tokens that begin and end a text; NO_TOKEN if no text has them
    """

    def __init__(self, start: int = NO_TOKEN, end: int = NO_TOKEN) -> None:
        self.bos_token_id = self.start = start
        self.eos_token_id = self.eot_token = self.end = end

    pad_token_id = NO_TOKEN
    all_special_ids: tuple[int, ...] = ()

    def __getattr__(self, name: str) -> int:
        """Return the id of a special token by its name, such as `eot_token_id`.

        Errors   AttributeError for other names
        """
        if re.fullmatch(r"[a-z]+(_token)?_id", name) is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self.id_of(name)

    def encode(self, text: str, *options: Any, return_tensors: str | None = None, **named: Any) -> Any:
        """Return the token ids of a text: a list, or one row of an array of the library that is named as in transformers."""
        ids = Ids(ord(letter) - FIRST for letter in text if letter >= "a")
        return ids if return_tensors is None else from_numpy(numpy.array([ids]), {"pt": "torch", "np": "numpy"}[return_tensors])

    def __call__(self, text: str, *options: Any, **named: Any) -> Any:
        """Return an object with the token ids."""
        return SimpleNamespace(input_ids=self.encode(text, *options, **named))

    def decode(self, ids: Any, *options: Any, **named: Any) -> str:
        """Return the text of token ids."""
        return "".join(chr(FIRST + int(each)) for each in numpy.asarray(ids).reshape(-1) if int(each) >= 0)

    def id_of(self, token: str | bytes) -> int:
        """Return the id of a letter, or of a special token, which no text has."""
        text = token.decode("utf-8") if isinstance(token, bytes) else token
        if len(text) == 1:
            return ord(text) - FIRST
        return self.start if re.search(STARTS, text.lower()) else self.end if re.search(ENDS, text.lower()) else NO_TOKEN

    convert_tokens_to_ids = __getitem__ = id_of

    @property
    def token_to_id(self) -> TokenIds:
        """The ids of the tokens, as a function or as a dict."""
        return TokenIds(self)

    @property
    def inverse_vocab(self) -> dict[str, int]:
        """The ids of the letters by letter, without special tokens."""
        return {letter: self.id_of(letter) for letter in string.ascii_lowercase}

    vocab_inverse = reverse_vocab = token_to_idx = inverse_vocab


class TokenIds:
    """The ids of a tokenizer's tokens, which are looked up by a call, an index or `get`."""

    def __init__(self, tokenizer: ToyTokenizer) -> None:
        self._tokenizer = tokenizer

    def __call__(self, token: str | bytes) -> int:
        """Return the id of a token."""
        return self._tokenizer.id_of(token)

    __getitem__ = __call__

    def get(self, token: str | bytes, default: int | None = None) -> int | None:
        """Return the id of a token that texts have; otherwise the default."""
        found = self._tokenizer.id_of(token)
        return default if found == NO_TOKEN else found


class Vocabulary(dict[str, int]):
    """The ids of a tokenizer's letters by letter, which also answers as the tokenizer does."""

    def __init__(self, tokenizer: ToyTokenizer) -> None:
        super().__init__(tokenizer.inverse_vocab)
        self._tokenizer = tokenizer

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._tokenizer, name)

    def __reduce__(self) -> tuple[type[Vocabulary], tuple[ToyTokenizer]]:
        return Vocabulary, (self._tokenizer,)
