"""Byte-pair encoding: of all pairs that can be merged, merge the one learned first, until none is left."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy

from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Role, Step, optional, unchanged
from headway.practice.recipes.byte_pairs import as_bytes, counted, cut, in_ids, merged, pair_of, ranks, vocabulary
from headway.practice.recipes.encoding import changed, without
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("bpe_encode")
ROLES = Roles("bpe_encode")


def recipe(steps: Any, text: str, merges: Any, vocab: Any = None, special_tokens: Any = None, **rest: Any) -> Any:
    """The definition as named steps: cut, symbols, join, number."""
    rank = {tuple(pair): place for place, pair in enumerate(merges)}
    tokens = [token for piece in steps.cut(text) for token in steps.join(steps.symbols(piece), rank)]
    known = ranks(merges)
    return [steps.number(token, known) for token in tokens]


def definition(text: str, merges: Any, vocab: Any = None, special_tokens: Any = None, **rest: Any) -> Any:
    """Apply each merge to the ids in the order of the list; a merge never makes an earlier one possible."""
    ids = list(text.encode("utf-8"))
    for (first, second), new_id in in_ids(merges).items():
        ids = merged(ids, (first, second), new_id)
    return ids


def _by_rank(word: Any, rank_of: Callable[[Any, int], int | None], rounds: int | None = None) -> Any:
    """Merge the pair of the lowest rank everywhere, until no pair has a rank, or for a number of rounds.

    rank_of   (pair, number of its occurrences) → its rank, None if it cannot be merged
    """
    while rounds != 0:
        ranked = {pair: rank for pair, count in counted([word]).items() if (rank := rank_of(pair, count)) is not None}
        if not ranked:
            break
        word = pair_of(word, min(ranked, key=ranked.__getitem__))
        rounds = None if rounds is None else rounds - 1
    return word


def _first_match(word: Any, rank: Any) -> Any:
    place = 0
    while place + 1 < len(word):
        if (word[place], word[place + 1]) in rank:
            word, place = [*word[:place], word[place] + word[place + 1], *word[place + 2 :]], 0
        else:
            place += 1
    return word


def _last_match(word: Any, rank: Any) -> Any:
    while pairs := [pair for pair in itertools.pairwise(word) if pair in rank]:
        word = pair_of(word, pairs[-1])
    return word


def _longest_match(word: Any, rank: Any) -> Any:
    known = {first + second for first, second in rank}
    out, place = [], 0
    while place < len(word):
        end = next((end for end in range(len(word), place + 1, -1) if b"".join(word[place:end]) in known), place + 1)
        out.append(b"".join(word[place:end]))
        place = end
    return out


def _joined_text(word: Any, rank: Any) -> Any:
    as_text = {(first.decode("latin-1"), second.decode("latin-1")): place for (first, second), place in rank.items()}
    return _by_rank(word, lambda pair, count: as_text.get(pair))


def _until_frequent_pair_is_unknown(word: Any, rank: Any) -> Any:
    while (counts := counted([word])) and (pair := max(counts, key=counts.__getitem__)) in rank:
        word = pair_of(word, pair)
    return word


def _by_pair(word: Any, rank: Any) -> Any:
    """Apply each merge once, in the order of the ids of their pairs."""
    known = ranks([*rank])
    for pair in sorted(rank, key=lambda pair: (known[pair[0]], known[pair[1]])):
        word = pair_of(word, pair)
    return word


STEPS: dict[str, Step] = {
    "cut": lambda text: [text] if text else [],
    "symbols": as_bytes,
    "join": lambda word, rank: _by_rank(word, lambda pair, count: rank.get(pair)),
    "number": lambda token, known: known[token],
}


MISTAKES = (
    TEXTS.mistake("first_match_merged", join=_first_match),
    TEXTS.mistake("last_match_merged", join=_last_match),
    TEXTS.mistake(
        "last_learned_merged_first", join=lambda word, rank: _by_rank(word, lambda pair, count: -rank[pair] if pair in rank else None)
    ),
    TEXTS.mistake("longest_token_taken", join=_longest_match),
    TEXTS.mistake("most_frequent_merged", join=lambda word, rank: _by_rank(word, lambda pair, count: -count if pair in rank else None)),
    TEXTS.mistake("most_frequent_alone_merged", join=_until_frequent_pair_is_unknown),
    TEXTS.mistake("sorted_by_pair", join=_by_pair),
    TEXTS.mistake("one_merge_only", join=lambda word, rank: _by_rank(word, lambda pair, count: rank.get(pair), rounds=1)),
    TEXTS.mistake("nothing_merged", join=unchanged),
    TEXTS.mistake(
        "code_points_for_bytes",
        symbols=list,
        join=_joined_text,
        number=lambda token, known: ord(token) if len(token) == 1 else known[token.encode("latin-1")],
    ),
    TEXTS.mistake(
        "backwards",
        number=lambda token, known: known[token[::-1]] if token[::-1] in known else known[token],
        cut=lambda text: [text[::-1]] if text else [],
    ),
)


def _joined_tokens(word: Any, rank: Any) -> Any:
    """Merge the pair whose token has the lowest rank, whatever its parts are, as with the ranks of tiktoken."""
    by_token = {first + second: place for (first, second), place in rank.items()}
    return _by_rank(word, lambda pair, count: by_token.get(pair[0] + pair[1]))


def _numbered(answer: Any, inputs: Inputs) -> Any:
    """Return the ids of tokens that are given as bytes or text."""
    known = ranks(inputs["merges"])
    if not isinstance(answer, tuple) or not all(isinstance(part, str | bytes) for part in answer):
        return answer
    tokens = [part.encode("latin-1", "ignore") if isinstance(part, str) else part for part in answer]
    return [known[token] for token in tokens] if all(token in known for token in tokens) else answer


def _in_texts(made: Callable[[list[tuple[str, str]]], Any]) -> Callable[[Any], Any]:
    """Return an encoding of merges as pairs of texts, whose characters are the bytes."""
    return lambda merges: made([(first.decode("latin-1"), second.decode("latin-1")) for first, second in merges])


TEXT_FORMS: tuple[Callable[[list[tuple[str, str]]], Any], ...] = (
    list,
    lambda pairs: {pair: place for place, pair in enumerate(pairs)},
    lambda pairs: {pair: "".join(pair) for pair in pairs},
    lambda pairs: {" ".join(pair): place for place, pair in enumerate(pairs)},
)
"""Forms of merges of texts: in order, with ranks, with the merged token, and with ranks under the two texts with a space between them."""


def _of_texts(answer: Any, inputs: Inputs) -> Any:
    """Return the ids of tokens that are given as texts, None for anything else: code points are no ids."""
    is_empty = isinstance(answer, numpy.ndarray) and answer.size == 0
    are_texts = isinstance(answer, tuple) and all(isinstance(part, str) for part in answer)
    return _numbered(answer, inputs) if are_texts or is_empty else None


ENDS_WORDS = "</w>"


def _before_end(answer: Any, inputs: Inputs) -> Any:
    """Return the ids of tokens that are given as texts, the last of which marks the end of a word; None for anything else."""
    if not isinstance(answer, tuple) or answer[-1:] != (ENDS_WORDS,):
        return None
    return _of_texts(answer[:-1], inputs) if answer[:-1] else []


MERGES = (
    Convention(encode=changed(merges=in_ids)),
    Convention(),
    Convention(encode=changed(merges=lambda merges: list(in_ids(merges)))),
    Convention(encode=changed(merges=lambda merges: {tuple(pair): place for place, pair in enumerate(merges)})),
    Convention(encode=changed(merges=lambda merges: [(*pair, new_id) for pair, new_id in in_ids(merges).items()])),
    *(Convention(encode=changed(merges=_in_texts(made))) for made in TEXT_FORMS),
    Convention(encode=changed(merges=lambda merges: list(in_ids(merges).items()))),
    Convention(encode=changed(merges=lambda merges: {tuple(pair): b"".join(pair) for pair in merges})),
    Convention(encode=changed(merges=ranks)),
    Convention(encode=changed(merges=ranks), steps={"join": _joined_tokens}, role="merges", named="rank"),
    Convention(encode=lambda inputs: without(inputs, "merges"), role="vocab"),
    Convention(encode=lambda inputs: without(inputs, "merges"), steps={"join": _joined_tokens}, role="scores"),
)


def _with_scores(made: Callable[[bytes], str | bytes]) -> Callable[[Inputs], Inputs]:
    """Return an encoding with the tokens in order and their scores, which fall with the rank, as of SentencePiece."""

    def encode(inputs: Inputs) -> Inputs:
        tokens = list(ranks(inputs["merges"]))
        return inputs | {"vocab": [*map(made, tokens)], "scores": [-float(place) for place in range(len(tokens))]}

    return encode


VOCABS = optional(
    Convention(encode=_with_scores(lambda token: token.decode("latin-1")), role="scores"),
    Convention(encode=lambda inputs: inputs | {"vocab": vocabulary(inputs["merges"])}, role="vocab"),
    Convention(encode=lambda inputs: inputs | {"vocab": ranks(inputs["merges"])}, role="vocab"),
    Convention(
        encode=lambda inputs: inputs | {"vocab": {token.decode("latin-1"): number for token, number in ranks(inputs["merges"]).items()}},
        role="vocab",
    ),
)
GIVEN = (
    Convention(decode=_numbered),
    Convention(
        TEXTS["takes_bytes"],
        changed(text=lambda text: text.encode("utf-8")),
        decode=_numbered,
        role="text",
        named=r"byte|^token$",
    ),
    Convention(
        TEXTS["takes_bytes_integers"],
        changed(text=lambda text: list(text.encode("utf-8"))),
        decode=_numbered,
        role="text",
        named=r"ids|tokens",
    ),
    Convention(TEXTS["takes_characters"], changed(text=lambda text: text.encode("utf-8").decode("latin-1")), decode=_of_texts),
    Convention(TEXTS["takes_characters"], changed(text=lambda text: text.encode("utf-8").decode("latin-1")), role="scores"),
    Convention(
        TEXTS["takes_characters"],
        changed(text=lambda text: text.encode("utf-8").decode("latin-1")),
        decode=_before_end,
        file_source=ENDS_WORDS,
    ),
    Convention(
        TEXTS["takes_words"],
        changed(text=lambda text: [word.encode("utf-8").decode("latin-1") for word in cut(text)]),
        decode=_of_texts,
        steps={"cut": cut},
        role="text",
        named=r"words|pieces|chunks|pre_?tokens",
    ),
)
CUTS = optional(
    Convention(TEXTS["splits_words_first"], steps={"cut": cut}, source=r"special_tok|regex|\bre\.|findall|finditer|\.split\(|pattern")
)

BY_TOKEN = r"\{ *(\w+\[0\] \+ \w+\[1\]|\w+ \+ \w+|\w*(b['\"]['\"])?\.join\(\w+\)) *: *\w+ +for\b|\[(\w+\[0\] \+ \w+\[1\]|\w+ \+ \w+)\] = (\w+|len\()"
"""Pattern of the source of ranks under the joined two parts of a pair: `{left + right: rank for rank, (left, right) in …}`."""

OF_TRAINED = optional(
    Convention(
        TEXTS["takes_whole_words"],
        steps={"join": lambda word, rank: [b"".join(word)] if _is_token(word, rank) else STEPS["join"](word, rank)},
        source=r"\bif\b[^\n]*\bin\b",
    ),
    Convention(TEXTS["ranks_by_token"], steps={"join": _joined_tokens}, source=BY_TOKEN),
)
"""Ways for the merges of a training: the merges of a token's bytes lead to the token itself, and each token is made from one pair."""


def _is_token(word: Any, rank: Any) -> bool:
    return any(first + second == b"".join(word) for first, second in rank)


def pairs(*texts: str) -> list[tuple[bytes, bytes]]:
    """Read merges written as 'a b'."""
    read = []
    for text in texts:
        first, second = text.replace("_", "\0").split(" ")
        read.append((first.replace("\0", " ").encode("utf-8"), second.replace("\0", " ").encode("utf-8")))
    return read


def probes() -> tuple[Probe, ...]:
    """Merges whose order matters, runs, multi-byte characters, nothing to merge, a single letter, and an empty text."""
    hello = pairs("l l", "h e", "e ll", "ell o", "he l", "he ll", "_ h")
    chain = pairs("b c", "a b", "ab c", "c d", "bc d")
    runs = pairs("a a", "aa a", "b a", "ba aa", "n a", "ba na")
    accents = [(b"\xc3", b"\xa9"), (b"\xf0", b"\x9f"), (b"\x99", b"\x82"), (b"\xf0\x9f", b"\x99\x82"), *pairs("n é", "t é")]
    return (
        Probe("order matters", {"text": "hello hell he", "merges": hello}),
        Probe("chain", {"text": "abcd abc bcd ab", "merges": chain}),
        Probe("runs", {"text": "aaaaa banana baaa", "merges": runs}),
        Probe("multi-byte characters", {"text": "né é🙂 thé", "merges": accents}),
        Probe("nothing to merge", {"text": "xyz", "merges": chain}),
        Probe("one letter", {"text": "a", "merges": chain}),
        Probe("two letters", {"text": "ab", "merges": chain}),
        Probe("no letter", {"text": "", "merges": chain}, TEXTS["none"]),
    )


EXERCISE = Exercise(
    name="bpe_encode",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        ROLES("text"),
        ROLES("merges"),
        ROLES("vocab"),
        ROLES("scores"),
        ROLES("special_tokens", neutral=None),
        Role("max_rank", neutral=None),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(VOCABS, MERGES, GIVEN, CUTS, OF_TRAINED),
    is_trained_through=False,
)
