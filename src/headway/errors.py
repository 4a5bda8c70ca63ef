"""Everything Headway raises on purpose.

    HeadwayError
    ├── ShapeError           array shapes that do not fit together          (also a ValueError)
    ├── DtypeError           an array of a kind that means something else   (also a TypeError)
    ├── OptionError          an option out of its range, or unknown         (also a ValueError)
    ├── TokenIdError         a token id that the vocabulary does not have   (also an IndexError)
    ├── PromptError          a prompt that is empty or does not fit         (also a ValueError)
    ├── DivergenceError      an iteration that left the finite numbers      (also an ArithmeticError)
    ├── NotFiniteError       a model whose numbers are NaN                  (also an ArithmeticError)
    ├── ResourceError        not enough memory for what was asked           (also a MemoryError)
    ├── ModelNotFoundError   no such folder, file or hub repository         (also a FileNotFoundError)
    ├── CheckpointError      a checkpoint that is broken or incomplete      (also a ValueError)
    │   └── UnsupportedError a sound checkpoint of something not built here
    ├── TokenizerError       tokenizer files that are broken or incomplete  (also a ValueError)
    └── TrainingError        a corpus or a run that cannot be trained       (also a RuntimeError)

A message says what came, what was expected, and what to do.
"""


class HeadwayError(Exception):
    """Base of all errors that Headway raises on purpose."""


class ShapeError(HeadwayError, ValueError):
    """Array shapes that do not fit together."""


class DtypeError(HeadwayError, TypeError):
    """An array whose dtype means something else than the argument asks for."""


class OptionError(HeadwayError, ValueError):
    """An option out of its range, or unknown."""


class TokenIdError(HeadwayError, IndexError):
    """A token id that the vocabulary does not have."""


class PromptError(HeadwayError, ValueError):
    """A prompt that is empty, or that does not fit into the model's context."""


class DivergenceError(HeadwayError, ArithmeticError):
    """An iteration that left the finite numbers."""


class NotFiniteError(HeadwayError, ArithmeticError):
    """A model whose numbers are NaN."""


class ResourceError(HeadwayError, MemoryError):
    """Not enough memory for what was asked."""


class ModelNotFoundError(HeadwayError, FileNotFoundError):
    """No such folder, file or hub repository."""


class CheckpointError(HeadwayError, ValueError):
    """A checkpoint that is broken or incomplete."""


class UnsupportedError(CheckpointError):
    """A sound checkpoint of an architecture, or with a config key, that is not built here."""


class TokenizerError(HeadwayError, ValueError):
    """Tokenizer files that are broken or incomplete."""


class TrainingError(HeadwayError, RuntimeError):
    """A corpus or a training run that cannot go on."""
