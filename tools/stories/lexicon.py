"""Words of the grammar: the fixed text of templates, and the nouns and adjectives of their slots."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from . import names, pastimes, places, things, world
from .animals import ANIMALS
from .grammar import parse

WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*(?:'s)?|[.!?]\"?|[,;:\"\n]")
SLOT = "\0"
_SOURCES = ("beats.py", "meetings.py", "plots/*.py")
_MAX_VARIANTS = 3000

KINDS = frozenset({animal.kind for animal in ANIMALS} | {"girl", "boy"})
MAKES = tuple(
    make for group in (things.TOYS, things.TREASURES, things.CLOTHES, things.BREAKABLES, things.TOOLS, things.PRESENTS) for make in group
)
THINGS = frozenset(make.noun for make in MAKES)
SITES = frozenset(site.noun for site in places.SITES)
WATERS = frozenset({"river", "stream", "brook", "canal"})
JOBS = frozenset(names.JOBS)
ELDERS = frozenset(names.ELDERS)
CALLS = frozenset(call for _, call in names.ELDERS.values())
LOOKS = frozenset({*things.COLOURS, *things.LOOKS})
ADJECTIVES = LOOKS | frozenset(names.PLAIN_ADJECTIVES)
LISTED = {
    **dict.fromkeys((*names.GIRLS, *names.ANIMAL_GIRLS), "f"),
    **dict.fromkeys((*names.BOYS, *names.ANIMAL_BOYS), "m"),
    **dict.fromkeys((*names.SURNAMES, *names.VILLAGES), ""),
}


def words_of(text: str) -> list[str]:
    """Return the words and the punctuation of a text, in order."""
    return WORD.findall(text)


@dataclass(frozen=True)
class Lexicon:
    """Literal text of the templates.

    vocabulary   lower-case words that a template or a table has
    capitals     words with a capital inside a sentence
    starters     words, in lower case, that begin a sentence
    contexts     for each word the (two words before, word after) of literal text; SLOT for the edge of a slot or of a template
    """

    vocabulary: frozenset[str]
    capitals: frozenset[str]
    starters: frozenset[str]
    contexts: dict[str, frozenset[tuple[str, ...]]]

    def is_literal(self, phrase: str, *around: str) -> bool:
        """Return True if a template has the phrase next to these words, two before and one after, as far as they are not in slots."""
        return any(all(a in (SLOT, b) for a, b in zip(context, around, strict=True)) for context in self.contexts.get(phrase, ()))


@cache
def lexicon() -> Lexicon:
    """Return the lexicon of all templates and tables."""
    vocabulary: set[str] = set()
    capitals: set[str] = set()
    starters: set[str] = set()
    contexts: dict[str, set[tuple[str, ...]]] = {}
    phrases = sorted((*KINDS, *THINGS, *SITES, *WATERS, *JOBS, *ELDERS, *ADJECTIVES))
    by_first: dict[str, list[list[str]]] = {}
    for phrase in phrases:
        by_first.setdefault(phrase.split()[0], []).append(phrase.split())
    templates = frozenset(_texts())
    starters.update(text.split()[0] for site in places.SITES for text in (*site.sights, *site.sounds))
    for text in (*templates, *_tables()):
        tokens = words_of(text.replace(SLOT, " Xslotx "))
        tokens = [SLOT if token.startswith("Xslotx") else token for token in tokens]
        padded = [SLOT, SLOT, *tokens, SLOT]
        for position, token in enumerate(tokens, 2):
            before = padded[position - 1]
            word = bare(token)
            if token[0].isalpha():
                vocabulary.update(part for part in (word.lower(), *word.lower().split("-")))
                is_start = begins(before) or before == SLOT
                if word[0].isupper() and text in templates:
                    (starters if is_start else capitals).add(word.lower() if is_start else word)
            for phrase in by_first.get(word.lower(), ()):
                end = position + len(phrase)
                if [bare(t).lower() for t in padded[position:end]] == phrase:
                    around = (padded[position - 2], before, padded[end])
                    if set(around) - {SLOT, "the"}:
                        contexts.setdefault(" ".join(phrase), set()).add(tuple(map(str.lower, around)))
    capitals |= {*CALLS, "I", "Mr", "Mrs"}
    return Lexicon(
        frozenset(vocabulary), frozenset(capitals), frozenset(starters), {phrase: frozenset(found) for phrase, found in contexts.items()}
    )


def bare(word: str) -> str:
    """Return a word without its possessive."""
    return word.removesuffix("'s")


def begins(before: str) -> bool:
    """Return True if a sentence may begin after this word."""
    return before[0] in '.!?"\n'


def _texts() -> Iterator[str]:
    """Return all variants of the templates in the source files, with their slots marked."""
    folder = Path(__file__).parent
    for pattern in _SOURCES:
        for path in sorted(folder.glob(pattern)):
            for line in _constants(ast.parse(path.read_text())):
                yield from _variants(line)
    for sentences in names.TRAITS.values():
        for line in sentences:
            yield from _variants(line)


def _constants(tree: ast.AST) -> Iterator[str]:
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.value


def _variants(line: str) -> Iterator[str]:
    try:
        nodes = parse(line)
    except (IndexError, ValueError):  # part of an f-string
        return
    return (yield from itertools.islice(_expand(nodes), _MAX_VARIANTS))


def _expand(nodes: list[Any]) -> Iterator[str]:
    if not nodes:
        yield ""
        return
    first, rest = nodes[0], nodes[1:]
    if isinstance(first, str):
        heads = [first.replace("^", "")]
    elif isinstance(first, tuple):
        heads = [SLOT]
    else:
        heads = [text for option in first for text in _expand(option)]
    tails = list(itertools.islice(_expand(rest), _MAX_VARIANTS))
    yield from (head + tail for head in heads for tail in tails)


def _tables() -> Iterator[str]:
    """Return the entries of the tables that contain no slot noun of their own."""
    for site in places.SITES:
        yield from (*site.sights, *site.sounds, *site.adjectives)
    for by_ground in places.SPOTS.values():
        for spots in by_ground.values():
            yield from spots
    yield from itertools.chain(pastimes.COLLECTED, pastimes.CALLINGS, pastimes.GAMES, pastimes.PASSERS, pastimes.SMELLS, things.FOODS)
    for seed in things.SEEDS:
        kind, bloom = seed.split(":")
        yield from (f"a {kind} seed", bloom)
    for animal in ANIMALS:
        yield from (animal.kind, animal.home, animal.food, animal.looks)
    for make in MAKES:
        yield from (make.noun, f"a {SLOT} {SLOT} {make.detail}")
    for verbs in (*world.SPEECH.values(), *world.WEATHER.values()):
        yield from verbs
    yield from (
        *LOOKS,
        *names.PLAIN_ADJECTIVES,
        *names.JOBS,
        *names.ELDERS,
        *names.TRAITS,
        "friendly passing wise old large lean kindly grey cheerful",
    )
    yield from (
        "morning afternoon day evening that same one named called she he her him his herself himself hers them it they kind busy village",
        "girl boy neighbour sister brother friend grumpy",
        "the old mine",
        "the black tunnel",
        "the deep cellar",
    )
    for prize in itertools.product(("golden", "silver", "wooden", "tin"), ("cup", "medal", "bell")):
        yield f"the {' '.join(prize)}"
