"""Views of models by name."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from headway.checkpoints import open_checkpoint, resolve_model
from headway.errors import OptionError
from headway.look.model_trace import trace_prompt
from headway.look.model_view import ModelView
from headway.look.recording_ops import Ablation
from headway.tokenizers import load_tokenizer


def view_of_prompt(model: str, prompt: str, *, ablate: Sequence[str] = (), ignored_config_keys: Collection[str] = ()) -> ModelView:
    """Return the view of a prompt's way through a model, which runs on the definitions in float32.

    model    `stories` (included), a folder, or a Hugging Face name
    ablate   parts to switch off: "3" for a layer, "3.1" for head 1 of layer 3

    Errors   ModelNotFoundError, CheckpointError, UnsupportedError, TokenizerError; PromptError for an empty prompt; OptionError for a
             part that the model lacks.
    """
    parts = [ablation(each) for each in ablate]
    path = resolve_model(model)
    checkpoint = open_checkpoint(path, ignored_config_keys=ignored_config_keys)
    return ModelView(trace_prompt(checkpoint, load_tokenizer(path), prompt, name=model, ablated=parts))


def ablation(text: str) -> Ablation:
    """Return the part that "3" or "3.1" names.

    Errors   OptionError for other text.
    """
    match = re.fullmatch(r"(\d{1,4})(?:\.(\d{1,4}))?", text)
    if match is None:
        raise OptionError(f"got a part {text!r:.40} to switch off, expected a layer such as 3, or a head such as 3.1")
    return Ablation(int(match[1]), None if match[2] is None else int(match[2]))
