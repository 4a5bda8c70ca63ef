"""Models that prompts are traced through, by name or already loaded."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy

from headway.arrays import dtype_name, is_floating, to_numpy
from headway.checkpoints import Checkpoint, open_checkpoint, resolve_model
from headway.errors import OptionError
from headway.look.model_trace import ModelTrace, trace_prompt
from headway.look.model_view import ModelView
from headway.look.recording_ops import Ablation
from headway.memory_check import check_memory
from headway.tokenizers import Tokenizer, load_tokenizer
from headway.trees import leaves, map_tree

if TYPE_CHECKING:
    from headway.language_model import LanguageModel


@dataclass(frozen=True)
class TracedModel:
    """A model whose weights are float32 NumPy arrays, with its tokenizer."""

    name: str
    checkpoint: Checkpoint
    tokenizer: Tokenizer

    def trace(self, prompt: str | Sequence[int], *, ablate: Sequence[str] = (), target: Sequence[int] | None = None) -> ModelTrace:
        """Return a prompt's way through the model.

        prompt   text, or token ids
        ablate   parts to switch off: "3" for a layer, "3.1" for head 1 of layer 3
        target   tokens of the decoder of an encoder–decoder after its start token; by default its greedy answer

        Errors   PromptError for an empty prompt or one that is too long; OptionError for a part that the model lacks;
                 TokenIdError for an id outside the vocabulary.
        """
        parts = [ablation(each) for each in ablate]
        return trace_prompt(self.checkpoint, self.tokenizer, prompt, name=self.name, ablated=parts, target=target)

    def view(self, prompt: str, *, compare: str | None = None, ablate: Sequence[str] = ()) -> ModelView:
        """Return the view of a prompt's way through the model, or of two next to each other.

        compare   a second prompt, through the whole model: the same prompt with `ablate` shows what those parts do

        Errors   as trace.
        """
        return ModelView(self.trace(prompt, ablate=ablate), None if compare is None else self.trace(compare))


def open_model(model: str, *, ignored_config_keys: Collection[str] = ()) -> TracedModel:
    """Return a model by name.

    model    `stories` (included), a folder, or a Hugging Face name

    Errors   ModelNotFoundError, CheckpointError, UnsupportedError, TokenizerError.
    """
    path = resolve_model(model)
    return TracedModel(model, open_checkpoint(path, ignored_config_keys=ignored_config_keys), load_tokenizer(path))


def traced_model(model: LanguageModel, name: str = "") -> TracedModel:
    """Return a model that is already loaded. Weights of another library or dtype are copied.

    Errors   OptionError for a model that was closed; ResourceError if the copy does not fit in memory.
    """
    checkpoint = model.checkpoint
    sizes = {id(array): math.prod(array.shape) * 4 for _, array in leaves(checkpoint.weights) if dtype_name(array.dtype) != "float32"}
    check_memory(sum(sizes.values()), "the weights in float32")
    copies: dict[int, numpy.ndarray] = {}  # tied weights stay one array

    def as_float32(array: object) -> numpy.ndarray:
        if id(array) not in copies:
            own = to_numpy(array)
            copies[id(array)] = own.astype(numpy.float32, copy=False) if is_floating(own) else own
        return copies[id(array)]

    own_name = name or checkpoint.architecture.__name__.rpartition(".")[2]
    return TracedModel(own_name, replace(checkpoint, weights=map_tree(as_float32, checkpoint.weights)), model.tokenizer)


def ablation(text: str) -> Ablation:
    """Return the part that "3" or "3.1" names.

    Errors   OptionError for other text.
    """
    match = re.fullmatch(r"(\d{1,4})(?:\.(\d{1,4}))?", text)
    if match is None:
        raise OptionError(f"got a part {text!r:.40} to switch off, expected a layer such as 3, or a head such as 3.1")
    return Ablation(int(match[1]), None if match[2] is None else int(match[2]))
