"""One architecture per file, named by its model_type: its config, its weights, its forward, its checkpoint names.

Every file defines the same few names, and nothing else reaches into an architecture:

    KIND                           "decoder", "encoder" or "encoder-decoder"
    Config                         the keys of config.json that change the result
    Weights                        the tree of arrays that forward walks
    stored_weights(config)         where each leaf of the tree lies in a checkpoint

A decoder, which continues a text, adds

    new_kv_cache(config, …)        an empty cache, one entry per layer
    hidden_states(token_ids, …)    token ids to the vectors below the output head
    logits(hidden, …)              those vectors to a score for every token
    forward(token_ids, …)          both

an encoder, which reads a text as a whole,

    encode(token_ids, …)           token ids to one vector each
    masked_token_logits(hidden, …) those vectors to a score for every token, where the checkpoint has the head

and an encoder–decoder, which reads one text and writes another, all of the decoder's, and

    encode(token_ids, …)           as above, of the source
    read(token_ids, …)             the source as the decoder's layers attend to it: a Source, passed to hidden_states
"""

from importlib import import_module
from types import ModuleType

from headway.errors import UnsupportedError

ARCHITECTURES = {
    "gpt2": "gpt2",
    "llama": "llama",
    "mistral": "llama",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "t5": "t5",
    "mt5": "t5",
    "marian": "marian",
    "bert": "bert",
}
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
