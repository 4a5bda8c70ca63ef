"""RoBERTa and XLM-RoBERTa: BERT with positions that start after the padding token's, and heads of their own.

Source   Liu et al. 2019; Conneau et al. 2020; the keys and tensor names are those of Hugging Face's RobertaModel, RobertaForMaskedLM
         and RobertaForSequenceClassification
"""

from __future__ import annotations

from dataclasses import dataclass

from headway.errors import CheckpointError
from headway.models import encoder, encoder_config
from headway.models.config import expect_positive
from headway.models.encoder_config import EncoderConfig, with_num_labels
from headway.models.encoder_names import HeadNames, bert_names, stored_encoder
from headway.models.encoder_spec import ClassifierSpec, EncoderSpec, HeadSpec
from headway.models.stored import Stored

KIND = "encoder"
PREFIX = "roberta."
# Buffers of constants, and a bias that is unused if lm_head.decoder has one.
IGNORED_TENSORS = r"embeddings\.(position|token_type)_ids|lm_head\.bias"
WITHOUT_EFFECT = encoder_config.WITHOUT_EFFECT
HEADS = HeadNames(
    masked_dense="lm_head.dense",
    masked_norm="lm_head.layer_norm",
    masked_output="lm_head.decoder",
    head_bias=("lm_head.decoder.bias", "lm_head.bias"),
    classifier_output="classifier.out_proj",
    classifier_dense="classifier.dense",
    pooler=f"{PREFIX}pooler.dense",
)
NAMES = bert_names(PREFIX, HEADS)
Weights = encoder.Weights
config_keys = with_num_labels


@dataclass(frozen=True, kw_only=True)
class Config(EncoderConfig):
    """The keys of config.json that affect the result."""

    model_type: str = "roberta"
    type_vocab_size: int = 2
    pad_token_id: int = 1  # -1 if the position embedding starts with the row of the first token

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(self, "type_vocab_size")
        if not -1 <= self.pad_token_id < self.max_position_embeddings - 1:
            raise CheckpointError(
                f"got config.json with pad_token_id={self.pad_token_id} and max_position_embeddings={self.max_position_embeddings}, "
                "expected a position after the padding token's"
            )

    @property
    def max_seq_len(self) -> int:
        """Longest sequence: the rows of the position embedding after that of padding."""
        return self.max_position_embeddings - self.pad_token_id - 1


def spec(config: Config) -> EncoderSpec:
    """Return the description of the encoder."""
    return EncoderSpec(
        config.vocab_size,
        config.hidden_size,
        (config.layer,) * config.num_hidden_layers,
        config.norm,
        masked_token_head=HeadSpec("gelu", config.norm),
        classifier=ClassifierSpec(config.num_labels, HeadSpec("tanh")),
        num_positions=config.max_position_embeddings,
        first_position=config.pad_token_id + 1,
        num_token_types=config.type_vocab_size,
    )


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_encoder(spec(config), NAMES, is_tied=config.tie_word_embeddings)


encode, pooled, masked_token_logits, class_logits = encoder.encoder_functions(spec)
