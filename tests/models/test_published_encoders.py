"""The keys of config.json that the checkpoints of each encoder carry: every key is understood.

Those of all-mpnet-base-v2, XLM-RoBERTa and ModernBERT were compared with published files.
"""

from __future__ import annotations

from typing import Any

import pytest

from headway.checkpoints.reading import read_config
from headway.errors import CheckpointError, UnsupportedError
from headway.models import architecture

SHARED: dict[str, Any] = {
    **{"attention_probs_dropout_prob": 0.1, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "initializer_range": 0.02},
    **{"layer_norm_eps": 1e-12, "pad_token_id": 0, "torch_dtype": "float32", "transformers_version": "4.36.0"},
    **{"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12, "num_hidden_layers": 12, "max_position_embeddings": 512},
}
BERT = SHARED | {"architectures": ["BertModel"], "model_type": "bert", "classifier_dropout": None, "position_embedding_type": "absolute"}
BERT |= {"type_vocab_size": 2, "use_cache": True, "vocab_size": 30522, "gradient_checkpointing": False}
ONE_LABEL = {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
XLM = BERT | {"architectures": ["XLMRobertaModel"], "model_type": "xlm-roberta", "bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1}
XLM |= {"max_position_embeddings": 514, "output_past": True, "type_vocab_size": 1, "vocab_size": 250002, "layer_norm_eps": 1e-5}
MODERNBERT = {
    **{"architectures": ["ModernBertForMaskedLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 50281},
    **{"classifier_activation": "gelu", "classifier_bias": False, "classifier_dropout": 0.0, "classifier_pooling": "mean"},
    **{"cls_token_id": 50281, "decoder_bias": True, "deterministic_flash_attn": False, "embedding_dropout": 0.0, "eos_token_id": 50282},
    **{"global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "gradient_checkpointing": False, "hidden_activation": "gelu"},
    **{"hidden_size": 768, "initializer_cutoff_factor": 2.0, "initializer_range": 0.02, "intermediate_size": 1152, "layer_norm_eps": 1e-05},
    **{"local_attention": 128, "local_rope_theta": 10000.0, "max_position_embeddings": 8192, "mlp_bias": False, "mlp_dropout": 0.0},
    **{"model_type": "modernbert", "norm_bias": False, "norm_eps": 1e-05, "num_attention_heads": 12, "num_hidden_layers": 22},
    **{"pad_token_id": 50283, "position_embedding_type": "absolute", "reference_compile": None, "sep_token_id": 50282},
    **{"sparse_pred_ignore_index": -100, "sparse_prediction": False, "vocab_size": 50368},
}
PUBLISHED: dict[str, dict[str, Any]] = {
    "bge": BERT | {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}},
    "e5, gte": BERT,
    "ms-marco-MiniLM": BERT
    | ONE_LABEL
    | {"architectures": ["BertForSequenceClassification"], "hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 6}
    | {"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"},
    "multilingual-e5": XLM,
    "bge-reranker": XLM | ONE_LABEL | {"architectures": ["XLMRobertaForSequenceClassification"]},
    "all-mpnet": SHARED
    | {"architectures": ["MPNetForMaskedLM"], "model_type": "mpnet", "bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1}
    | {"max_position_embeddings": 514, "relative_attention_num_buckets": 32, "vocab_size": 30527, "layer_norm_eps": 1e-5},
    "distilbert-sst-2": {
        **{"activation": "gelu", "architectures": ["DistilBertForSequenceClassification"], "attention_dropout": 0.1, "dim": 768},
        **{"dropout": 0.1, "finetuning_task": "sst-2", "hidden_dim": 3072, "id2label": {"0": "NEGATIVE", "1": "POSITIVE"}},
        **{"initializer_range": 0.02, "label2id": {"NEGATIVE": 0, "POSITIVE": 1}, "max_position_embeddings": 512},
        **{"model_type": "distilbert", "n_heads": 12, "n_layers": 6, "output_past": True, "pad_token_id": 0, "qa_dropout": 0.1},
        **{"seq_classif_dropout": 0.2, "sinusoidal_pos_embds": False, "tie_weights_": True, "transformers_version": "4.10.0"},
        **{"vocab_size": 30522},
    },
    "ModernBERT": MODERNBERT,
}


def read(keys: dict[str, Any]) -> Any:
    return read_config(architecture(keys["model_type"]), keys, ())


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_key_is_understood(name):
    keys = PUBLISHED[name]
    config = read(keys)
    spec = architecture(keys["model_type"]).spec(config)
    assert (spec.hidden_size, len(spec.layers)) == (
        keys.get("hidden_size", keys.get("dim")),
        keys.get("num_hidden_layers", keys.get("n_layers")),
    )
    assert spec.classifier.num_labels == len(keys.get("id2label", {0: "", 1: ""}))


def test_lengths_and_layers_are_those_of_the_checkpoints():
    lengths = {name: read(keys).max_seq_len for name, keys in PUBLISHED.items()}
    assert [lengths[name] for name in ("bge", "bge-reranker", "all-mpnet", "ModernBERT")] == [512, 512, 512, 8192]
    layers = architecture("modernbert").spec(read(MODERNBERT)).layers
    assert [layer.attention.window for layer in layers][:4] == [None, 65, 65, None]
    assert [layer.attention.rotary.parameters["rope_theta"] for layer in layers][:2] == [160000.0, 10000.0]
    assert [layer.attention_norm is None for layer in layers][:2] == [True, False]


def test_modernbert_has_the_norm_and_activation_of_its_own_keys():
    config = read(MODERNBERT | {"layer_norm_eps": 1e-3, "hidden_act": "relu"})
    assert config == read(MODERNBERT)


@pytest.mark.parametrize(
    ("keys", "more", "error", "message"),
    [
        (XLM, {"pad_token_id": 600}, CheckpointError, "pad_token_id=600"),
        (XLM, {"hidden_act": "mish"}, UnsupportedError, "hidden_act='mish'"),
        (PUBLISHED["all-mpnet"], {"relative_attention_num_buckets": 8}, UnsupportedError, "relative_attention_num_buckets=8, expected 32"),
        (MODERNBERT, {"classifier_pooling": "max"}, UnsupportedError, "classifier_pooling='max'"),
        (MODERNBERT, {"layer_types": ["full_attention"]}, CheckpointError, "layer_types="),
        (MODERNBERT, {"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}, UnsupportedError, "expected the rope_type default"),
        (MODERNBERT, {"rope_parameters": {"rope_type": "yarn", "factor": 4.0}}, UnsupportedError, "rope_parameters="),
        (MODERNBERT, {"local_attention": 0}, CheckpointError, "local_attention=0"),
    ],
)
def test_a_value_that_a_key_cannot_have_is_named(keys, more, error, message):
    with pytest.raises(error, match=message):
        read(keys | more)
