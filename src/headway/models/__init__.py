"""One architecture per file, named by its model_type: its config, its weights, its forward pass, its tensor names.

Every module here that is an architecture defines the names below; `protocol.py` has their types.

    KIND                           "decoder", "encoder" or "encoder-decoder"
    PREFIX, IGNORED_TENSORS        the prefix of tensor names that some checkpoints omit; a pattern of unused tensors
    WITHOUT_EFFECT                 keys of config.json that do not affect the result
    Config                         the keys of config.json that do
    Weights                        the tree of arrays
    stored_weights(config)         the place of each leaf of the tree in a checkpoint

A decoder, which continues a text, adds

    new_kv_cache(config, …)        an empty KV cache, one entry per layer
    hidden_states(token_ids, …)    token ids to hidden states
    logits(hidden, …)              hidden states to logits
    forward(token_ids, …)          both
    spec(config)                   the parts of its layers as data, which decoder.py interprets

an encoder, which reads a whole text,

    encode(token_ids, …)           token ids to one vector each
    masked_token_logits(hidden, …) those vectors to logits of tokens, if the checkpoint has the head
    class_logits(hidden, …)        those vectors to logits of classes, if the checkpoint has the head
    spec(config)                   the parts of its layers as data, which encoder.py interprets

and an encoder–decoder, which reads one text and writes another, all of the decoder's, with an EncoderDecoderSpec, and

    encode(token_ids, …)           as above, of the source
    read(token_ids, …)             the keys and values of the cross-attention, as a Source to pass to hidden_states
"""

from dataclasses import dataclass
from importlib import import_module
from typing import cast

from headway.errors import UnsupportedError
from headway.json_files import short_repr
from headway.models.protocol import Architecture


@dataclass(frozen=True)
class Registered:
    """A model_type of config.json: the module of its architecture, and the class of transformers that a saved config.json names."""

    module: str
    saved_as: str


ARCHITECTURES = {
    "gpt2": Registered("gpt2", "GPT2LMHeadModel"),
    "llama": Registered("llama", "LlamaForCausalLM"),
    "mistral": Registered("llama", "MistralForCausalLM"),
    "qwen2": Registered("qwen2", "Qwen2ForCausalLM"),
    "qwen3": Registered("qwen3", "Qwen3ForCausalLM"),
    "gemma": Registered("gemma", "GemmaForCausalLM"),
    "gemma2": Registered("gemma2", "Gemma2ForCausalLM"),
    "gemma3_text": Registered("gemma3_text", "Gemma3ForCausalLM"),
    "gemma3": Registered("gemma3_text", "Gemma3ForConditionalGeneration"),
    "phi3": Registered("phi3", "Phi3ForCausalLM"),
    "smollm3": Registered("smollm3", "SmolLM3ForCausalLM"),
    "granite": Registered("granite", "GraniteForCausalLM"),
    "olmo2": Registered("olmo2", "Olmo2ForCausalLM"),
    "olmo3": Registered("olmo3", "Olmo3ForCausalLM"),
    "olmoe": Registered("olmoe", "OlmoeForCausalLM"),
    "mixtral": Registered("mixtral", "MixtralForCausalLM"),
    "qwen3_moe": Registered("qwen3_moe", "Qwen3MoeForCausalLM"),
    "gpt_oss": Registered("gpt_oss", "GptOssForCausalLM"),
    "t5": Registered("t5", "T5ForConditionalGeneration"),
    "mt5": Registered("t5", "MT5ForConditionalGeneration"),
    "marian": Registered("marian", "MarianMTModel"),
    "bert": Registered("bert", "BertModel"),
    "roberta": Registered("roberta", "RobertaModel"),
    "xlm-roberta": Registered("roberta", "XLMRobertaModel"),
    "camembert": Registered("roberta", "CamembertModel"),
    "mpnet": Registered("mpnet", "MPNetModel"),
    "distilbert": Registered("distilbert", "DistilBertModel"),
    "modernbert": Registered("modernbert", "ModernBertModel"),
}
"""Architectures by the model_type of config.json."""


def architecture(model_type: str) -> Architecture:
    """Return the architecture of a model_type.

    Errors   UnsupportedError for a model_type that is not supported.
    """
    if model_type not in ARCHITECTURES:
        raise UnsupportedError(f"got model_type {short_repr(model_type)}, expected one of {', '.join(ARCHITECTURES)}")
    return cast(Architecture, import_module(f"headway.models.{ARCHITECTURES[model_type].module}"))
