"""The verdict on a text with one function or class that is a part, or with several of which one is chosen."""

from __future__ import annotations

from headway.practice.diagnosis.files import load_module, with_exercises
from headway.practice.diagnosis.nested import verdicts


def verdict_on(folder, text, name=None):
    """Return the verdict on the only part of a text, or on that of a name, written to a file in a folder."""
    path = folder / "learner.py"
    path.write_text(text)
    judged = verdicts(list(with_exercises(load_module(path, text), text)))
    (verdict,) = [each for each in judged if name in (None, each.subject)]
    return verdict
