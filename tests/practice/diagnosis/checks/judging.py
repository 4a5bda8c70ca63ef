"""The verdict on a text with one function or class."""

from __future__ import annotations

from headway.practice.diagnosis.files import load_module, with_exercises
from headway.practice.diagnosis.nested import verdicts


def verdict_on(folder, text):
    """Return the verdict on the only part of a text, written to a file in a folder."""
    path = folder / "learner.py"
    path.write_text(text)
    (verdict,) = verdicts(list(with_exercises(load_module(path, text), text)))
    return verdict
