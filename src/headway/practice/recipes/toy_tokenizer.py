"""A tokenizer of single letters, for functions that turn a text into a longer text."""

from __future__ import annotations

import string
from types import SimpleNamespace
from typing import Any

import numpy

from headway.arrays import from_numpy

FIRST = ord("a")


class Ids(list[int]):
    """Token ids that are the encoding of a text, too, as in tokenizers."""

    @property
    def ids(self) -> list[int]:
        """Return the token ids."""
        return self


class ToyTokenizer:
    """Tokenizer whose token i is the letter i of the alphabet, with the methods of the usual libraries."""

    eos_token_id = eot_token = pad_token_id = bos_token_id = -1
    all_special_ids: tuple[int, ...] = ()

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

    def token_to_id(self, token: str) -> int:
        """Return the id of a letter, or of a special token, which no text has."""
        return ord(token) - FIRST if len(token) == 1 else -1

    convert_tokens_to_ids = token_to_id

    @property
    def inverse_vocab(self) -> dict[str, int]:
        """The ids of the letters by letter, without special tokens."""
        return {letter: self.token_to_id(letter) for letter in string.ascii_lowercase}

    vocab_inverse = reverse_vocab = token_to_idx = inverse_vocab
