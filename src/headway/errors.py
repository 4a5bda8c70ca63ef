"""The exceptions that Headway raises.

    HeadwayError
    ├── ShapeError           array shapes that do not fit together          (also a ValueError)
    ├── DtypeError           an array of an unsuitable dtype or library     (also a TypeError)
    ├── OptionError          an option out of its range, or unknown         (also a ValueError)
    ├── TokenIdError         a token id outside the vocabulary              (also an IndexError)
    ├── PromptError          a prompt that is empty or too long             (also a ValueError)
    ├── DivergenceError      an iteration that diverged                     (also an ArithmeticError)
    ├── NotFiniteError       NaN or infinity in weights or logits           (also an ArithmeticError)
    ├── ResourceError        not enough memory or disk space                (also a MemoryError)
    ├── OverloadedError      too many requests wait
    ├── DeadlineError        a request that did not end in time             (also a TimeoutError)
    ├── ModelNotFoundError   no such folder, file or hub repository         (also a FileNotFoundError)
    ├── CheckpointError      a broken or incomplete checkpoint              (also a ValueError)
    │   └── UnsupportedError a valid checkpoint of something not supported
    ├── TokenizerError       broken or incomplete tokenizer files           (also a ValueError)
    └── TrainingError        a corpus or a run that cannot be trained       (also a RuntimeError)

A message reads `got X, expected Y`. The attribute `hint` says what to do; tracebacks show it as a note.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


class HeadwayError(Exception):
    """Base class of all Headway exceptions.

    message  one sentence, `got X, expected Y`
    hint     what to do about it, or None; also added as a note, so tracebacks show it
    """

    def __init__(self, message: str = "", *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")


class ShapeError(HeadwayError, ValueError):
    """Array shapes that do not fit together."""


class DtypeError(HeadwayError, TypeError):
    """An array of an unsuitable dtype or library."""


class OptionError(HeadwayError, ValueError):
    """An option out of its range, or unknown."""


class TokenIdError(HeadwayError, IndexError):
    """A token id outside the vocabulary."""


class PromptError(HeadwayError, ValueError):
    """A prompt that is empty, or too long for the model's context."""


class DivergenceError(HeadwayError, ArithmeticError):
    """An iteration that diverged."""


class NotFiniteError(HeadwayError, ArithmeticError):
    """NaN or infinity in weights or logits."""


class ResourceError(HeadwayError, MemoryError):
    """Not enough memory or disk space."""


class OverloadedError(HeadwayError):
    """More requests than may wait."""


class DeadlineError(HeadwayError, TimeoutError):
    """A request that did not end within its time."""


class ModelNotFoundError(HeadwayError, FileNotFoundError):
    """No such folder, file or hub repository."""


class CheckpointError(HeadwayError, ValueError):
    """A broken or incomplete checkpoint."""


class UnsupportedError(CheckpointError):
    """A valid checkpoint with an architecture or a config key that is not supported."""


class TokenizerError(HeadwayError, ValueError):
    """Broken or incomplete tokenizer files."""


class TrainingError(HeadwayError, RuntimeError):
    """A corpus or a training run that cannot continue."""


def quantity(number: int, noun: str) -> str:
    """Return a number of things in words, such as "1 line" or "2,000 lines"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def expect_adapter(name: str | None, adapters: Collection[str]) -> None:
    """Raise OptionError for a name that is not one of the adapters; None is the model itself."""
    if name is not None and name not in adapters:
        names = ", ".join(sorted(adapters)) or "none"
        raise OptionError(f"got adapter={name!r:.200}, expected one of those that are loaded: {names}")
