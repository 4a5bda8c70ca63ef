"""Prompt lookup on an edit of the prompt and on prose: `python -m benchmarks.prompt_lookup FOLDER` prints a table in about two minutes.

FOLDER is a checkpoint in the shape of Qwen2-0.5B, as `python -m benchmarks.tasks make_qwen2 FOLDER` writes it. Random weights edit nothing,
so a logits processor forces the tokens of a given text: the passes are those of a real decoder of this size, and drafts are accepted as
often as with a model that writes this text. Nothing else should run on the machine.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import numpy

import headway
from benchmarks.engine import random_engine
from headway.engine import Engine, EngineOptions, GenerationOptions, LogitsProcessor, Request

ROUNDS = 3
STORY = """Once upon a time, there was a little girl named Lily. She lived in a green valley, not far from grazing sheep. She was always in such \
a hurry that she tripped over her own feet.
One morning, Lily heard a faint cry. It came from a tiny toad, stuck in a tangle of fishing line. "I have been here since yesterday," the toad \
said in a small voice. "Nobody stopped." "I have," said Lily. Lily pulled, but that only made things worse. So she worked slowly, bit by bit, \
until the toad was free. "I will not forget this," said the toad, and was gone.
The days passed. Then, one day, Lily climbed onto a little island to pick flowers, and the water rose. Soon she could not get back. Lily's \
eyes filled with tears. Something rustled. "Do you remember me?" asked the toad.
The toad gathered his cousins. They pushed a floating log to the island, and Lily rode it home like a queen. "Oh, thank you," said Lily. "How \
can I ever repay you?" "A smile will do," the toad said at once.
Lily never again looked down on anyone for being small. Kindness goes around in a circle, and sooner or later it comes home."""
EDITS = (
    ("Lily", "Anna"),
    ("a green valley", "a small village"),
    ("One morning", "Early one morning"),
    ("fishing line", "old string"),
    ("The days passed.", "Summer came, and the days grew long."),
    ("like a queen", "as the sun went down"),
)
"""A name that occurs eleven times, and five passages."""
PROSE = """Ben had a red kite with a long tail. His grandfather had built it from paper and thin sticks, and every Sunday they took it to the \
hill above the town. From there one could see the river, the two bridges and the roof of the school.
That day the wind was strong. The kite rose higher than ever before, until it was only a dot under the clouds. "Hold it well," his \
grandfather called. But the string was old, and with a soft snap it broke. Ben ran down the hill as fast as he could, past the mill and \
across the meadow. He looked in the trees, on the roofs and even in the fountain. At last a woman with a basket pointed to the church. There \
it hung, high up on the clock, and its tail covered the number four.
For three weeks nobody in the town knew exactly when it was four. Then a storm came in the night and carried the kite away. Ben did not cry. \
He wrote a letter to whoever would find it, and asked them to fly it on a windy day. In spring an answer arrived from a fisherman by the sea, \
with a drawing of a red kite over the waves."""


def main(folder: str) -> None:
    tokenizer = headway.load("stories").tokenizer
    engine = random_engine(Path(folder))
    edited = STORY
    for old, new in EDITS:
        edited = edited.replace(old, new)
    prompt, first = tokenizer.encode(STORY), len(tokenizer.encode("Once"))
    print("| prompt lookup, 0.5B int8 | tokens | accepted of drafted | ratio to without, each round | median |\n|---|---|---|---|---|")
    for name, text in (("an edit of the prompt", edited), ("prose that is not in the prompt", PROSE)):
        target = tokenizer.encode(text)
        engines = [Engine(engine.runner, engine.limits, options=EngineOptions(uses_prompt_lookup=uses)) for uses in (True, False)]
        ratios = []
        for _ in range(ROUNDS):
            with_lookup, without = (_seconds(each, [*prompt, *target[:first]], target[first:]) for each in engines)
            ratios.append(without / with_lookup)
        stats = engines[0].stats
        runs = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        median = statistics.median(ratios)
        print(f"| {name} | {len(target)} | {stats.num_accepted} of {stats.num_drafted} | {runs} | {median:.2f} |", flush=True)


def _seconds(engine: Engine, prompt: list[int], target: list[int]) -> float:
    """Return the seconds from the first token of a text to the last."""
    options = GenerationOptions(max_new_tokens=len(target))
    request = Request(prompt, options, make_processors=lambda: [_forcing(target, len(prompt))])
    times, tokens = [], []
    for token in engine.stream([request]):
        times.append(time.perf_counter())
        tokens.append(token.token_id)
    if tokens != target:
        raise RuntimeError("got other tokens than those that were forced")
    engine.clear_prefix_cache()
    return times[-1] - times[0]


def _forcing(target: list[int], num_prompt: int) -> LogitsProcessor:
    """Return a processor that leaves only the next token of a text."""

    def force(token_ids: numpy.ndarray, logits: numpy.ndarray) -> numpy.ndarray:
        forced = numpy.full_like(logits, -numpy.inf)
        forced[:, target[token_ids.shape[1] - num_prompt]] = 0
        return forced

    return force


if __name__ == "__main__":
    main(*sys.argv[1:])
