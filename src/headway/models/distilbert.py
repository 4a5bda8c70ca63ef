"""DistilBERT: BERT with half of its layers, without token types and pooler.

Source   Sanh et al. 2019; the keys and tensor names are those of Hugging Face's DistilBertModel, DistilBertForMaskedLM and
         DistilBertForSequenceClassification
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headway.models import encoder
from headway.models.encoder_config import ACTIVATIONS, EncoderConfig, with_num_labels
from headway.models.encoder_names import EncoderNames, HeadNames, stored_encoder
from headway.models.encoder_spec import ClassifierSpec, EncoderSpec, HeadSpec
from headway.models.stored import Stored

KIND = "encoder"
PREFIX = "distilbert."
IGNORED_TENSORS = r"embeddings\.position_ids"
# Sinusoidal position embeddings are stored like learned ones.
WITHOUT_EFFECT = (
    "attention_dropout",
    "dropout",
    "output_past",
    "qa_dropout",
    "seq_classif_dropout",
    "sinusoidal_pos_embds",
    "tie_weights_",
)
OTHER_KEYS = {
    "dim": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "hidden_dim": "intermediate_size",
    "activation": "hidden_act",
}
"""Names of keys that other encoders have too, and the names that they have there."""
NAMES = EncoderNames(
    f"{PREFIX}embeddings.word_embeddings",
    f"{PREFIX}transformer.layer.{{}}",
    {
        "attention.query": "attention.q_lin",
        "attention.key": "attention.k_lin",
        "attention.value": "attention.v_lin",
        "attention.output": "attention.out_lin",
        "attention_sum_norm": "sa_layer_norm",
        "feed_forward.up": "ffn.lin1",
        "feed_forward.down": "ffn.lin2",
        "feed_forward_sum_norm": "output_layer_norm",
    },
    f"{PREFIX}embeddings.LayerNorm",
    HeadNames(
        masked_dense="vocab_transform",
        masked_norm="vocab_layer_norm",
        masked_output="vocab_projector",
        head_bias=("vocab_projector.bias",),
        classifier_output="classifier",
        classifier_dense="pre_classifier",
    ),
    position_embedding=f"{PREFIX}embeddings.position_embeddings",
)
Weights = encoder.Weights


@dataclass(frozen=True, kw_only=True)
class Config(EncoderConfig):
    """The keys of config.json that affect the result, with the names of BERT's."""


def config_keys(keys: Mapping[str, object]) -> Mapping[str, object]:
    """Return the keys of config.json with the names of BERT's."""
    return with_num_labels({OTHER_KEYS.get(name, name): value for name, value in keys.items()})


def saved_keys(keys: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a Config as config.json names them."""
    stored = {name: key for key, name in OTHER_KEYS.items()}
    return {stored.get(name, name): value for name, value in keys.items()}


def spec(config: Config) -> EncoderSpec:
    """Return the description of the encoder."""
    return EncoderSpec(
        config.vocab_size,
        config.hidden_size,
        (config.layer,) * config.num_hidden_layers,
        config.norm,
        masked_token_head=HeadSpec(ACTIVATIONS[config.hidden_act], config.norm),
        classifier=ClassifierSpec(config.num_labels, HeadSpec("relu")),
        num_positions=config.max_position_embeddings,
    )


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_encoder(spec(config), NAMES, is_tied=config.tie_word_embeddings)


encode, pooled, masked_token_logits, class_logits = encoder.encoder_functions(spec)
