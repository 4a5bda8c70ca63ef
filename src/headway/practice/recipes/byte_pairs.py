"""Byte-pair encoding in steps, and the forms in which learners pass merges, vocabularies and token ids."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

GPT2_CUT = re.compile(r"'(?:[sdmt]|ll|ve|re)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
"""GPT-2's pattern for splitting text, adapted to Python's re module."""

Pair = tuple[bytes, bytes]


def cut(text: str, special_tokens: Sequence[str] = ()) -> list[str]:
    """Split text into words, across which nothing is merged; special tokens are left out."""
    return [piece for part in parted(text, special_tokens) for piece in GPT2_CUT.findall(part)]


def parted(text: str, special_tokens: Sequence[str]) -> list[str]:
    """Split text at special tokens, which are left out."""
    return re.split("|".join(map(re.escape, special_tokens)), text) if special_tokens else [text]


def as_bytes(text: str) -> list[bytes]:
    """Return the UTF-8 bytes of a text, one per item."""
    return [bytes([byte]) for byte in text.encode("utf-8")]


def as_characters(text: str) -> list[bytes]:
    """Return the characters of a text, one per item."""
    return [character.encode("utf-8") for character in text]


def counted(words: Sequence[Sequence[Any]]) -> dict[Any, int]:
    """Count adjacent pairs, in order of first occurrence."""
    counts: dict[Any, int] = {}
    for word in words:
        for pair in itertools.pairwise(word):
            counts[pair] = counts.get(pair, 0) + 1
    return counts


def merged(word: Sequence[Any], pair: Any, joined: Any, *others: Any) -> list[Any]:
    """Replace every occurrence of a pair, and of other pairs, from left to right."""
    out: list[Any] = []
    place = 0
    while place < len(word):
        is_pair = place + 1 < len(word) and (word[place], word[place + 1]) in (tuple(pair), *others)
        out.append(joined if is_pair else word[place])
        place += 2 if is_pair else 1
    return out


def first_merged(word: Sequence[Any], pair: Any, joined: Any) -> list[Any]:
    """Replace the first occurrence of a pair."""
    place = next((place for place, each in enumerate(itertools.pairwise(word)) if each == tuple(pair)), None)
    return list(word) if place is None else [*word[:place], joined, *word[place + 2 :]]


def pair_of(word: Sequence[bytes], pair: Pair) -> list[bytes]:
    """Merge a pair in a list of bytes."""
    return merged(word, pair, pair[0] + pair[1])


def ranks(merges: Sequence[Pair]) -> dict[bytes, int]:
    """Return token ids by token: 0 to 255 for the bytes, then one per merge."""
    return {bytes([byte]): byte for byte in range(256)} | {first + second: 256 + place for place, (first, second) in enumerate(merges)}


def vocabulary(merges: Sequence[Pair]) -> dict[int, bytes]:
    """Return tokens by id."""
    return {token_id: token for token, token_id in ranks(merges).items()}


def in_ids(merges: Sequence[Pair]) -> dict[tuple[int, int], int]:
    """Return merges in the form of minbpe: {(id, id): new id}."""
    known = ranks(merges)
    return {(known[first], known[second]): 256 + place for place, (first, second) in enumerate(merges)}


def _alphabet() -> dict[str, bytes]:
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): bytes([byte]) for byte in printable} | {chr(256 + place): bytes([byte]) for place, byte in enumerate(others)}


ALPHABET = _alphabet()
"""Bytes by the characters with which GPT-2 writes them."""


CHARACTERS = {byte: character for character, byte in ALPHABET.items()}


def to_alphabet(token: bytes) -> str:
    """Return a token in GPT-2's characters, one per byte."""
    return "".join(CHARACTERS[bytes([byte])] for byte in token)


def from_alphabet(answer: Any) -> Any:
    """Return an output with the bytes in place of texts in GPT-2's characters; other texts unchanged."""
    if isinstance(answer, str):
        return b"".join(ALPHABET[each] for each in answer) if set(answer) <= set(ALPHABET) else answer
    if isinstance(answer, dict):
        return {from_alphabet(key): value for key, value in answer.items()}
    return tuple(map(from_alphabet, answer)) if isinstance(answer, tuple) else answer


def read_merges(answer: Any) -> Any:
    """Return merges in any form as a tuple of byte pairs; other values unchanged."""
    if isinstance(answer, dict) and _is_merges(answer.get("merges")):  # with the vocabulary and what else is known
        return read_merges(_of_texts(answer["merges"], answer.get("vocab")))
    if isinstance(answer, tuple) and len(answer) == 2 and any(isinstance(part, dict) for part in answer):
        merges = [part for part in answer if _is_merges(part)]
        return read_merges(merges[0]) if len(merges) == 1 else answer
    if isinstance(answer, dict):
        if not all(isinstance(key, tuple) and len(key) == 2 for key in answer):
            return answer
        keys = list(answer)
        if all(numpy.ndim(value) == 0 for value in answer.values()):
            keys.sort(key=lambda key: int(answer[key]))
        return read_merges(tuple(keys))
    if _are_numbered(answer):
        answer = tuple(tuple(each[0]) if len(each) == 2 else tuple(each[:2]) for each in answer)
    if isinstance(answer, numpy.ndarray) and answer.ndim == 2 and answer.shape[1] == 2:
        answer = tuple((int(first), int(second)) for first, second in answer)
    if isinstance(answer, numpy.ndarray) and answer.size == 0:
        return ()
    if not isinstance(answer, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in answer):
        return answer
    return _as_bytes_pairs(answer)


def _of_texts(merges: Any, vocab: Any) -> Any:
    """Return merges with texts in place of ids if the vocabulary has a text for each id, as it may begin with characters; others unchanged."""
    if not (isinstance(vocab, dict) and isinstance(merges, dict) and all(isinstance(token, str) for token in vocab.values())):
        return merges
    if not all(part in vocab for pair in merges for part in pair):
        return merges
    return {tuple(vocab[part].encode("utf-8") for part in pair): place for pair, place in merges.items()}


def _are_numbered(answer: Any) -> bool:
    """Return True for a list of (pair, new id) or (first, second, new id)."""
    if not isinstance(answer, tuple | numpy.ndarray) or not len(answer) or not all(map(_is_row, answer)):
        return False
    lengths = {len(each) for each in answer}
    is_row = lengths == {3} or (lengths == {2} and all(_is_row(each[0]) and len(each[0]) == 2 for each in answer))
    numbers = [each[-1] for each in answer if not isinstance(each[-1], tuple | dict | str | bytes)]
    return is_row and len(numbers) == len(answer) and all(numpy.array_equal(each, 256 + place) for place, each in enumerate(numbers))


def _is_row(part: Any) -> bool:
    return isinstance(part, tuple) or (isinstance(part, numpy.ndarray) and part.ndim == 1)


def _is_merges(part: Any) -> bool:
    if isinstance(part, Mapping):
        return all(isinstance(key, tuple) for key in part)
    return isinstance(part, tuple) or (isinstance(part, numpy.ndarray) and part.ndim == 2)


def _as_bytes_pairs(pairs: Sequence[Any]) -> Any:
    known: dict[int, bytes] = {byte: bytes([byte]) for byte in range(256)}
    read = []
    for place, pair in enumerate(pairs):
        first, second = (_token(part, known) for part in pair)
        if first is None or second is None:
            return tuple(pairs)
        known[256 + place] = first + second
        read.append((first, second))
    return tuple(read)


def _token(part: Any, known: Mapping[int, bytes]) -> bytes | None:
    if isinstance(part, bytes):
        return part
    if isinstance(part, str):
        return part.replace("Ġ", " ").encode("utf-8")
    if isinstance(part, tuple):  # a token given as the bytes it consists of
        parts = [_token(each, known) for each in part]
        return None if any(each is None for each in parts) else b"".join(each for each in parts if each is not None)
    return known.get(int(part)) if numpy.ndim(part) == 0 else None
