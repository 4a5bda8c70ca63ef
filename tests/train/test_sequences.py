"""Generated pairs for reversing and sorting."""

from __future__ import annotations

import subprocess
import sys

from headway.train.pairs import read_pairs
from headway.train.sequences import LENGTHS, UNSEEN_LENGTHS, sequences


def test_targets_are_what_python_makes_of_the_letters():
    pairs = list(sequences(LENGTHS, 500, seed=1))
    for source, target in pairs:
        task, letters = source.split(" ")
        assert target == ("".join(reversed(letters)) if task == "reverse" else "".join(sorted(letters)))
    assert {source.split(" ")[0] for source, _ in pairs} == {"reverse", "sort"}


def test_few_letters_stand_several_times():
    def repeated(share: float) -> float:
        targets = [target for _, target in sequences([16], 300, seed=1, share_of_few=share)]
        return sum(len(set(target)) <= 8 for target in targets) / len(targets)

    assert repeated(0.0) < 0.1
    assert repeated(1.0) == 1


def test_the_command_writes_the_same_files_for_the_same_seed_and_unseen_lengths_are_not_among_the_others(tmp_path):
    for name in ("a", "b"):
        command = [
            sys.executable,
            "-m",
            "headway.train.sequences",
            "--out",
            str(tmp_path / name),
            "--num-train",
            "900",
            "--num-unseen",
            "90",
        ]
        result = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert result.returncode == 0, result.stderr
    for name in ("train.tsv", "unseen.tsv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    train, unseen = (read_pairs(tmp_path / "a" / f"{name}.tsv") for name in ("train", "unseen"))
    assert (len(train), len(unseen)) == (900, 90)
    assert {len(target) for _, target in train} == set(LENGTHS)
    assert {len(target) for _, target in unseen} == set(UNSEEN_LENGTHS)
    assert not set(LENGTHS) & set(UNSEEN_LENGTHS)
