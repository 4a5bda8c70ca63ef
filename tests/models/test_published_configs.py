"""config.json as it is published with well-known models: every key is understood."""

from __future__ import annotations

import json

import pytest

from headway.checkpoints.reading import read_config
from headway.errors import CheckpointError, UnsupportedError
from headway.models import architecture, qwen2

GPT2 = """{"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "bos_token_id": 50256, "embd_pdrop": 0.1,
"eos_token_id": 50256, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12,
"n_layer": 12, "n_positions": 1024, "resid_pdrop": 0.1, "summary_activation": null, "summary_first_dropout": 0.1, "summary_proj_to_labels": true,
"summary_type": "cls_index", "summary_use_proj": true, "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}},
"vocab_size": 50257}"""
DISTILGPT2 = GPT2.replace('"n_layer": 12', '"n_layer": 6, "_num_labels": 1, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}')
SMOLLM2 = """{"architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 0, "eos_token_id": 0,
"hidden_act": "silu", "hidden_size": 576, "initializer_range": 0.041666666666666664, "intermediate_size": 1536, "is_llama_config": true,
"max_position_embeddings": 8192, "model_type": "llama", "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3,
"pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_interleaved": false, "rope_scaling": null, "rope_theta": 100000, "tie_word_embeddings": true,
"torch_dtype": "bfloat16", "transformers_version": "4.40.1", "use_cache": true, "vocab_size": 49152}"""
LLAMA32 = """{"architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 128000,
"eos_token_id": [128001, 128008, 128009], "head_dim": 64, "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
"intermediate_size": 8192, "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama", "num_attention_heads": 32,
"num_hidden_layers": 16, "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 32.0,
"high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}, "rope_theta": 500000.0,
"tie_word_embeddings": true, "torch_dtype": "bfloat16", "transformers_version": "4.45.0.dev0", "use_cache": true, "vocab_size": 128256}"""
MISTRAL = """{"architectures": ["MistralForCausalLM"], "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096,
"initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mistral", "num_attention_heads": 32,
"num_hidden_layers": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 4096,
"tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.34.0.dev0", "use_cache": true, "vocab_size": 32000}"""
QWEN25 = """{"architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643, "eos_token_id": 151643, "hidden_act": "silu",
"hidden_size": 896, "initializer_range": 0.02, "intermediate_size": 4864, "max_position_embeddings": 32768, "max_window_layers": 24,
"model_type": "qwen2", "num_attention_heads": 14, "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06,
"rope_theta": 1000000.0, "sliding_window": 32768, "tie_word_embeddings": true, "torch_dtype": "bfloat16", "transformers_version": "4.40.1",
"use_cache": true, "use_mrope": false, "use_sliding_window": false, "vocab_size": 151936}"""
QWEN3 = """{"architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 151643,
"eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu", "hidden_size": 1024, "initializer_range": 0.02, "intermediate_size": 3072,
"max_position_embeddings": 40960, "max_window_layers": 28, "model_type": "qwen3", "num_attention_heads": 16, "num_hidden_layers": 28,
"num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000, "sliding_window": null,
"tie_word_embeddings": true, "torch_dtype": "bfloat16", "transformers_version": "4.51.0", "use_cache": true, "use_sliding_window": false,
"vocab_size": 151936}"""

FLAN_T5 = """{"architectures": ["T5ForConditionalGeneration"], "d_ff": 1024, "d_kv": 64, "d_model": 512, "decoder_start_token_id": 0,
"dropout_rate": 0.1, "eos_token_id": 1, "feed_forward_proj": "gated-gelu", "initializer_factor": 1.0, "is_encoder_decoder": true,
"layer_norm_epsilon": 1e-06, "model_type": "t5", "n_positions": 512, "num_decoder_layers": 8, "num_heads": 6, "num_layers": 8,
"output_past": true, "pad_token_id": 0, "relative_attention_max_distance": 128, "relative_attention_num_buckets": 32,
"task_specific_params": {"summarization": {"early_stopping": true, "length_penalty": 2.0, "num_beams": 4, "prefix": "summarize: "}},
"tie_word_embeddings": false, "transformers_version": "4.23.1", "use_cache": true, "vocab_size": 32128}"""
OPUS_MT = """{"activation_dropout": 0.0, "activation_function": "swish", "add_bias_logits": false, "add_final_layer_norm": false,
"architectures": ["MarianMTModel"], "attention_dropout": 0.0, "bad_words_ids": [[58100]], "bos_token_id": 0, "classif_dropout": 0.0,
"classifier_dropout": 0.0, "d_model": 512, "decoder_attention_heads": 8, "decoder_ffn_dim": 2048, "decoder_layerdrop": 0.0,
"decoder_layers": 6, "decoder_start_token_id": 58100, "decoder_vocab_size": 58101, "dropout": 0.1, "encoder_attention_heads": 8,
"encoder_ffn_dim": 2048, "encoder_layerdrop": 0.0, "encoder_layers": 6, "eos_token_id": 0, "extra_pos_embeddings": 58101,
"forced_eos_token_id": 0, "id2label": {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}, "init_std": 0.02, "is_decoder": false,
"is_encoder_decoder": true, "label2id": {"LABEL_0": 0, "LABEL_1": 1, "LABEL_2": 2}, "max_length": 512, "max_position_embeddings": 512,
"model_type": "marian", "normalize_before": false, "normalize_embedding": false, "num_beams": 4, "num_hidden_layers": 6,
"pad_token_id": 58100, "scale_embedding": true, "share_encoder_decoder_embeddings": true, "static_position_embeddings": true,
"tie_word_embeddings": true, "transformers_version": "5.1.0", "use_cache": true, "vocab_size": 58101}"""

LLAMA1 = """{"architectures": ["LlamaForCausalLM"], "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096,
"intermediate_size": 11008, "initializer_range": 0.02, "max_sequence_length": 2048, "model_type": "llama", "num_attention_heads": 32,
"num_hidden_layers": 32, "pad_token_id": 0, "rms_norm_eps": 1e-06, "torch_dtype": "float16", "transformers_version": "4.28.0.dev0",
"use_cache": true, "vocab_size": 32000}"""
TINYLLAMA = """{"architectures": ["LlamaForCausalLM"], "attention_bias": false, "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu",
"hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 5632, "max_position_embeddings": 2048, "model_type": "llama",
"num_attention_heads": 32, "num_hidden_layers": 22, "num_key_value_heads": 4, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
"rope_scaling": null, "rope_theta": 10000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.35.0",
"use_cache": true, "vocab_size": 32000}"""
CAMEMBERT = """{"architectures": ["CamembertForMaskedLM"], "attention_probs_dropout_prob": 0.1, "bos_token_id": 5, "eos_token_id": 6,
"hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072,
"layer_norm_eps": 1e-05, "max_position_embeddings": 514, "model_type": "camembert", "num_attention_heads": 12, "num_hidden_layers": 12,
"output_past": true, "pad_token_id": 1, "type_vocab_size": 1, "vocab_size": 32005}"""


def read(text: str, **more):
    keys = json.loads(text) | more
    return read_config(architecture(keys["model_type"]), keys, ())


@pytest.mark.parametrize(
    "text",
    [GPT2, DISTILGPT2, SMOLLM2, LLAMA1, TINYLLAMA, LLAMA32, MISTRAL, QWEN25, QWEN3],
    ids="gpt2 distilgpt2 smollm2 llama1 tinyllama llama32 mistral qwen25 qwen3".split(),
)
def test_every_key_is_understood(text):
    config, keys = read(text), json.loads(text)
    assert config.vocab_size == keys["vocab_size"]
    lengths = [keys[name] for name in ("max_position_embeddings", "n_positions", "max_sequence_length") if name in keys]
    assert config.max_seq_len == lengths[0]


def test_every_key_of_camembert_is_understood():
    assert read(CAMEMBERT).max_seq_len == 512  # two positions are those of padding


def test_every_key_of_mt5_is_understood():
    config = read(FLAN_T5, model_type="mt5", vocab_size=250112, tokenizer_class="T5Tokenizer", torch_dtype="float32")
    assert (config.vocab_size, config.num_layers) == (250112, 8)


@pytest.mark.parametrize(("text", "layers"), [(FLAN_T5, (8, 8)), (OPUS_MT, (6, 6))], ids="flan-t5 opus-mt".split())
def test_every_key_of_an_encoder_decoder_is_understood(text, layers):
    config = read(text)
    spec = architecture(json.loads(text)["model_type"]).spec(config)
    assert (spec.vocab_size, spec.hidden_size) == (config.vocab_size, 512)
    assert (len(spec.encoder), len(spec.decoder)) == layers
    assert (spec.buckets is None, spec.num_sinusoids) == ((True, 512) if text == OPUS_MT else (False, None))


def test_a_distilled_model_has_the_keys_of_its_base():
    more = {"max_position_embeddings": 131072, "rope_theta": 10000, "sliding_window": 4096, "tie_word_embeddings": False}
    config = read(QWEN25, **more, transformers_version="4.44.0", max_window_layers=21)  # DeepSeek-R1-Distill-Qwen
    assert (config.max_seq_len, config.tie_word_embeddings) == (131072, False)


def test_old_and_new_names_of_rope_mean_the_same():
    keys = json.loads(LLAMA32)
    scaling, theta = keys.pop("rope_scaling"), keys.pop("rope_theta")
    assert read(LLAMA32) == read(json.dumps(keys), rope_parameters={**scaling, "rope_theta": theta})


YARN = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}


@pytest.mark.parametrize(
    "text", [LLAMA32.replace("131072", "32768"), QWEN25, QWEN3.replace("40960", "32768")], ids="llama qwen2 qwen3".split()
)
def test_yarn_added_as_qwens_readme_says_lengthens_the_context(text):
    assert read(text, rope_scaling=YARN).max_seq_len == 131072
    assert read(text, rope_scaling=YARN | {"original_max_position_embeddings": None}).max_seq_len == 131072
    assert read(text, rope_scaling=YARN, max_position_embeddings=200000).max_seq_len == 200000
    assert read(text, rope_scaling={"type": "linear", "factor": 4.0}).max_seq_len == 32768


def test_null_is_the_default():
    without = {key: value for key, value in json.loads(QWEN3).items() if key not in ("rms_norm_eps", "tie_word_embeddings", "rope_theta")}
    nulls = {"rms_norm_eps": None, "tie_word_embeddings": None, "rope_theta": None, "layer_types": None, "rope_parameters": None}
    assert read(json.dumps(without), **nulls) == read(json.dumps(without))
    assert read(QWEN3, rope_scaling={"rope_type": None, "rope_theta": None, "factor": None}) == read(QWEN3)


@pytest.mark.parametrize(
    ("text", "keys", "message"),
    [
        *((LLAMA32, {name: value}, f"{name}=") for name in ("rope_scaling", "rope_parameters") for value in ([1], "yarn", 4, False)),
        *((QWEN25, {"rope_scaling": YARN | {"type": value}}, "rope_type=") for value in (["yarn"], {}, 3)),
        *((QWEN25, {"rope_theta": value}, "rope_theta=") for value in ("1e6", 0, -1.0, True, float("nan"), float("inf"))),
        *(
            (QWEN25, {"rope_scaling": YARN | {name: value}}, f"{name}=")
            for name in ("factor", "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow")
            for value in ("4", 0, -4.0, [4])
        ),
        (QWEN25, {"rope_scaling": YARN | {"mscale": "1"}}, "mscale="),
        *((LLAMA32, {"rope_scaling": LLAMA3 | {name: 0}}, f"{name}=0") for name in ("low_freq_factor", "high_freq_factor")),
        (LLAMA32, {"rope_scaling": LLAMA3 | {"low_freq_factor": 4}}, "low_freq_factor=high_freq_factor=4"),
        *(
            (QWEN3, {"layer_types": value}, "layer_types=")
            for value in ("full_attention", ["full_attention"], [1] * 28, [["x"]] * 28, {}, [])
        ),
        *((text, {"rms_norm_eps": value}, "rms_norm_eps=") for text in (LLAMA32, QWEN25, QWEN3) for value in (-1e-6, float("nan"))),
        *((text, {"sliding_window": value}, "sliding_window=") for text in (MISTRAL, QWEN25, QWEN3) for value in (0, -1)),
        (GPT2, {"layer_norm_epsilon": -1e-5}, "layer_norm_epsilon="),
        (GPT2, {"n_inner": 0}, "n_inner=0"),
    ],
)
def test_a_value_that_a_key_cannot_have_is_named(text, keys, message):
    with pytest.raises(CheckpointError, match=f"got config.json with {message}.*expected"):
        read(text, **keys)


def test_yarn_without_any_original_length_is_an_error():
    keys = {key: value for key, value in json.loads(QWEN25).items() if key != "max_position_embeddings"}
    with pytest.raises(CheckpointError, match="'yarn' without original_max_position_embeddings"):
        read(json.dumps(keys), rope_scaling={"type": "yarn", "factor": 4.0})


def test_an_unused_window_hides_nothing():
    assert {layer.attention.window for layer in qwen2.spec(read(QWEN25)).layers} == {None}
    assert read(MISTRAL).sliding_window == 4096


def test_a_key_that_is_off_is_no_error_and_one_that_is_on_is():
    with pytest.raises(UnsupportedError, match="rope_interleaved=True"):
        read(SMOLLM2, rope_interleaved=True)


def test_qwen2s_own_file_is_understood(data_dir):
    config = read((data_dir / "tokenizers" / "qwen2" / "config.json").read_text())
    assert config.num_hidden_layers > 0
