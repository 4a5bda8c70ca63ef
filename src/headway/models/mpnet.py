"""MPNet: BERT with a relative position bias that all layers share, and without token types.

Source   Song et al. 2020; the keys and tensor names are those of Hugging Face's MPNetModel, MPNetForMaskedLM and
         MPNetForSequenceClassification
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headway.errors import UnsupportedError
from headway.models import encoder, encoder_config
from headway.models.encoder_config import EncoderConfig, with_num_labels
from headway.models.encoder_names import bert_names, stored_encoder
from headway.models.encoder_spec import ClassifierSpec, EncoderSpec, HeadSpec
from headway.models.roberta import HEADS
from headway.models.stored import Stored

KIND = "encoder"
PREFIX = "mpnet."
# A buffer of constants, and a bias that is unused if lm_head.decoder has one.
IGNORED_TENSORS = r"embeddings\.position_ids|lm_head\.bias"
WITHOUT_EFFECT = encoder_config.WITHOUT_EFFECT
NUM_BUCKETS = 32
"""transformers ignores relative_attention_num_buckets."""
FIRST_POSITION = 2
"""transformers' MPNet takes 1 as the padding token, whatever pad_token_id is."""
NAMES = bert_names(PREFIX, replace(HEADS, pooler=f"{PREFIX}pooler.dense"))
NAMES = replace(
    NAMES,
    parts={
        **NAMES.parts,
        "attention.query": "attention.attn.q",
        "attention.key": "attention.attn.k",
        "attention.value": "attention.attn.v",
        "attention.output": "attention.attn.o",
        "attention_sum_norm": "attention.LayerNorm",
    },
    position_bias=f"{PREFIX}encoder.relative_attention_bias",
)
Weights = encoder.Weights
config_keys = with_num_labels


@dataclass(frozen=True, kw_only=True)
class Config(EncoderConfig):
    """The keys of config.json that affect the result."""

    relative_attention_num_buckets: int = NUM_BUCKETS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relative_attention_num_buckets != NUM_BUCKETS:
            raise UnsupportedError(
                f"got config.json with relative_attention_num_buckets={self.relative_attention_num_buckets}, expected {NUM_BUCKETS}"
            )

    @property
    def max_seq_len(self) -> int:
        """Longest sequence: the rows of the position embedding from the first position on."""
        return self.max_position_embeddings - FIRST_POSITION


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
        first_position=FIRST_POSITION,
        num_position_buckets=config.relative_attention_num_buckets,
    )


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_encoder(spec(config), NAMES, is_tied=config.tie_word_embeddings)


encode, pooled, masked_token_logits, class_logits = encoder.encoder_functions(spec)
