"""BERT: bidirectional attention, post-norm, learned positions and token types.

Source   Devlin et al. 2019; the keys and tensor names are those of Hugging Face's BertModel, BertForMaskedLM and
         BertForSequenceClassification
"""

from __future__ import annotations

from dataclasses import dataclass

from headway.models import encoder, encoder_config
from headway.models.config import expect_positive
from headway.models.encoder_config import ACTIVATIONS, EncoderConfig, with_num_labels
from headway.models.encoder_names import HeadNames, bert_names, stored_encoder
from headway.models.encoder_spec import ClassifierSpec, EncoderSpec, HeadSpec
from headway.models.stored import Stored

KIND = "encoder"
PREFIX = "bert."
# Buffers of constants, the next-sentence head, and a bias that is unused if cls.predictions.decoder has one.
IGNORED_TENSORS = r"embeddings\.(position|token_type)_ids|cls\.seq_relationship\.(weight|bias)|cls\.predictions\.bias"
WITHOUT_EFFECT = (
    *encoder_config.WITHOUT_EFFECT,
    "directionality",
    *(f"pooler_{key}" for key in ["fc_size", "num_attention_heads", "num_fc_layers", "size_per_head", "type"]),
)
NAMES = bert_names(
    PREFIX,
    HeadNames(
        masked_dense="cls.predictions.transform.dense",
        masked_norm="cls.predictions.transform.LayerNorm",
        masked_output="cls.predictions.decoder",
        head_bias=("cls.predictions.decoder.bias", "cls.predictions.bias"),
        classifier_output="classifier",
        pooler=f"{PREFIX}pooler.dense",
    ),
)
Weights = encoder.Weights
config_keys = with_num_labels


@dataclass(frozen=True, kw_only=True)
class Config(EncoderConfig):
    """The keys of config.json that affect the result."""

    type_vocab_size: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(self, "type_vocab_size")


def spec(config: Config) -> EncoderSpec:
    """Return the description of the encoder."""
    return EncoderSpec(
        config.vocab_size,
        config.hidden_size,
        (config.layer,) * config.num_hidden_layers,
        config.norm,
        masked_token_head=HeadSpec(ACTIVATIONS[config.hidden_act], config.norm),
        classifier=ClassifierSpec(config.num_labels, hidden=None),
        num_positions=config.max_position_embeddings,
        num_token_types=config.type_vocab_size,
    )


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_encoder(spec(config), NAMES, is_tied=config.tie_word_embeddings)


encode, pooled, masked_token_logits, class_logits = encoder.encoder_functions(spec)
