"""Checker of stories: reports names and things that are never introduced or that change.

    python -m tools.stories.checker story.txt

It reads the text only, with the words of the grammar (lexicon.py). A noun in the fixed text of a template does not count as a mention.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from . import things
from .lexicon import ADJECTIVES, ELDERS, JOBS, KINDS, LISTED, LOOKS, SITES, SLOT, THINGS, WATERS, bare, begins, lexicon, words_of

NOUNS = {
    **dict.fromkeys(SITES | WATERS, "place"),
    **dict.fromkeys(THINGS, "thing"),
    **dict.fromkeys(KINDS, "animal"),
    **dict.fromkeys(JOBS, "job"),
    **dict.fromkeys(ELDERS, "elder"),
}
_BY_FIRST: dict[str, list[list[str]]] = {}
for _noun in sorted(NOUNS, key=lambda noun: -len(noun.split())):
    _BY_FIRST.setdefault(_noun.split()[0], []).append(_noun.split())

_INTRODUCED = re.compile(
    r"(?<!\" )\b(?:named|called|sister,|sister|brother,|brother|friend) (?P<a>[A-Z][a-z]+)"
    r"|\bknew (?P<b>[A-Z][a-z]+), the "
    r"|^(?:[Oo]nce upon a time, |[Ll]ong ago, |[Nn]ot so long ago, )?(?P<c>[A-Z][a-z]+) (?:the [a-z ]+? )?and (?:his|her) "
    r"|^(?P<d>[A-Z][a-z]+) was (?:a|an|the) "
    r"|^\"[^\"]+\" (?:[a-z ]+ )?(?P<e>[A-Z][a-z]+) ?(?:[a-z ]+)?\. (?:He|She) was an? "
    r"|\bnear (?P<f>[A-Z][a-z]+)\b"
    r"|\b(?:your name|yours)\?\" (?:[A-Za-z ,.]+? )?\"(?P<g>[A-Z][a-z]+)[.,]"
    r"|\bI am (?P<h>[A-Z][a-z]+)[,.]"
    r"|\byour name,\" [A-Za-z ]+\. \"(?P<i>[A-Z][a-z]+)[.,]"
)
_TITLED = re.compile(r"(?P<old>\b[Oo]ld )?\b(?P<title>Mrs?)\. (?P<name>[A-Z][a-z]+)")
_SEED = re.compile(rf"\b({'|'.join(seed.split(':')[0] for seed in things.SEEDS)}) seed\b")
_ARTICLES = frozenset({"a", "an", "some"})
_PRONOUNS = {"f": frozenset("she her hers herself".split()), "m": frozenset("he him his himself".split())}
_TIMES = frozenset({"morning", "afternoon", "day", "evening"})
_DEFINITE = frozenset({"the", "my", "your", "his", "her", "no", "that", "this", "those"})
_OWN = frozenset({"his", "her"})


@dataclass
class _Reader:
    """Words of one story, and the slips found in it."""

    text: str
    words: list[str] = field(default_factory=list)
    slips: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    adjective_of: dict[str, str] = field(default_factory=dict)

    def word(self, position: int) -> str:
        """Return the word at a position, SLOT outside of the text."""
        return self.words[position] if 0 <= position < len(self.words) else SLOT

    def is_literal(self, phrase: str, start: int, end: int) -> bool:
        """Return True if a template has the phrase in these surroundings."""
        return lexicon().is_literal(phrase, *(self.word(position).lower() for position in (start - 2, start - 1, end)))


def find_slips(text: str) -> list[str]:
    """Return a description of each slip in a story."""
    reader = _Reader(text.strip(), words_of(text.strip()))
    _check_names(reader)
    _check_titles(reader)
    _check_nouns(reader)
    _check_adjectives(reader)
    _check_dishes(reader)
    _check_pronouns(reader)
    return reader.slips


def _check_names(reader: _Reader) -> None:
    """Report names without an introduction, and two persons with one name."""
    titled = {match["name"] for match in _TITLED.finditer(reader.text)}
    for match in _INTRODUCED.finditer(reader.text):
        name = next(group for group in match.groups() if group)
        if name not in LISTED and name.lower() in lexicon().vocabulary:
            continue
        if match["a"] and name in reader.names:
            reader.slips.append(f"{name} is introduced twice")
        reader.names.add(name)
        if match["h"] and len(re.findall(rf"\b{name}\b", reader.text)) == 1:
            reader.slips.append(f"{name} is mentioned only once")
    words = lexicon()
    for position, word in enumerate(reader.words):
        name = bare(word)
        if not name[0].isupper() or name in words.capitals or name in reader.names or name in titled:
            continue
        is_start = begins(reader.word(position - 1)) or position == 0
        if is_start and name.lower() in words.vocabulary and (name not in LISTED or name.lower() in words.starters):
            continue
        reader.slips.append(f"{name} is never introduced")


def _check_titles(reader: _Reader) -> None:
    """Report a neighbour whose name changes. One may appear without introduction; all others appear as `old Mrs. X` first."""
    introduced: set[str] = set()
    others: set[str] = set()
    titles: dict[str, str] = {}
    for match in _TITLED.finditer(reader.text):
        name = match["name"]
        if titles.setdefault(name, match["title"]) != match["title"]:
            reader.slips.append(f"{name} is Mr. and Mrs.")
        if match["old"]:
            introduced.add(name)
        elif name not in introduced:
            others.add(name)
    if len(others) > 1:
        reader.slips.append(f"a neighbour is called {' and '.join(sorted(others))}")
    for name in titles:
        if len(re.findall(rf"\b{name}\b", reader.text)) == 1:
            reader.slips.append(f"{name} is mentioned only once")
        if (
            re.search(rf"(?<!Mr\. )(?<!Mrs\. )\b{name}\b", reader.text)
            and name not in reader.names
            and name.lower() not in lexicon().vocabulary
        ):
            reader.slips.append(f"{name} lacks its title")


def _nouns(reader: _Reader) -> Iterator[tuple[str, int, int]]:
    """Return the nouns of the grammar in a text with their start and end; the longest at each position."""
    position = 0
    while position < len(reader.words):
        for phrase in _BY_FIRST.get(bare(reader.words[position]), ()):
            if [bare(reader.word(position + turn)) for turn in range(len(phrase))] == phrase:
                yield " ".join(phrase), position, position + len(phrase)
                position += len(phrase) - 1
                break
        position += 1


def _check_nouns(reader: _Reader) -> None:
    """Report things, animals and places that are mentioned and never introduced."""
    introduced: set[str] = set()
    mentioned: list[tuple[str, str]] = []
    single: dict[str, set[str]] = {"job": set(), "elder": set()}
    end_of_opening = next((index for index, word in enumerate(reader.words) if word == "\n"), 0)
    ends = [index for index, word in enumerate(reader.words) if word[0] in ".!?"]
    end_of_animals = min(ends[1] if len(ends) > 1 else 0, end_of_opening)
    known = lexicon().vocabulary
    found = list(_nouns(reader))
    inside = {index for _, start, end in found for index in range(start, end)}
    found += [
        (word, index, index + 1)
        for index, word in enumerate(map(bare, reader.words))
        if index not in inside and word.isalpha() and word.islower() and word not in known
    ]
    for noun, start, end in sorted(found, key=lambda entry: entry[1]):
        kind = NOUNS.get(noun, "thing")
        if noun == "village" and reader.word(end) in JOBS:
            continue
        if kind in single:
            is_person = (reader.word(start - 1).lower() in _OWN) if kind == "elder" else _is_job(reader, start)
            if is_person and not reader.is_literal(noun, start, end):
                single[kind].add(noun)
            continue
        is_new, adjective = _introduction(reader, start, end)
        if not is_new and start > end_of_animals and noun in NOUNS and not _is_definite(reader, start):
            continue
        if kind == "thing" and adjective in LOOKS:
            expected = reader.adjective_of.setdefault(noun, adjective)
            if adjective != expected and not reader.is_literal(noun, start, end) and noun in introduced:
                reader.slips.append(f"the {expected} {noun} becomes {adjective}")
        if (
            is_new
            or (kind != "thing" and _is_opening(reader, start, end_of_animals if kind == "animal" else end_of_opening))
            or _is_asked_for(reader, noun, start)
        ):
            introduced.add(noun)
        elif not reader.is_literal(noun, start, end):
            mentioned.append((kind, noun))
            if noun not in introduced:
                reader.slips.append(f"the {noun} is never introduced")
    for kind, nouns in single.items():
        if len(nouns) > 1:
            reader.slips.append(f"one {kind} is {' and '.join(sorted(nouns))}")
    if len(seeds := set(_SEED.findall(reader.text))) > 1:
        reader.slips.append(f"one seed is {' and '.join(sorted(seeds))}")


def _introduction(reader: _Reader, start: int, end: int) -> tuple[bool, str]:
    """Return (True if an article introduces the noun, the adjective before it)."""
    position, adjective = start - 1, ""
    while position >= 0 and reader.words[position].isalpha() and start - position <= 4:
        word = reader.words[position].lower()
        if word in _ARTICLES:
            return True, adjective
        if word in ("the", "my", "your", "her", "his", "no", "one", "in", "by"):
            break
        adjective = adjective or word
        position -= 1
    return False, adjective


def _is_definite(reader: _Reader, start: int) -> bool:
    """Return True if `the`, `my` or the like precedes the noun and its adjectives."""
    position = start - 1
    while reader.word(position).lower() in ADJECTIVES:
        position -= 1
    return reader.word(position).lower() in _DEFINITE


def _is_opening(reader: _Reader, start: int, end_of_opening: int) -> bool:
    """Return True if the opening, or `Rusty the fox`, introduces the noun."""
    before = reader.word(start - 1).lower()
    return start <= end_of_opening or (before == "the" and bare(reader.word(start - 2)) in reader.names)


def _is_asked_for(reader: _Reader, noun: str, start: int) -> bool:
    """Return True for a noun introduced without an article: water in the way, the place of a remedy, a loan."""
    before = tuple(reader.words[max(start - 3, 0) : start])
    if noun in WATERS and before[1:] in (("across", "the"), ("of", "the")):
        return True
    return before[1:] == ("borrow", "your") or (before[:1] in (("had",), ("that",), ("is",)) and NOUNS.get(noun) == "place")


def _is_job(reader: _Reader, start: int) -> bool:
    before = reader.word(start - 1).lower()
    return before == "the" or (before in ("old", "kind", "busy", "village") and reader.word(start - 2).lower() == "the")


def _check_adjectives(reader: _Reader) -> None:
    """Report an adjective whose noun is missing: `the black and played`."""
    nouns = list(_nouns(reader))
    starts = {start for _, start, _ in nouns}
    inside = {position for _, start, end in nouns for position in range(start, end)}
    known = lexicon()
    for position, word in enumerate(reader.words):
        if word not in ADJECTIVES or position in inside or reader.word(position - 1).lower() not in ("the", "a", "an"):
            continue
        after = reader.word(position + 1)
        is_noun = (
            position + 1 in starts
            or after in ADJECTIVES
            or after in _TIMES
            or after == "one"
            or (after.islower() and bare(after) not in known.vocabulary)
        )
        is_noun = is_noun or after.endswith("ing")  # an invented noun may be a word: a purple skipping
        if not is_noun and not reader.is_literal(word, position, position + 1):
            reader.slips.append(f"{reader.word(position - 1)} {word} {after}: the noun is missing")


def _check_dishes(reader: _Reader) -> None:
    """Report food that changes: `the cherry tart` where there was no cherry tart."""
    for dish in things.FOODS:
        later = "the " + dish.split(" ", 1)[1]
        if later in reader.text and dish.split(" ", 1)[1] not in reader.text.replace(later, ""):
            reader.slips.append(f"{later} is never introduced")


def _check_pronouns(reader: _Reader) -> None:
    """Report pronouns of a gender that nobody in the story has, where all genders are known."""
    words = [word.lower() for word in reader.words]
    genders = {"f" if match["title"] == "Mrs" else "m" for match in _TITLED.finditer(reader.text)}
    for name in reader.names:
        child = re.search(rf"\b(girl|boy) (?:named|called) {name}\b", reader.text)
        gender = ("f" if child[1] == "girl" else "m") if child else LISTED.get(name)
        if gender is None and not re.search(rf"\b(?:near|called) {name},", reader.text):
            return
        genders |= {gender} if gender else set()
    for position, word in enumerate(words):
        if word in ("girl", "boy"):
            genders.add("f" if word == "girl" else "m")
        if (
            word in ELDERS | {"mama", "papa", "auntie", "uncle", "grandma", "grandpa", "sister", "brother", "washerwoman", "sweep"}
            or word in JOBS
        ):
            return
        if word in KINDS - {"girl", "boy"} or words[position : position + 2] in (["wolf", "cub"], ["bear", "cub"], ["lion", "cub"]):
            return
    if len(genders) != 1 or "stranger" in words or "they heard" in reader.text.lower():
        return
    for gender, pronouns in _PRONOUNS.items():
        if gender not in genders and (wrong := pronouns & set(words)):
            reader.slips.append(f"{min(wrong)}, where nobody is {'a girl or woman' if gender == 'f' else 'a boy or man'}")


def main(arguments: list[str]) -> int:
    """Print the slips of the stories in files, and return 1 if there are any."""
    num_slips = 0
    for path in arguments:
        for index, story in enumerate(Path(path).read_text().split("<|endoftext|>")):
            for slip in find_slips(story):
                num_slips += 1
                print(f"{path}, story {index + 1}: {slip}")
    return int(num_slips > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
