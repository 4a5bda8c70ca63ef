"""ModernBERT: rotary positions, pre-norm without biases, gated feed-forward, and a window in two of three layers.

Source   Warner et al. 2024; the keys and tensor names are those of Hugging Face's ModernBertModel, ModernBertForMaskedLM and
         ModernBertForSequenceClassification
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headway.errors import UnsupportedError
from headway.json_files import short_repr
from headway.models import encoder
from headway.models.config import expect_layer_types, expect_number, expect_one_of, expect_positive
from headway.models.encoder_config import ACTIVATIONS, EncoderConfig, with_num_labels
from headway.models.encoder_names import EncoderNames, HeadNames, stored_encoder
from headway.models.encoder_spec import ClassifierSpec, EncoderLayerSpec, EncoderSpec, HeadSpec
from headway.models.spec import AttentionSpec, FeedForwardSpec, RotarySpec
from headway.models.stored import Stored

KIND = "encoder"
PREFIX = "model."
IGNORED_TENSORS = r"(layers\.\d+\.attn\.)?rotary_emb\.\w*inv_freq"
WITHOUT_EFFECT = tuple(
    """
    classifier_dropout cls_token_id deterministic_flash_attn embedding_dropout initializer_cutoff_factor mlp_dropout reference_compile
    repad_logits_with_grad sparse_pred_ignore_index sparse_prediction position_embedding_type layer_norm_eps hidden_act
    """.split()
)
OTHER_KEYS = {"hidden_activation": "hidden_act", "norm_eps": "layer_norm_eps"}
THETAS = {"full_attention": "global_rope_theta", "sliding_attention": "local_rope_theta"}
HEADS = HeadNames("head.dense", "head.norm", "decoder", ("decoder.bias",), "classifier", "head.dense", "head.norm")
PARTS = {
    "attention_norm": "attn_norm",
    "attention.query": "attn.Wqkv",
    "attention.key": "attn.Wqkv",
    "attention.value": "attn.Wqkv",
    "attention.output": "attn.Wo",
    "feed_forward_norm": "mlp_norm",
    "feed_forward.gate": "mlp.Wi",
    "feed_forward.up": "mlp.Wi",
    "feed_forward.down": "mlp.Wo",
}
NAMES = EncoderNames(
    f"{PREFIX}embeddings.tok_embeddings", f"{PREFIX}layers.{{}}", PARTS, f"{PREFIX}embeddings.norm", HEADS, norm=f"{PREFIX}final_norm"
)
Weights = encoder.Weights


@dataclass(frozen=True, kw_only=True)
class Config(EncoderConfig):
    """The keys of config.json that affect the result."""

    max_position_embeddings: int = 8192
    layer_norm_eps: float = 1e-5
    norm_bias: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    decoder_bias: bool = True
    classifier_bias: bool = False
    classifier_activation: str = "gelu"
    classifier_pooling: str = "cls"
    local_attention: int = 128
    global_attn_every_n_layers: int = 3
    layer_types: list[str] | None = None
    global_rope_theta: float = 160_000.0
    local_rope_theta: float = 10_000.0

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(self, "local_attention", "global_attn_every_n_layers")
        expect_layer_types(self.layer_types, self.num_hidden_layers, THETAS)
        expect_one_of("classifier_activation", self.classifier_activation, ACTIVATIONS)
        expect_one_of("classifier_pooling", self.classifier_pooling, ["cls", "mean"])
        for name in THETAS.values():
            expect_number(name, getattr(self, name))

    @property
    def attentions(self) -> list[AttentionSpec]:
        """The attention of each layer."""
        attention = replace(self.attention, has_bias=self.attention_bias, has_output_bias=self.attention_bias)
        types = self.layer_types or [
            "sliding_attention" if index % self.global_attn_every_n_layers else "full_attention" for index in range(self.num_hidden_layers)
        ]
        rotary = {
            layer_type: RotarySpec(attention.head_dim, {"rope_type": "default", "rope_theta": float(getattr(self, name))})
            for layer_type, name in THETAS.items()
        }
        windows = {"full_attention": None, "sliding_attention": self.local_attention // 2 + 1}
        return [replace(attention, window=windows[each], rotary=rotary[each]) for each in types]


def config_keys(keys: Mapping[str, object]) -> Mapping[str, object]:
    """Return the keys of config.json with the names of BERT's, and rope_parameters as one theta per kind of layers.

    Errors   UnsupportedError for rotary scaling.
    """
    keys = with_num_labels({OTHER_KEYS.get(name, name): value for name, value in keys.items() if name not in OTHER_KEYS.values()})
    by_type = keys.get("rope_parameters")
    if by_type is None:
        return keys
    if not isinstance(by_type, Mapping) or set(by_type) - set(THETAS):
        raise UnsupportedError(f"got config.json with rope_parameters={short_repr(by_type)}, expected {' and '.join(THETAS)}")
    parameters = {name: by_type.get(name) or {} for name in THETAS}
    thetas: dict[str, object] = {}
    for layer_type, given in parameters.items():
        if not isinstance(given, Mapping) or given.get("rope_type", "default") != "default":
            raise UnsupportedError(f"got config.json with rope_parameters={short_repr(by_type)}, expected the rope_type default")
        thetas |= {THETAS[layer_type]: given["rope_theta"]} if "rope_theta" in given else {}
    return {name: value for name, value in keys.items() if name != "rope_parameters"} | thetas


def saved_keys(keys: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a Config as config.json names them."""
    stored = {name: key for key, name in OTHER_KEYS.items()}
    return {stored.get(name, name): value for name, value in keys.items()}


def spec(config: Config) -> EncoderSpec:
    """Return the description of the encoder."""
    norm = config.norm
    feed_forward = FeedForwardSpec(config.intermediate_size, ACTIVATIONS[config.hidden_act], has_bias=config.mlp_bias)
    layers = [EncoderLayerSpec(each, feed_forward, attention_norm=norm, feed_forward_norm=norm) for each in config.attentions]
    head = HeadSpec(ACTIVATIONS[config.classifier_activation], norm, has_bias=config.classifier_bias)
    return EncoderSpec(
        config.vocab_size,
        config.hidden_size,
        (replace(layers[0], attention_norm=None), *layers[1:]),
        norm,
        masked_token_head=head,
        classifier=ClassifierSpec(config.num_labels, head, takes_mean=config.classifier_pooling == "mean"),
        norm=norm,
        has_norm_bias=config.norm_bias,
        has_head_bias=config.decoder_bias,
    )


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf in a checkpoint."""
    return stored_encoder(spec(config), NAMES, is_tied=config.tie_word_embeddings)


encode, pooled, masked_token_logits, class_logits = encoder.encoder_functions(spec)
