"""Short children's stories, written from a seed: the training text of the embedded model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headway.files import replacing

from .plots import PLOTS
from .world import World

MIN_WORDS, MAX_WORDS, MAX_INVENTED_WORDS = 90, 330, 260
MIN_PARAGRAPHS, MAX_PARAGRAPHS = 3, 7


def write_story(seed: int, *, invents: bool = False) -> str:
    """Return a story of 90 to 330 words, one line per paragraph. The same seed gives the same text on every machine.

    invents   give most persons and villages, and many things, invented names, and add meetings; at most 260 words
    """
    world = World(seed, invents=invents)
    max_words = MAX_INVENTED_WORDS if invents else MAX_WORDS
    while True:
        world.pick(PLOTS)(world)
        text = "\n".join(world.paragraphs)
        if MIN_WORDS <= text.count(" ") + len(world.paragraphs) <= max_words and MIN_PARAGRAPHS <= len(world.paragraphs) <= MAX_PARAGRAPHS:
            return text
        world.begin()


def write_corpus(
    path: Path | str, num_stories: int, seed: int, *, invented_share: float = 0.0, separator: str = "\n<|endoftext|>\n"
) -> None:
    """Write stories to a file, each followed by the separator. The file appears when it is complete.

    invented_share   share of the stories with invented names, spread evenly over the file

    Errors   OSError as raised by the writing; an earlier file at `path` is kept.
    """
    with replacing(Path(path)) as temporary, temporary.open("w", encoding="ascii", newline="\n") as file:
        for story in _stories(num_stories, seed, invented_share):
            file.write(story)
            file.write(separator)


def _stories(num_stories: int, seed: int, invented_share: float) -> Iterator[str]:
    """Return stories whose seeds differ from those of a neighbouring corpus seed."""
    for index in range(num_stories):
        invents = int((index + 1) * invented_share) > int(index * invented_share)
        yield write_story(seed * 1_000_003 + index, invents=True) if invents else write_story(seed * 1_000_003 + index)
