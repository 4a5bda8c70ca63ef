"""Short children's stories, written from a seed: the text that the embedded model is trained on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headway.files import replacing
from headway.train.stories.plots import PLOTS
from headway.train.stories.world import World

MIN_WORDS, MAX_WORDS = 90, 330
MIN_PARAGRAPHS, MAX_PARAGRAPHS = 3, 7


def write_story(seed: int) -> str:
    """One story of 90 to 330 words, in paragraphs of one line each: the same for the same seed everywhere."""
    world = World(seed)
    while True:
        world.pick(PLOTS)(world)
        text = "\n".join(world.paragraphs)
        if MIN_WORDS <= text.count(" ") + len(world.paragraphs) <= MAX_WORDS and MIN_PARAGRAPHS <= len(world.paragraphs) <= MAX_PARAGRAPHS:
            return text
        world.begin()


def write_corpus(path: Path | str, num_stories: int, seed: int, *, separator: str = "\n<|endoftext|>\n") -> None:
    """Write so many stories to a file, each followed by the separator; the file appears when it is whole.

    Errors   OSError as the writing raises it; what stood at `path` still stands.
    """
    with replacing(Path(path)) as temporary, temporary.open("w", encoding="ascii", newline="\n") as file:
        for story in _stories(num_stories, seed):
            file.write(story)
            file.write(separator)


def _stories(num_stories: int, seed: int) -> Iterator[str]:
    """Stories whose seeds do not meet those of a neighbouring corpus seed."""
    return (write_story(seed * 1_000_003 + index) for index in range(num_stories))
