"""One architecture per file, named by its model_type: its config, its weights, its forward, its checkpoint names.

Every file defines the same few names, and nothing else reaches into an architecture:

    Config                         the keys of config.json that change the result
    Weights                        the tree of arrays that forward walks
    stored_weights(config)         where each leaf of the tree lies in a checkpoint
    new_kv_cache(config, …)        an empty cache, one entry per layer
    hidden_states(token_ids, …)    token ids to the vectors below the output head
    logits(hidden_states, …)       those vectors to a score for every token
    forward(token_ids, …)          both
"""

from importlib import import_module
from types import ModuleType

from headway.errors import UnsupportedError

ARCHITECTURES = {"gpt2": "gpt2", "llama": "llama", "mistral": "llama", "qwen2": "qwen2", "qwen3": "qwen3"}
"""config.json's model_type, and the file here that is its architecture."""


def architecture(model_type: str) -> ModuleType:
    """The architecture of a model_type.

    Errors   UnsupportedError for a model_type that is not built here.
    """
    if model_type not in ARCHITECTURES:
        raise UnsupportedError(
            f"came: model_type {model_type!r}; expected one of {', '.join(ARCHITECTURES)}; this architecture is not built here"
        )
    return import_module(f"headway.models.{ARCHITECTURES[model_type]}")
