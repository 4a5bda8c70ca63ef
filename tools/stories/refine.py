"""Training data from a model's own stories, and means of two models' weights.

    python -m tools.stories.refine sample --model stories --num 1300 --new 650 --out mixed.txt
    python -m tools.stories.refine mean first second --share 0.5 --out between

`sample` writes the stories in which the checker finds no slip, mixed with new ones of the writer: trained on them, the model slips less often.
"""

from __future__ import annotations

import argparse
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

import headway
from headway.checkpoints import resolve_model
from headway.files import replacing

from . import write_story
from .checker import find_slips

OPENING = "Once upon a time"
BATCH_SIZE = 32
NEW, OPENINGS = 1_000_000_000, 2_000_000_000
"""First seeds of the new stories, and of those whose first words are prompts; headway train uses seeds below."""


def clean_stories(model: headway.LanguageModel, seed: int, *, temperature: float, min_p: float) -> Iterator[str]:
    """Yield sampled stories that end by themselves and have no slip. A quarter begin with OPENING, the others with words of new stories."""
    rng = random.Random(seed)
    for first in range(0, NEW, BATCH_SIZE):
        prompts = []
        for number in range(BATCH_SIZE):
            words = write_story(OPENINGS + seed * NEW + first + number, invents=rng.random() < 0.5).split(" ")
            prompts.append(OPENING if rng.random() < 0.25 else " ".join(words[: rng.randint(2, 9)]))
        completions = model.generate(prompts, seed=seed * NEW + first, temperature=temperature, min_p=min_p)
        for prompt, completion in zip(prompts, completions, strict=True):
            story = prompt + completion.text
            if completion.finish_reason == "stop" and not find_slips(story):
                yield story.strip()


def sample(arguments: argparse.Namespace) -> None:
    """Write a corpus of clean stories and new ones, in random order."""
    with headway.load(arguments.model) as model:
        found = clean_stories(model, arguments.seed, temperature=arguments.temperature, min_p=arguments.min_p)
        stories = [next(found) for _ in range(arguments.num)]
    stories += [write_story(NEW + arguments.seed * NEW + number, invents=number % 5 < 2).strip() for number in range(arguments.new)]
    random.Random(arguments.seed).shuffle(stories)
    with replacing(arguments.out) as path:
        path.write_text("".join(f"{story}\n<|endoftext|>\n" for story in stories), encoding="utf-8")


def mean(arguments: argparse.Namespace) -> None:
    """Write a folder with the weights (1 - share) · first + share · second, and the other files of the first."""
    first, second = (resolve_model(each) for each in (arguments.first, arguments.second))
    ours, theirs = (load_file(each / "model.safetensors") for each in (first, second))
    weights = {
        name: ((1 - arguments.share) * weight.to(torch.float64) + arguments.share * theirs[name].to(torch.float64)).to(weight.dtype)
        for name, weight in ours.items()
    }
    arguments.out.mkdir()
    for each in first.iterdir():
        if each.name != "model.safetensors" and each.is_file():
            shutil.copy(each, arguments.out)
    save_file(weights, arguments.out / "model.safetensors", metadata={"format": "pt"})


def main() -> None:
    """Run the chosen command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True)
    sampling = commands.add_parser("sample")
    sampling.set_defaults(run=sample)
    sampling.add_argument("--model", default="stories", help="folder of the model")
    sampling.add_argument("--num", type=int, default=1000, help="number of clean stories")
    sampling.add_argument("--new", type=int, default=500, help="number of new stories")
    sampling.add_argument("--temperature", type=float, default=1.0)
    sampling.add_argument("--min-p", type=float, default=0.05)
    sampling.add_argument("--seed", type=int, default=0)
    sampling.add_argument("--out", type=Path, required=True, help="text file")
    averaging = commands.add_parser("mean")
    averaging.set_defaults(run=mean)
    averaging.add_argument("first", help="folder of a model")
    averaging.add_argument("second", help="folder of a model with the same shapes")
    averaging.add_argument("--share", type=float, default=0.5, help="share of the second")
    averaging.add_argument("--out", type=Path, required=True, help="folder, which must not exist")
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
