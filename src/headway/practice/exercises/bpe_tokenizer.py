"""A tokenizer with byte pairs as a class: trained or given its merges, it encodes text and decodes tokens."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Role, Step, optional
from headway.practice.exercises import bpe_encode, bpe_train
from headway.practice.exercises.bpe_encode import pairs
from headway.practice.recipes.byte_pairs import as_bytes, cut, in_ids, merged, vocabulary
from headway.practice.texts import Texts

TEXTS = Texts("bpe_tokenizer")


def recipe(steps: Any, text: str, merges: Any = None, corpus: str = "", num_merges: int = 0, special_tokens: Any = None) -> Any:
    """The definition in the steps of bpe_train and bpe_encode, and: specials, decoded; the output is every token's text and their join."""
    learned = bpe_train.recipe(steps, corpus, num_merges) if merges is None else [tuple(pair) for pair in merges]
    rank = {pair: place for place, pair in enumerate(learned)}
    tokens: list[bytes] = []
    for part in steps.split(text, special_tokens or ()):
        is_special = part in steps.kept(special_tokens or ())
        tokens += [part.encode()] if is_special else [token for piece in cut(part) for token in steps.join(as_bytes(piece), rank)]
    joined = steps.decoded(tokens)
    return (*(token.decode("utf-8", "replace") for token in tokens), joined) if text.isascii() else (joined,)


def definition(text: str, merges: Any = None, corpus: str = "", num_merges: int = 0, special_tokens: Any = None) -> Any:
    """Apply each merge in the order in which it was learned."""
    if merges is None:
        merges = bpe_train.definition(corpus, num_merges)
    table, known = in_ids(merges), vocabulary(merges)
    tokens: list[bytes] = []
    for part in _split(text, special_tokens or ()):
        if part in (special_tokens or ()):
            tokens.append(part.encode())
            continue
        for piece in cut(part):
            ids = list(piece.encode())
            for pair, new_id in table.items():
                ids = merged(ids, pair, new_id)
            tokens += [known[each] for each in ids]
    joined = b"".join(tokens).decode("utf-8", "replace")
    return (*(token.decode("utf-8", "replace") for token in tokens), joined) if text.isascii() else (joined,)


def _split(text: str, special_tokens: Any) -> list[str]:
    """Split a text at its special tokens, longest first, and keep them."""
    if not special_tokens:
        return [text]
    ordered = sorted(special_tokens, key=len, reverse=True)
    return [part for part in re.split("(" + "|".join(map(re.escape, ordered)) + ")", text) if part]


STEPS: dict[str, Step] = {
    **bpe_train.STEPS,
    "join": bpe_encode.STEPS["join"],
    "split": _split,
    "decoded": lambda tokens: b"".join(tokens).decode("utf-8", "replace"),
}
SHARED = {
    "first_match_merged", "last_match_merged", "last_learned_merged_first", "longest_token_taken", "one_merge_only", "nothing_merged", "one_round_too_many",
    "one_round_too_few", "least_frequent_merged", "counts_not_taken_anew", "first_place_only",
    "most_frequent_alone_merged", "sorted_by_pair", "merged_in_text",
}  # fmt: skip
"""Mistakes of bpe_train and bpe_encode that a tokenizer can make as well."""

TRAINING = r"train|fit|learn|decode"
"""Pattern of the names of a tokenizer's methods in which no mistake of encoding is."""

MISTAKES = (
    *(replace(each, elsewhere=TRAINING) for each in bpe_encode.MISTAKES if each.name in SHARED),
    *(each for each in bpe_train.MISTAKES if each.name in SHARED),
    TEXTS.mistake("special_tokens_split", kept=lambda specials: (), split=lambda text, specials: [text]),
    TEXTS.mistake("special_tokens_lost", split=lambda text, specials: [part for part in _split(text, specials) if part not in specials]),
    TEXTS.mistake("decoded_with_spaces", decoded=lambda tokens: " ".join(token.decode("utf-8", "replace") for token in tokens)),
    TEXTS.mistake("decoded_byte_by_byte", decoded=lambda tokens: "".join(token.decode("utf-8", "replace") for token in tokens)),
)

BEYOND_ASCII = TEXTS["characters_beyond_ascii_was_trained"]

LOST = TEXTS["untrained_characters_lost"]


def probes() -> tuple[Probe, ...]:
    """Tokenizers trained on texts without ties, and tokenizers with given merges; runs, unseen text, characters of several bytes."""
    chain = pairs("b c", "a b", "ab c", "c d", "bc d")
    runs = pairs("a a", "aa a", "b a", "ba aa", "n a", "ba na")
    hello = pairs("l l", "h e", "e ll", "ell o", "he l", "he ll")

    def trained(corpus: str, num_merges: int, text: str) -> Inputs:
        return {"corpus": corpus, "num_merges": num_merges, "text": text}

    return (
        Probe("trained", trained(CORPORA[0], 3, CORPORA[0])),
        Probe("trained, other text", trained(CORPORA[1], 4, CORPORA[2])),
        Probe("trained, order matters", trained(CORPORA[3], 4, "abcabcd")),
        Probe("trained, one merge", trained(CORPORA[2], 1, CORPORA[2])),
        Probe("trained, two letters", trained(CORPORA[3], 4, "bc")),
        Probe("trained, one letter", trained(CORPORA[3], 4, "b")),
        Probe("trained, unseen characters", trained(CORPORA[1], 2, "xyz"), TEXTS["characters_was_trained"], caution=LOST),
        Probe("trained, tokens that end alike", trained(CORPORA[4], 3, CORPORA[4])),
        Probe("trained, underscore", trained(CORPORA[1], 2, "x_y"), TEXTS["characters_was_trained"], caution=LOST),
        Probe("trained, frequent pairs", trained(NUM_COPIES * CORPORA[3], 2, "bc")),
        Probe("trained, several bytes", trained(CORPORA[0], 2, "né 🙂"), BEYOND_ASCII, caution=LOST),
        Probe("order matters", {"text": "hello hell he", "merges": hello}),
        Probe("chain", {"text": "abcd abc bcd ab", "merges": chain}),
        Probe("runs", {"text": "aaaaa banana baaa", "merges": runs}),
        Probe("word of one letter", {"text": "a abcd", "merges": chain}),
        Probe("several bytes", {"text": "né é🙂", "merges": [(b"\xc3", b"\xa9"), (b"\xf0", b"\x9f")]}, BEYOND_ASCII),
        Probe("special tokens", {"text": "abc<|end|>bcd", "merges": chain, "special_tokens": ["<|end|>"]}, TEXTS["special_tokens"]),
    )


NUM_COPIES = 64
"""Number of copies of a text in which every pair is frequent."""

CORPORA = (
    "ddbaaaadddcdddddddddddda",
    "cecaaaecaecaecaecaecabaaaaecadaaaa",
    "bdcbdbaaabbdbaaaabdb",
    "bcabcbcdabcbcdbcddabcababcbcdbcd",
    "acacdccbdcacacccdacbabcdaadbcc",
)
"""Texts in whose first merges one pair is always more frequent than all others."""


def _frequent(inputs: Inputs) -> Inputs | None:
    """Return the inputs with copies of the corpus, in which no pair is rare; None if other pairs would be merged."""
    corpus, count = inputs.get("corpus") or "", inputs.get("num_merges", 0)
    if not corpus or len(corpus) >= NUM_COPIES:
        return inputs
    longer = corpus * NUM_COPIES
    return inputs | {"corpus": longer} if bpe_train.definition(longer, count) == bpe_train.definition(corpus, count) else None


RARE = optional(
    Convention(
        TEXTS["leaves_rare_pairs"],
        _frequent,
        role="corpus",
        source=r"\b\w*(count|freq)\w*(\[\w+\])? *(<= *([2-9]|\d{2,})|< *([3-9]|\d{2,}))\b",
    )
)
"""A training that ends at a least number of counts of its own."""

EXERCISE = Exercise(
    name="bpe_tokenizer",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        Role("text"),
        Role("merges", neutral=None),
        Role("corpus", neutral=""),
        Role("num_merges", neutral=0),
        Role("special_tokens", neutral=None),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(bpe_encode.OF_TRAINED, RARE),
    calls="tokenizer",
    is_trained_through=False,
)
