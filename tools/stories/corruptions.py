"""Stories with one corrupted mention, to measure what the checker finds.

python -m tools.stories.corruptions --num 2000
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator

from . import MAX_INVENTED_WORDS, MAX_PARAGRAPHS, MAX_WORDS, MIN_PARAGRAPHS, MIN_WORDS, invented, names, write_story
from .checker import find_slips
from .lexicon import KINDS, SITES, THINGS
from .plots import PLOTS
from .world import Person, Place, Thing, World


def told_world(seed: int, *, invents: bool) -> tuple[str, World]:
    """Return the text of write_story and its world."""
    world = World(seed, invents=invents)
    max_words = MAX_INVENTED_WORDS if invents else MAX_WORDS
    while True:
        world.pick(PLOTS)(world)
        text = "\n".join(world.paragraphs)
        num_words = text.count(" ") + len(world.paragraphs)
        if MIN_WORDS <= num_words <= max_words and MIN_PARAGRAPHS <= len(world.paragraphs) <= MAX_PARAGRAPHS:
            assert text == write_story(seed, invents=invents)
            return text, world
        world.begin()


def corruptions(seed: int, *, invents: bool) -> Iterator[tuple[str, str]]:
    """Return (sort of corruption, corrupted text) for each entity of a story with at least two mentions."""
    text, world = told_world(seed, invents=invents)
    rng = random.Random(f"corruption {seed}")
    persons = [entry for entry in dict.fromkeys(world.cast.values()) if isinstance(entry, Person)]
    for entry in [entry for entry in dict.fromkeys(world.cast.values()) if isinstance(entry, Person | Thing | Place)]:
        if isinstance(entry, Person) and entry.name:
            yield from _swapped(rng, "neighbour" if "." in entry.name else "name", text, entry.name, _other_name(rng, entry, text))
        elif isinstance(entry, Person) and entry.animal and sum(entry.kind == person.kind for person in persons) == 1:
            others = sorted(kind for kind in KINDS if kind not in text)
            yield from _swapped(rng, "animal", text, entry.kind, rng.choice(others), before="the ")
        elif isinstance(entry, Thing):
            others = sorted(noun for noun in THINGS if noun not in text)
            other = invented.thing(rng.random) if invents and rng.random() < 0.5 else rng.choice(others)
            yield from _swapped(rng, "thing", text, entry.make.noun, other, before="(?:the|my|your|no) ")
        elif isinstance(entry, Place):
            others = sorted(noun for noun in SITES if noun not in text)
            yield from _swapped(rng, "place", text, entry.site.noun, rng.choice(others), before="the ")


def _other_name(rng: random.Random, person: Person, text: str) -> str:
    """Return a name of the same sort that is not in the text."""
    while True:
        if "." in person.name:
            title = person.name.split()[0]
            name = f"{title} {invented.surname(rng.random) if rng.random() < 0.5 else rng.choice(names.SURNAMES)}"
        elif rng.random() < 0.5:
            name = (invented.girl if person.gender == "f" else invented.boy)(rng.random)
        elif person.animal:
            name = rng.choice(names.ANIMAL_GIRLS if person.gender == "f" else names.ANIMAL_BOYS)
        else:
            name = rng.choice(names.GIRLS if person.gender == "f" else names.BOYS)
        if name.split()[-1] not in text:
            return name


def _swapped(rng: random.Random, what: str, text: str, old: str, new: str, *, before: str = "") -> Iterator[tuple[str, str]]:
    """Swap one of at least two mentions at random."""
    if len(re.findall(rf"\b{re.escape(old)}\b", text)) < 2:
        return
    mentions = list(
        re.finditer(rf"(?i:\b{before})(?:[a-z]+ )?\b(?P<noun>{re.escape(old)})\b" if before else rf"\b(?P<noun>{re.escape(old)})\b", text)
    )
    if mentions:
        start, end = rng.choice(mentions).span("noun")
        yield what, text[:start] + new + text[end:]


def main() -> None:
    """Print for each sort of corruption how many of them are reported."""
    parser = argparse.ArgumentParser(prog="python -m tools.stories.corruptions", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--num", type=int, default=2000, help="stories, half of them with invented names")
    parser.add_argument("--show", type=int, default=0, help="missed corruptions to print")
    given = parser.parse_args()
    num_clean, made, found = 0, Counter[str](), Counter[str]()
    for index in range(given.num):
        seed, invents = 10**9 + index, index % 2 == 1
        num_clean += not find_slips(write_story(seed, invents=invents))
        for what, text in corruptions(seed, invents=invents):
            made[what] += 1
            if find_slips(text):
                found[what] += 1
            elif made.total() - found.total() <= given.show:
                print(what, text, sep="\n")
    print(f"without slips: {num_clean:,} of {given.num:,} stories")
    for what in sorted(made):
        print(f"{what}: {found[what]:,} of {made[what]:,} corruptions reported ({found[what] / made[what]:.1%})")
    print(f"all: {found.total():,} of {made.total():,} ({found.total() / made.total():.1%})")


if __name__ == "__main__":
    main()
