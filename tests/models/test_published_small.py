"""config.json of published checkpoints with smaller sizes: transformers reads the same file, saves random weights and computes the logits.

A key that is read otherwise than by transformers, an old name among them, changes the logits.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
import transformers

from headway.checkpoints import load_checkpoint
from tests.models import test_published_configs as configs
from tests.models import test_published_decoders as decoders
from tests.models import test_published_encoders as encoders

VOCAB_SIZE, NUM_LAYERS = 97, 6
GEMMA = decoders.SHARED | decoders.sizes(2048, 16384, 18, 8, 1) | {"model_type": "gemma", "head_dim": 256, "hidden_act": "gelu"}
PHI35 = {key: value for key, value in decoders.PHI4_MINI.items() if key != "partial_rotary_factor"}
PHI3 = PHI35 | {"max_position_embeddings": 4096, "rope_scaling": None, "sliding_window": 2047, "tie_word_embeddings": False}
MISTRAL, QWEN25, LLAMA32 = (json.loads(text) for text in (configs.MISTRAL, configs.QWEN25, configs.LLAMA32))
R1_QWEN = QWEN25 | decoders.sizes(1536, 8960, 28, 12, 2) | {"max_position_embeddings": 131072, "max_window_layers": 21, "rope_theta": 10000}
R1_QWEN |= {"sliding_window": 4096, "tie_word_embeddings": False}
R1_LLAMA = {key: value for key, value in LLAMA32.items() if key != "head_dim"} | decoders.sizes(4096, 14336, 32, 32, 8)
R1_LLAMA |= {"rope_scaling": LLAMA32["rope_scaling"] | {"factor": 8.0}, "tie_word_embeddings": False}
FACTORS = {"type": "longrope", "short_factor": [1.0] * 32, "long_factor": [4.0] * 32}
DECODERS: dict[str, dict[str, Any]] = {
    **{"gemma": GEMMA, "gemma 2": decoders.GEMMA2, "gemma 3 1b": decoders.GEMMA3, "gemma 3 270m": decoders.GEMMA3_270M},
    **{"gemma 3 4b": decoders.GEMMA3_4B, "gemma 3 27b": decoders.GEMMA3_27B},
    "gemma 2 without soft caps": decoders.GEMMA2 | {"attn_logit_softcapping": None, "final_logit_softcapping": None},
    **{"phi-4-mini": decoders.PHI4_MINI, "phi-3.5-mini": PHI35, "phi-3-mini-4k": PHI3, "smollm3": decoders.SMOLLM3},
    **{"granite": decoders.GRANITE, "olmo 2": decoders.OLMO2, "olmo 3": decoders.OLMO3, "olmoe": decoders.OLMOE},
    **{"mixtral": decoders.MIXTRAL, "qwen3 30b-a3b": decoders.QWEN3_MOE, "gpt-oss": decoders.GPT_OSS},
    **{"gpt2": json.loads(configs.GPT2), "smollm2": json.loads(configs.SMOLLM2), "llama 1": json.loads(configs.LLAMA1)},
    **{"tinyllama": json.loads(configs.TINYLLAMA), "llama 3.2": LLAMA32, "deepseek-r1-distill-llama": R1_LLAMA},
    "llama with a window": json.loads(configs.TINYLLAMA) | {"sliding_window": 4096},
    "llama with longrope": R1_LLAMA | {"rope_scaling": FACTORS, "original_max_position_embeddings": 8192},
    **{"qwen2.5": QWEN25, "deepseek-r1-distill-qwen": R1_QWEN, "qwen3": json.loads(configs.QWEN3)},
    "mistral": MISTRAL,
}
SMALLER = {
    **{"hidden_size": 48, "intermediate_size": 40, "num_hidden_layers": NUM_LAYERS, "num_attention_heads": 6, "vocab_size": VOCAB_SIZE},
    **{"head_dim": 12, "sliding_window": 5, "num_experts": 5, "num_local_experts": 5, "num_experts_per_tok": 2},
    **{"moe_intermediate_size": 20, "bos_token_id": 0, "pad_token_id": 0, "eos_token_id": 2},
    **{"n_embd": 24, "n_head": 4, "n_layer": 3, "n_positions": 40, "n_ctx": 40},
    **{"dim": 24, "hidden_dim": 40, "n_heads": 4, "n_layers": NUM_LAYERS, "local_attention": 6},
}


def small(keys: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of a config.json with small sizes, and every other value as it was."""
    result = copy.deepcopy(keys) | {key: value for key, value in SMALLER.items() if keys.get(key) is not None}
    heads, kv_heads = keys.get("num_attention_heads"), keys.get("num_key_value_heads")
    result |= {"num_key_value_heads": 6 if kv_heads == heads else 2} if kv_heads else {}
    for key in ("layer_types", "no_rope_layers"):
        result |= {key: keys[key][:NUM_LAYERS]} if key in keys else {}
    scaling = result.get("rope_scaling") or {}
    half = int(48 // 6 * keys.get("partial_rotary_factor", 1)) // 2
    scaling |= {key: scaling[key][-half:] for key in ("short_factor", "long_factor") if key in scaling}
    result |= {"torch_dtype": "float32"} if "torch_dtype" in keys else {}
    return {key: value for key, value in result.items() if key != "quantization_config"}


def small_vision(keys: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of a Gemma 3 with a vision model; sizes that published files leave out have to be given."""
    absent = {"vocab_size": VOCAB_SIZE, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256}
    vision = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28}
    tokens = {"boi_token_index": 94, "eoi_token_index": 95, "image_token_index": 96, "mm_tokens_per_image": 4, "torch_dtype": "float32"}
    return keys | tokens | {"text_config": small(absent | keys["text_config"]), "vision_config": keys["vision_config"] | vision}


def saved(folder: Path, keys: dict[str, Any]) -> Any:
    """Write config.json and the random weights of transformers' model of it, and return the model."""
    keys = small_vision(keys) if "text_config" in keys else small(keys)
    (folder / "config.json").write_text(json.dumps(keys))
    config = transformers.AutoConfig.from_pretrained(folder)
    auto = transformers.AutoModelForCausalLM
    model_class = getattr(transformers, keys["architectures"][0]) if "architectures" in keys else auto._model_mapping[type(config)]
    torch.manual_seed(0)
    model = model_class._from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(keys))  # instead of the keys that transformers writes
    return model


@pytest.mark.filterwarnings("ignore")  # transformers warns of old keys
@pytest.mark.parametrize("name", DECODERS)
def test_logits_of_a_decoder_equal_those_of_transformers(tmp_path, name):
    model = saved(tmp_path, DECODERS[name])
    token_ids = torch.randint(3, 90, (2, 23), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = model(token_ids).logits.numpy()
    loaded = load_checkpoint(tmp_path)
    logits = loaded.architecture.forward(token_ids.numpy(), loaded.weights, loaded.config)
    numpy.testing.assert_allclose(logits, expected, atol=1e-4, rtol=0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", encoders.PUBLISHED)
def test_hidden_states_of_an_encoder_equal_those_of_transformers(tmp_path, name):
    model = saved(tmp_path, encoders.PUBLISHED[name])
    token_ids = torch.randint(6, 90, (2, 23), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = model(token_ids, output_hidden_states=True).hidden_states[-1].numpy()
    loaded = load_checkpoint(tmp_path)
    hidden = loaded.architecture.encode(token_ids.numpy(), loaded.weights, loaded.config)
    numpy.testing.assert_allclose(hidden, expected, atol=1e-4, rtol=0)
    if "ForSequenceClassification" in encoders.PUBLISHED[name]["architectures"][0]:
        with torch.no_grad():
            classes = model(token_ids).logits.numpy()
        numpy.testing.assert_allclose(loaded.architecture.class_logits(hidden, loaded.weights, loaded.config), classes, atol=1e-4, rtol=0)


def test_a_mistral_without_a_key_has_the_window_that_transformers_gives_it(tmp_path):
    keys = {key: value for key, value in small(MISTRAL).items() if key != "sliding_window"}
    (tmp_path / "config.json").write_text(json.dumps(keys))
    theirs = transformers.AutoConfig.from_pretrained(tmp_path)
    assert configs.read(json.dumps(keys)).sliding_window == theirs.sliding_window == 4096
    assert configs.read(json.dumps(keys | {"sliding_window": None})).sliding_window is None
