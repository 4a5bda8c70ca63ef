"""Training a byte-pair encoding: merge the most frequent pair, count again, and repeat."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from headway import files
from headway.practice.exercise import QUIET, Convention, Exercise, Inputs, Probe, Step, Steps, optional
from headway.practice.recipes.byte_pairs import (
    GPT2_CUT,
    as_bytes,
    as_characters,
    counted,
    cut,
    first_merged,
    from_alphabet,
    pair_of,
    parted,
    ranks,
    read_merges,
)
from headway.practice.recipes.encoding import changed, without
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("bpe_train")
ROLES = Roles("bpe_train")


def recipe(steps: Any, text: str, num_merges: int, special_tokens: Any = None, **rest: Any) -> Any:
    """The definition as named steps: specials, cut, symbols, rounds, counts, left, best, merge."""
    words = [steps.symbols(piece) for piece in steps.cut(text, steps.specials(special_tokens or ()))]
    merges: list[Any] = []
    first: Any = None
    for _ in range(steps.rounds(num_merges)):
        counts = steps.counts(words)
        first = first or dict(counts)
        left = steps.left(counts, first, merges)
        if not left:
            break
        pair = steps.best(left, merges)
        merges.append(pair)
        words = [steps.merge(word, pair) for word in words]
    return tuple(merges)


def definition(text: str, num_merges: int, special_tokens: Any = None, **rest: Any) -> Any:
    """Train over distinct words and their counts; of equally frequent pairs, take the greatest."""
    words = Counter(tuple(as_bytes(word)) for part in parted(text, special_tokens) for word in GPT2_CUT.findall(part))
    merges: list[tuple[bytes, bytes]] = []
    while len(merges) < num_merges:
        pairs: Counter[tuple[bytes, bytes]] = Counter()
        for word, count in words.items():
            for pair in pairwise(word):
                pairs[pair] += count
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        joined: Counter[tuple[bytes, ...]] = Counter()
        for word, count in words.items():
            joined[tuple(pair_of(word, best))] += count
        words = joined
    return tuple(merges)


def greatest(counts: Any, merges: Any) -> Any:
    """Return the most frequent pair; of equally frequent ones, the greatest in bytes."""
    return max(counts, key=lambda pair: (counts[pair], pair))


def first_seen(counts: Any, merges: Any) -> Any:
    """Return the most frequent pair; of equally frequent ones, the first encountered."""
    return max(counts, key=counts.get)


def smallest(counts: Any, merges: Any) -> Any:
    """Return the most frequent pair; of equally frequent ones, the one with the lowest ids."""
    known = ranks(merges)
    return min(counts, key=lambda pair: (-counts[pair], *(known.get(part, 0) for part in pair)))


def least(counts: Any, merges: Any) -> Any:
    """Return the most frequent pair; of equally frequent ones, the least in bytes."""
    return min(counts, key=lambda pair: (-counts[pair], pair))


STEPS: dict[str, Step] = {
    "specials": tuple,
    "cut": cut,
    "symbols": as_bytes,
    "counts": counted,
    "best": greatest,
    "merge": pair_of,
}


def _merged_in_text(word: Any, pair: Any) -> Any:
    """Merge a pair wherever it is in the tokens as one text with separators, also in parts of two tokens."""
    return b"\0".join(word).replace(b"\0".join(pair), b"".join(pair)).split(b"\0")


MISTAKES = (
    TEXTS.mistake("characters_not_bytes", symbols=as_characters),
    TEXTS.mistake("merged_across_words", cut=lambda text, specials: [part for part in parted(text, specials) if part]),
    TEXTS.mistake("cut_at_spaces", cut=lambda text, specials: [piece for part in parted(text, specials) for piece in part.split()]),
    TEXTS.mistake("cut_into_characters", cut=lambda text, specials: cut(text, specials) if specials else list(text)),
    TEXTS.mistake("special_tokens_counted", specials=lambda specials: ()),
    TEXTS.mistake("first_special_token_only", specials=lambda specials: specials[:1]),
    TEXTS.mistake("one_round_too_many", rounds=lambda num_merges: num_merges + 1),
    TEXTS.mistake("one_round_too_few", rounds=lambda num_merges: num_merges - 1),
    TEXTS.mistake("least_frequent_merged", best=lambda counts, merges: min(counts, key=lambda pair: (counts[pair], pair))),
    TEXTS.mistake(
        "counts_not_taken_anew", left=lambda counts, first, merges: {pair: count for pair, count in first.items() if pair not in merges}
    ),
    TEXTS.mistake("distinct_words_counted_once", counts=lambda words: counted([list(word) for word in dict.fromkeys(map(tuple, words))])),
    TEXTS.mistake("first_place_only", merge=lambda word, pair: first_merged(word, pair, pair[0] + pair[1])),
    TEXTS.mistake("merged_in_text", merge=_merged_in_text),
)


@lru_cache(maxsize=1)
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return the folder of the corpora, which is deleted when the process ends."""
    return tempfile.TemporaryDirectory(prefix="headway-", ignore_cleanup_errors=True)


@lru_cache(maxsize=64)
def _file_with(text: str) -> str:
    path = Path(_folder().name) / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.txt"
    files.write_text(path, text)
    return str(path)


def _total(inputs: Inputs) -> int:
    specials = inputs.get("special_tokens") or ()
    return 256 + inputs["num_merges"] + (1 if isinstance(specials, str) else len(specials))


def _only_special(inputs: Inputs) -> Inputs | None:
    """Return the inputs with the only special token as a text, by default that of GPT-2; None for several."""
    specials = inputs.get("special_tokens") or ["<|endoftext|>"]
    return inputs | {"special_tokens": specials[0]} if len(specials) == 1 else None


def _without_special(inputs: Inputs) -> Inputs | None:
    """Return the size of a vocabulary that does not count the only special token; None for special tokens in a list."""
    is_one = isinstance(inputs.get("special_tokens"), str)
    return without(inputs, "num_merges") | {"vocab_size": _total(inputs) - 1} if is_one else None


ONE_SPECIAL = r"(end|eot|eos|special|end_of_text)_token"
"""Pattern of the name of the only special token, which is a text."""

SPECIALS = (
    Convention(),
    Convention(
        encode=lambda inputs: inputs if inputs.get("special_tokens") else inputs | {"special_tokens": ["<|endoftext|>"]},
        role="special_tokens",
        is_required=True,
    ),
    Convention(encode=_only_special, role="special_tokens", named=rf"^{ONE_SPECIAL}$"),
)
"""A function that requires special tokens may need at least one, `special_tokens[0]`; one that takes none of them for an empty pattern is wrong."""
SIZES = (
    Convention(decode=lambda answer, inputs: read_merges(answer)),
    Convention(
        encode=lambda inputs: without(inputs, "num_merges") | {"vocab_size": _total(inputs)},
        decode=lambda answer, inputs: read_merges(answer),
        role="vocab_size",
    ),
    Convention(encode=_without_special, decode=lambda answer, inputs: read_merges(answer), role="vocab_size"),
)


def _ended(word: str) -> list[bytes]:
    """Return the characters of a word and the mark of its end, as in the paper of Sennrich et al."""
    return [*as_characters(word), b"</w>"]


OF_ENDED_WORDS: Mapping[str, Step] = {"cut": lambda text, specials: text.split(), "symbols": _ended}
ENDS_WORDS = "</w>"


def _counted_words(inputs: Inputs) -> Inputs | None:
    """Return the text as its words, whose characters and end are apart, with their counts; None with special tokens."""
    words = Counter(" ".join((*word, ENDS_WORDS)) for word in inputs["text"].split())
    return None if inputs.get("special_tokens") else inputs | {"text": dict(words)}


def _counted_cut(as_key: Callable[[str], Any]) -> Callable[[Inputs], Inputs | None]:
    """Return an encoding of a text as its words with their counts, cut as GPT-2 does and each in the form of a key; None with special tokens."""

    def encode(inputs: Inputs) -> Inputs | None:
        return None if inputs.get("special_tokens") else inputs | {"text": Counter(map(as_key, cut(inputs["text"])))}

    return encode


OF_WORDS_WITH_COUNTS = r"vocab|words?|freq|counts|splits"
"""Pattern of the name of words with their counts."""

OF_COUNTED = r"\b\w*(vocab|words?|freqs?|counts?|pre_?tok\w*)\.items\(\)"
"""Pattern of the source that goes through words with their counts."""
KEYS: Sequence[Callable[[str], Any]] = (lambda word: tuple(word.encode("utf-8")), lambda word: tuple(as_bytes(word)))
"""Words as tuples of the numbers of their bytes, and of the bytes."""

SOURCES = optional(
    Convention(encode=lambda inputs: without(inputs, "text") | {"input_path": _file_with(inputs["text"])}, role="input_path"),
    Convention(
        TEXTS["takes_bytes_integers"], changed(text=lambda text: list(text.encode("utf-8"))), role="text", named=r"ids|tokens|bytes"
    ),
    Convention(TEXTS["takes_list_words"], changed(text=str.split), role="text", named=r"words"),
    Convention(
        TEXTS["takes_counted_words"],
        _counted_words,
        role="text",
        named=OF_WORDS_WITH_COUNTS,
        file_source=ENDS_WORDS,
        steps=OF_ENDED_WORDS,
    ),
    *(
        Convention(
            TEXTS["takes_counted_bytes"],
            _counted_cut(as_key),
            role="text",
            named=r"vocab|words?|freq|counts|pre_?tok",
            source=OF_COUNTED,
            may_write=True,
        )
        for as_key in KEYS
    ),
    Convention(TEXTS["takes_list_texts"], changed(text=lambda text: [text]), role="text", named=r"texts|corpus|docs|data|lines"),
)


def _uncut(text: str, specials: Any) -> list[str]:
    return [text]


def _with_own_ties(**steps: Step) -> Callable[[Any, Inputs], Any]:
    """Return a decoding that gives the definition's merges, with these steps, for merges each of which was among the most frequent pairs."""

    def decode(answer: Any, inputs: Inputs) -> Any:
        merges, own = read_merges(answer), Steps(STEPS | steps)
        if "cut" in steps and inputs.get("special_tokens"):  # they are cut out, so the counts of the whole text are others
            return merges
        right = recipe(own, **inputs)
        if not isinstance(merges, tuple) or len(merges) != len(right):
            return merges
        words = [own.symbols(piece) for piece in own.cut(inputs["text"], inputs.get("special_tokens") or ())]
        for pair in merges:
            counts = counted(words)
            if not counts or counts.get(pair) != max(counts.values()):
                return merges
            words = [pair_of(word, pair) for word in words]
        return right

    return decode


def _of_merged_words(answer: Any, inputs: Inputs) -> Any:
    """Return the definition's merges for the words that these merges lead to, with their counts, under any choice among the most frequent pairs."""
    if not isinstance(answer, dict) or inputs.get("special_tokens"):
        return answer
    found = {key: int(count) for key, count in answer.items()}
    ways = [Steps({**STEPS, **OF_ENDED_WORDS, "best": best}) for best in (greatest, first_seen, smallest)]
    return recipe(ways[0], **inputs) if any(found == _merged_words(own, inputs) for own in ways) else answer


def _merged_words(own: Any, inputs: Inputs) -> Mapping[str, int]:
    """Return the words after all merges, their symbols apart, with their counts."""
    words = [own.symbols(piece) for piece in own.cut(inputs["text"], ())]
    for pair in recipe(own, **inputs):
        words = [pair_of(word, pair) for word in words]
    return Counter(b" ".join(word).decode() for word in words)


OF_CHARACTERS = r"(?i)\Aclass (?!(.|\n)*(utf|byte(?!.?pair)|\.encode\())|sorted\((list\()?set\("
OF_WORDS: Mapping[str, Step] = {"cut": lambda text, specials: text.split(), "symbols": as_characters}
WORDS_OF_CHARACTERS = r"(?i)\Aclass (?!(.|\n)*(utf|byte(?!.?pair)|\.encode\(|</?\w+>|Ġ|findall|finditer))"
"""Source of a class that trains with characters and marks neither the ends of words nor their spaces."""
SPLIT = r"\.split\(\)"
UNCUT = r"\A(?!(.|\n)*(\bdef [^)]*special_tok|import regex|\bregex\.|\bre\.|findall|finditer|\.split\(|pattern))"
TIES = optional(
    Convention(TEXTS["ties_by_position"], steps={"best": first_seen}),
    Convention(TEXTS["ties_by_ids"], steps={"best": smallest}),
    Convention(TEXTS["ties_by_order"], steps={"best": least}, used_source=r"\b(min|sorted)\("),
    Convention(TEXTS["own_ties"], decode=_with_own_ties()),
    Convention(TEXTS["own_ties"], decode=_with_own_ties(cut=_uncut), source=UNCUT),
    Convention(TEXTS["own_ties"], decode=_with_own_ties(cut=_uncut, symbols=as_characters), source=OF_CHARACTERS),
    Convention(TEXTS["own_ties"], decode=_with_own_ties(**OF_ENDED_WORDS), file_source=ENDS_WORDS),
    Convention(TEXTS["returns_merged_words"], decode=_of_merged_words, role="text", named=OF_WORDS_WITH_COUNTS, file_source=ENDS_WORDS),
    Convention(TEXTS["own_ties"], decode=_with_own_ties(**OF_WORDS), source=WORDS_OF_CHARACTERS, used_source=SPLIT),
)
WRITTEN = optional(
    Convention(decode=lambda answer, inputs: from_alphabet(answer), used_source=r"byte_encoder|bytes?_to_unicode|byte2unicode")
)
"""Tokens as texts, each of whose characters may be one byte."""
AT_ONE_SPECIAL = (
    rf"\A(?!(.|\n)*(\bregex\b|\bre\.(?!split|escape)|findall|finditer|\.split\(\)|pattern))(.|\n)*\bdef [^)]*\b(?P<token>{ONE_SPECIAL})\b"
    r"(.|\n)*\.?split\([^\n]*(?P=token)\b"
)
"""Pattern of the source of a function that splits its text at its only special token, and not into words."""
CUTS = optional(
    Convention(TEXTS["no_word_split"], steps={"cut": _uncut}, source=UNCUT),
    Convention(TEXTS["no_word_split"], steps={"cut": parted}, role="special_tokens", named=rf"^{ONE_SPECIAL}$", source=AT_ONE_SPECIAL),
)

ENDED = optional(
    Convention(TEXTS["of_ended_words"], steps=OF_ENDED_WORDS, file_source=ENDS_WORDS),
    Convention(
        TEXTS["of_words_with_underscore"],
        steps={**OF_ENDED_WORDS, "symbols": lambda word: [*as_characters(word), b"_"]},
        source=r"\+ *['\"]_['\"]",
    ),
    Convention(TEXTS["of_words_alone"], steps=OF_WORDS, source=WORDS_OF_CHARACTERS, used_source=SPLIT),
)

PLAIN = "low low low low low lower lower newest newest newest newest newest newest widest widest widest low"
SEVERAL = "ab<|pad|>ab<|end|>abc<|pad|>abc ab<|pad|><|pad|>ab<|pad|>"
REPEATED = "hahaha hahaha hahaha xyp xyq pxy qxy xyp xyq pxy qxy"
"""A text whose first merge leaves new tokens next to each other, whose pair is less frequent than another one, unless it is counted twice."""

ACCENTS = "né né né né né 🙂🙂 🙂🙂 🙂🙂 déjà déjà né"
CHARACTERS = optional(Convention(TEXTS["of_characters"], steps={"symbols": as_characters}, source=OF_CHARACTERS))


def probes() -> tuple[Probe, ...]:
    """Words of different frequency, multi-byte characters, runs, one special token and two, and texts with equally frequent pairs."""
    return (
        Probe("words", {"text": PLAIN, "num_merges": 3}),
        Probe("more words", {"text": PLAIN, "num_merges": 6}),
        Probe("multi-byte characters", {"text": ACCENTS, "num_merges": 3}),
        Probe("runs", {"text": "aaaaaa aaaaaa baaa baaa baaa caa", "num_merges": 3}),
        Probe("tokens that end alike", {"text": "ab aaab aaab aaab aaab aab aab aab", "num_merges": 5}),
        Probe("across words", {"text": "he s he s he s he s he", "num_merges": 2}),
        Probe("special tokens", {"text": "ab ab<|end|>ab abc<|end|>abc ab<|end|>", "num_merges": 2, "special_tokens": ["<|end|>"]}),
        Probe("two special tokens", {"text": SEVERAL, "num_merges": 2, "special_tokens": ["<|end|>", "<|pad|>"]}),
        Probe("new tokens next to each other", {"text": REPEATED, "num_merges": 2}),
        Probe("ties", {"text": "ba ca ba ca da", "num_merges": 2}, QUIET, caution=TEXTS["broken_otherwise"]),
        Probe("two pairs as frequent", {"text": "xabp yabq zcdr wcds", "num_merges": 2}),
    )


EXERCISE = Exercise(
    name="bpe_train",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        *ROLES.each("text", "input_path", "num_merges", "vocab_size"),
        ROLES("special_tokens", neutral=[]),
        ROLES("verbose", neutral=False),
        ROLES("num_processes", neutral=1),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(SPECIALS, SIZES, SOURCES, TIES, CUTS, WRITTEN, CHARACTERS, ENDED),
    is_trained_through=False,
    class_calls="trainer",
)
