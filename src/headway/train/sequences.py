"""Training pairs for reversing and sorting letters, and test pairs of other lengths: python -m headway.train.sequences --out sequences.

A source consists of the task and the letters, such as "reverse lamp" and "sort lamp"; their targets are "pmal" and "almp".
"""

from __future__ import annotations

import argparse
import random
import string
from collections.abc import Iterable, Iterator
from pathlib import Path

from headway.files import write_text
from headway.train.pairs import Pair

LENGTHS = tuple(length for length in range(3, 17) if length not in (7, 12))
UNSEEN_LENGTHS = (7, 12)
TASKS = {"reverse": lambda letters: letters[::-1], "sort": lambda letters: "".join(sorted(letters))}


def write_sequences(folder: Path, *, num_train: int = 100_000, num_unseen: int = 2_000, seed: int = 0) -> None:
    """Write train.tsv, with 3 to 16 letters except 7 and 12, and unseen.tsv, with 7 and 12 letters."""
    for name, lengths, number, share in (("train", LENGTHS, num_train, 0.5), ("unseen", UNSEEN_LENGTHS, num_unseen, 0.0)):
        pairs = sequences(lengths, number, seed=f"{name} {seed}", share_of_few=share)
        write_text(folder / f"{name}.tsv", "".join(f"{source}\t{target}\n" for source, target in pairs))


def sequences(lengths: Iterable[int], number: int, *, seed: int | str, share_of_few: float = 0.0) -> Iterator[Pair]:
    """Yield pairs of random letters, with tasks and lengths drawn uniformly; the same pairs for the same seed.

    share_of_few   share of the pairs with at most 8 different letters; 0 by default. Repeated letters are what is hard about sorting
    """
    rng, lengths, tasks = random.Random(seed), tuple(lengths), tuple(TASKS)
    for _ in range(number):
        task = rng.choice(tasks)
        choices = rng.sample(string.ascii_lowercase, rng.randint(2, 8)) if rng.random() < share_of_few else string.ascii_lowercase
        letters = "".join(rng.choices(choices, k=rng.choice(lengths)))
        yield f"{task} {letters}", TASKS[task](letters)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m headway.train.sequences", description=__doc__.partition("\n\n")[0].partition(":")[0])
    parser.add_argument("--out", type=Path, default=Path("sequences"), help="the folder of train.tsv and unseen.tsv")
    parser.add_argument("--num-train", type=int, default=100_000)
    parser.add_argument("--num-unseen", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    write_sequences(given.out, num_train=given.num_train, num_unseen=given.num_unseen, seed=given.seed)
    print(f"{given.num_train:,} pairs in {given.out / 'train.tsv'}, {given.num_unseen:,} of other lengths in {given.out / 'unseen.tsv'}")


if __name__ == "__main__":
    main()
