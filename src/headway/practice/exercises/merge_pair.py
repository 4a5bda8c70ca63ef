"""Merging a pair: every occurrence of two adjacent tokens becomes one token."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy

from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Step, optional, unchanged
from headway.practice.recipes.byte_pairs import first_merged, merged
from headway.practice.recipes.encoding import changed, without
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("merge_pair")
ROLES = Roles("merge_pair")


def recipe(steps: Any, ids: Any, pair: Any, new_id: int) -> Any:
    """The definition as a single step: merge."""
    return steps.merge(list(ids), tuple(pair), new_id)


def definition(ids: Any, pair: Any, new_id: int) -> Any:
    """Replace each occurrence once, from left to right."""
    rest, out = list(ids), []
    while rest:
        token = rest.pop(0)
        is_pair = rest and (token, rest[0]) == tuple(pair)
        out.append(new_id if is_pair else token)
        rest = rest[1:] if is_pair else rest
    return out


def _overlapping(ids: Any, pair: Any, new_id: int) -> Any:
    out, place = [], 0
    while place < len(ids):
        is_pair = place + 1 < len(ids) and (ids[place], ids[place + 1]) == pair
        out.append(new_id if is_pair else ids[place])
        place += 1 if not is_pair or (place + 2 < len(ids) and (ids[place + 1], ids[place + 2]) == pair) else 2
    return out


def _second_kept(ids: Any, pair: Any, new_id: int) -> Any:
    is_pair = [(first, second) == pair for first, second in pairwise(ids)]
    return [new_id if place < len(is_pair) and is_pair[place] else token for place, token in enumerate(ids)]


def _last_dropped(ids: Any, pair: Any, new_id: int) -> Any:
    out = merged(ids, pair, new_id)
    return out if out[-1:] == [new_id] else out[:-1]


def _symbol(token: int) -> str:
    """Return an id as text in which digits are apart, so that a symbol may end with another one."""
    return "".join(f"<{digit}>" for digit in str(token))


def _id_of(symbol: str, pair: Any, new_id: int) -> int:
    """Return the id of a symbol, which may be made of several."""
    return new_id if symbol == "".join(map(_symbol, pair)) else int(re.sub("[<>]", "", symbol))


def _past_the_end(ids: Any, pair: Any, new_id: int) -> Any:
    """Read one more token after the loop over pairs, of which a pair at the end leaves none.

    Errors   IndexError if the last two tokens are the pair.
    """
    out = merged(ids, pair, new_id)
    return [*out[:-1], ids[len(ids) - (out[-1] != new_id)]]


def _in_text(ids: Any, pair: Any, new_id: int) -> Any:
    """Merge the pair wherever it is in the symbols as one text with spaces, also in parts of two symbols."""
    symbols = [*map(_symbol, pair)]
    text = " ".join(map(_symbol, ids)).replace(" ".join(symbols), "".join(symbols))
    return [_id_of(each, pair, new_id) for each in text.split(" ")]


STEPS: dict[str, Step] = {"merge": merged}

MISTAKES = (
    TEXTS.mistake("first_occurrence_only", merge=first_merged),
    TEXTS.mistake("overlapping_occurrences", merge=_overlapping),
    TEXTS.mistake("second_token_kept", merge=_second_kept),
    TEXTS.mistake("from_the_right", merge=lambda ids, pair, new_id: merged(ids[::-1], pair[::-1], new_id)[::-1]),
    TEXTS.mistake("last_token_dropped", merge=_last_dropped),
    TEXTS.mistake("last_pair_missed", merge=lambda ids, pair, new_id: merged(ids[:-1], pair, new_id) + ids[-1:]),
    TEXTS.mistake("past_the_end", merge=_past_the_end),
    TEXTS.mistake("either_order", merge=lambda ids, pair, new_id: merged(ids, pair, new_id, pair[::-1])),
    TEXTS.mistake("merged_in_text", merge=_in_text),
    TEXTS.mistake("nothing_merged", merge=unchanged),
)


def _byte_symbol(token: int) -> bytes:
    return _symbol(token).encode()


def _as_symbols(made: Callable[[list[Any]], Any], symbol: Callable[[int], str | bytes] = _symbol) -> Callable[[Inputs], Inputs]:
    """Return the encoding of the ids as one word of symbols in a corpus; the new symbol is then the two of the pair joined."""

    def encoded(inputs: Inputs) -> Inputs:
        return without(inputs, "new_id") | {"ids": made([*map(symbol, inputs["ids"])]), "pair": tuple(map(symbol, inputs["pair"]))}

    return encoded


def _parted(encode: Callable[[Inputs], Inputs], **more: Any) -> Callable[[Inputs], Inputs]:
    """Return an encoding with the pair as two operands, and with further ones."""

    def encoded(inputs: Inputs) -> Inputs:
        found = encode(inputs)
        return without(found, "pair") | {"first": found["pair"][0], "second": found["pair"][1]} | more

    return encoded


def _without_token(answer: Any) -> Any:
    """Return the corpus of an output that has the new token after it."""
    match answer:
        case (list() | tuple() | dict() | numpy.ndarray() as corpus, str() | bytes() | int() | numpy.integer()):
            return corpus
    return answer


def _of_symbols(answer: Any, inputs: Inputs) -> Any:
    """Return the ids of the only word of a corpus; the output itself if it is no such corpus."""
    answer = _without_token(answer)
    if isinstance(answer, dict) and all(isinstance(each, list | tuple) for each in answer.values()):
        answer = [*answer.values()]  # words by their texts
    word = next(iter(answer)) if isinstance(answer, dict | list | tuple) and len(answer) == 1 else answer
    word = word.split(" ") if isinstance(word, str) else [word] if isinstance(word, bytes) else word
    symbols = [each.decode() if isinstance(each, bytes) else each for each in word] if isinstance(word, list | tuple) else []
    is_known = all(isinstance(each, str) and re.fullmatch(r"(<\d>)+", each) for each in symbols) and bool(symbols)
    return numpy.array([_id_of(each, inputs["pair"], inputs["new_id"]) for each in symbols]) if is_known else answer


def _piece(token: int) -> str:
    """Return an id as a piece inside of a word, as WordPiece marks it."""
    return f"##{_symbol(token)}"


def _of_pieces(answer: Any, inputs: Inputs) -> Any:
    """Return the ids of the only word of a corpus of pieces; the output itself if it is no such corpus."""
    answer = [*answer.values()] if isinstance(answer, dict) and all(isinstance(each, list | tuple) for each in answer.values()) else answer
    word = next(iter(answer)) if isinstance(answer, dict | list | tuple) and len(answer) == 1 else answer
    word = word.split(" ") if isinstance(word, str) and " " in word else word
    pieces = [word] if isinstance(word, str) else word
    is_known = isinstance(pieces, list | tuple) and all(isinstance(each, str) and each.startswith("##") for each in pieces)
    return _of_symbols([[each.removeprefix("##") for each in pieces]], inputs) if is_known else answer


def _of_one_word(answer: Any, inputs: Inputs) -> Any:
    """Return the only sequence of a list; the output itself if it has another form."""
    answer = _without_token(answer)
    is_list = isinstance(answer, tuple) or (isinstance(answer, numpy.ndarray) and answer.ndim > 1)
    return answer[0] if is_list and len(answer) == 1 else answer


def _with_own_id(answer: Any, inputs: Inputs) -> Any:
    """Return the ids of an output with the number of the new token after them, which the function chose, as that of the inputs."""
    is_pair = isinstance(answer, tuple) and len(answer) == 2 and numpy.ndim(answer[0]) == 1 and numpy.ndim(answer[1]) == 0
    if not is_pair or int(answer[1]) in inputs["ids"]:
        return answer
    return numpy.array([inputs["new_id"] if each == answer[1] else each for each in answer[0]])


def _by_word(word: list[Any]) -> dict[str, list[Any]]:
    """Return a corpus as in the course of Hugging Face: the symbols of each word by its text."""
    return {"word": word}


CORPORA = (
    lambda word: [word],
    lambda word: {tuple(word): 3},
    lambda word: {" ".join(word): 3},
    lambda word: word,
    tuple,
    _by_word,
)
"""Forms of a corpus of one word: a list, words with their frequencies, as tuples or as text with spaces, the word alone, or by its text."""
BYTES = r"\bbytes\b"
"""Pattern of the source of a function whose symbols are bytes, as in Stanford's CS336."""
OF_BYTES = (lambda word: [word], lambda word: {tuple(word): 3}, lambda word: word, tuple)
OF_PIECES = r"\[2:\]|##"
"""Pattern of the source of a function that leaves out the mark of a piece inside of a word, as WordPiece does."""

OF_TUPLES = r"(?s)\bdef \w+\([^)]*?\b(\w+) *: *(typing\.)?tuple\[.*(?<![\w.])\1\[(\w+) *: *\3 *\+ *2\] *== *\w+"
"""Pattern of the source of a function of a tuple of tokens, whose slices it compares with the pair."""

FORMS = optional(
    Convention(TEXTS["takes_tuple"], changed(ids=tuple), source=OF_TUPLES),
    Convention(encode=changed(ids=numpy.array, pair=numpy.array), source=r"torch|tensor|np\.|numpy|jnp|mx\."),
    Convention(TEXTS["takes_corpus"], changed(ids=lambda ids: [ids]), _of_one_word, source=r"(?s)\bfor\b.*\b(for|while)\b"),
    *(Convention(TEXTS["takes_symbols"], _as_symbols(made), _of_symbols, without="new_id") for made in CORPORA),
    Convention(TEXTS["makes_id"], lambda inputs: without(inputs, "new_id"), _with_own_id, without="new_id", source=r"\bmax\(|\blen\("),
    Convention(TEXTS["takes_two_symbols"], _parted(_as_symbols(_by_word), frequencies={"word": 3}), _of_symbols, role="frequencies"),
    *(Convention(TEXTS["takes_two_symbols"], _parted(_as_symbols(made)), _of_symbols, role="second") for made in CORPORA),
    Convention(encode=_parted(dict), role="second"),
    *(Convention(TEXTS["takes_pieces"], _as_symbols(made, _piece), _of_pieces, without="new_id", source=OF_PIECES) for made in CORPORA),
    *(
        Convention(TEXTS["takes_pieces"], _parted(_as_symbols(made, _piece)), _of_pieces, role="second", source=OF_PIECES)
        for made in CORPORA
    ),
    *(Convention(TEXTS["takes_bytes"], _as_symbols(made, _byte_symbol), _of_symbols, without="new_id", source=BYTES) for made in OF_BYTES),
)


def _corpus_of_two(answer: Any, inputs: Inputs) -> Any:
    """Return the corpus of an output that has the chosen pair after it."""
    is_pair = isinstance(answer, tuple | list) and len(answer) == 2 and numpy.shape(answer[1]) == (2,)
    return answer[0] if is_pair and isinstance(answer[1], tuple) else answer


COUNTS = optional(
    Convention(
        TEXTS["takes_counts"],
        changed(pair=lambda pair: {tuple(pair[::-1]): 1} | {tuple(pair): 2}),
        _corpus_of_two,
        role="pair",
        named=r"pairs|counts|freq|stats",
        source=r"\bmax\(|most_common",
    )
)
"""A function that chooses the most frequent of counted pairs itself."""


def _without_places(answer: Any, inputs: Inputs) -> Any:
    """Return the ids of an output that has the places of the new token after them."""
    is_pair = isinstance(answer, tuple) and len(answer) == 2 and all(numpy.ndim(each) == 1 for each in answer)
    return answer[0] if is_pair and [*answer[1]] == [place for place, each in enumerate(answer[0]) if each == inputs["new_id"]] else answer


def _positions(inputs: Inputs) -> list[int]:
    """Return the places at which the pair begins in one sequence, also where they overlap, as a function that counts pairs finds them."""
    ids, pair = inputs["ids"], inputs.get("pair")
    if pair is None or not isinstance(ids, list | tuple | numpy.ndarray):
        return []
    return [place for place, each in enumerate(pairwise(ids)) if tuple(each) == tuple(pair)]


PLACES = optional(Convention(TEXTS["returns_places"], decode=_without_places, source=r"\breturn \(?\w+, *\w+"))
"""A function that also returns where it merged, so that only the counts of the pairs around are updated."""


def probes() -> tuple[Probe, ...]:
    """The pair in the middle, at both ends, in opposite order, in runs, and absent."""
    return (
        Probe("twice", {"ids": [5, 6, 6, 7, 9, 1, 6, 7, 2], "pair": (6, 7), "new_id": 99}),
        Probe("at both ends", {"ids": [1, 2, 3, 1, 2], "pair": (1, 2), "new_id": 4}),
        Probe("the opposite order", {"ids": [2, 1, 3, 2, 1, 2], "pair": (1, 2), "new_id": 300}),
        Probe("run of three", {"ids": [8, 8, 8, 5], "pair": (8, 8), "new_id": 10}),
        Probe("run of four", {"ids": [3, 8, 8, 8, 8], "pair": (8, 8), "new_id": 10}),
        Probe("tokens that end or begin alike", {"ids": [16, 7, 6, 7, 6, 75, 16, 75], "pair": (6, 7), "new_id": 300}),
        Probe("nowhere", {"ids": [1, 2, 3], "pair": (3, 1), "new_id": 4}),
        Probe("one token", {"ids": [1], "pair": (1, 1), "new_id": 4}),
    )


EXERCISE = Exercise(
    name="merge_pair",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(*ROLES.each("ids", "pair", "new_id", "first", "second", "frequencies"), ROLES("positions", neutral=_positions)),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(FORMS, COUNTS, PLACES),
    is_trained_through=False,
    may_write=True,
)
