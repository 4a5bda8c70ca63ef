"""BERT against transformers, which saved the folder that is loaded here."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
import transformers

from headway.arrays import ARRAY_LIBRARIES, dtype_name, from_numpy, to_numpy
from headway.checkpoints import load_checkpoint, save_checkpoint
from headway.checkpoints.reading import read_config
from headway.errors import CheckpointError, PromptError, TokenIdError, UnsupportedError
from headway.kernels import operations
from headway.models import architecture, bert
from headway.trees import leaves

TOLERANCE = 1e-4
SIZES = {
    "vocab_size": 97,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 19,
    "type_vocab_size": 2,
}
LENGTHS = numpy.array([13, 5, 1, 9])
every_library = pytest.mark.parametrize("array", ARRAY_LIBRARIES)
every_library_jax_slowly = pytest.mark.parametrize(
    "array", [pytest.param(array, marks=[pytest.mark.slow] if array == "jax" else []) for array in ARRAY_LIBRARIES]
)


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    keys: dict[str, Any] = field(default_factory=dict)
    save: dict[str, Any] = field(default_factory=dict)
    dtype: torch.dtype = torch.float32


CASES = {
    case.name: case
    for case in (
        Case("model", "BertModel"),
        Case("masked LM", "BertForMaskedLM"),
        Case("pre-training", "BertForPreTraining"),
        Case("head of its own", "BertForMaskedLM", {"tie_word_embeddings": False}),
        Case("approximate gelu, large eps", "BertForPreTraining", {"hidden_act": "gelu_new", "layer_norm_eps": 0.1}),
        Case("relu, three token types", "BertForPreTraining", {"hidden_act": "relu", "type_vocab_size": 3}),
        Case("sharded", "BertForPreTraining", save={"max_shard_size": "20KB"}),
        Case("saved in bfloat16", "BertForPreTraining", dtype=torch.bfloat16),
    )
}
every_case = pytest.mark.parametrize("name", CASES)


@dataclass(frozen=True)
class Saved:
    """A folder, and what transformers computes from it in float32, padded on the right and with two token types."""

    folder: Path
    token_ids: numpy.ndarray
    token_types: numpy.ndarray
    hidden: numpy.ndarray
    pooled: numpy.ndarray | None
    logits: numpy.ndarray | None

    def real(self, values: numpy.ndarray) -> numpy.ndarray:
        """Return the values at the tokens that are not padding."""
        return values[numpy.arange(values.shape[1]) < LENGTHS[:, None]]


def save(case: Case, folder: Path) -> Saved:
    torch.manual_seed(0)
    kind = getattr(transformers, case.kind)
    model = kind(transformers.BertConfig(**SIZES | case.keys))
    with torch.no_grad():  # norms of exactly 1 and biases of exactly 0 would hide a wrong name
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    model.to(case.dtype).save_pretrained(folder, **case.save)
    model = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    generator = torch.Generator().manual_seed(1)
    token_ids = torch.randint(3, SIZES["vocab_size"], (4, 13), generator=generator)
    token_types = torch.randint(0, model.config.type_vocab_size, (4, 13), generator=generator)
    mask = torch.arange(13) < torch.from_numpy(LENGTHS)[:, None]
    with torch.no_grad():
        given = {"attention_mask": mask.long(), "token_type_ids": token_types}
        backbone = model.base_model(token_ids, **given)
        output = model(token_ids, **given)
    logits = getattr(output, "logits", getattr(output, "prediction_logits", None))
    pooled = None if backbone.pooler_output is None else backbone.pooler_output.numpy()
    return Saved(
        folder,
        token_ids.numpy(),
        token_types.numpy(),
        backbone.last_hidden_state.numpy(),
        pooled,
        None if logits is None else logits.numpy(),
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory):
    kept: dict[str, Saved] = {}

    def get(name: str) -> Saved:
        if name not in kept:
            kept[name] = save(CASES[name], tmp_path_factory.mktemp("bert"))
        return kept[name]

    return get


def encode(loaded, saved: Saved, array: str = "numpy", **options: Any):
    """The hidden states of everything that was saved."""
    token_ids, token_types, lengths = (from_numpy(each, array) for each in (saved.token_ids, saved.token_types, LENGTHS))
    return bert.encode(token_ids, loaded.weights, loaded.config, lengths=lengths, token_types=token_types, **options)


@every_case
def test_hidden_states_equal_those_of_transformers(saved, name):
    saved = saved(name)
    hidden = encode(load_checkpoint(saved.folder), saved)
    numpy.testing.assert_allclose(saved.real(hidden), saved.real(saved.hidden), atol=TOLERANCE, rtol=0)


@every_case
def test_pooled_vectors_equal_those_of_transformers_and_are_refused_where_there_is_no_pooler(saved, name):
    saved = saved(name)
    loaded = load_checkpoint(saved.folder)
    hidden = encode(loaded, saved)
    if saved.pooled is None:
        with pytest.raises(UnsupportedError, match="got a checkpoint without a pooler, expected one with pooler"):
            bert.pooled(hidden, loaded.weights, loaded.config)
    else:
        numpy.testing.assert_allclose(bert.pooled(hidden, loaded.weights, loaded.config), saved.pooled, atol=TOLERANCE, rtol=0)


@every_case
def test_masked_token_logits_equal_those_of_transformers_and_are_refused_where_there_is_no_head(saved, name):
    saved = saved(name)
    loaded = load_checkpoint(saved.folder)
    hidden = encode(loaded, saved)
    if saved.logits is None:
        with pytest.raises(
            UnsupportedError, match="got a checkpoint without a masked-token head, expected .*\nhint: use a checkpoint saved"
        ):
            bert.masked_token_logits(hidden, loaded.weights, loaded.config)
    else:
        logits = bert.masked_token_logits(hidden, loaded.weights, loaded.config)
        numpy.testing.assert_allclose(saved.real(logits), saved.real(saved.logits), atol=TOLERANCE, rtol=0)


@every_library
def test_every_library_with_its_fastest_operations_equals_transformers(saved, array):
    saved = saved("pre-training")
    loaded, ops = load_checkpoint(saved.folder, array=array), operations(array)
    hidden = encode(loaded, saved, array, ops=ops)
    pooled = bert.pooled(hidden, loaded.weights, loaded.config, ops=ops)
    logits = bert.masked_token_logits(hidden, loaded.weights, loaded.config, ops=ops)
    for came, expected in ((hidden, saved.real(saved.hidden)), (logits, saved.real(saved.logits)), (pooled, saved.pooled)):
        came = to_numpy(came)
        numpy.testing.assert_allclose(saved.real(came) if came.ndim == 3 else came, expected, atol=TOLERANCE, rtol=0)


@every_library_jax_slowly
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_stays_half_precision(saved, array, dtype):
    saved = saved("pre-training")
    loaded, ops = load_checkpoint(saved.folder, array=array, dtype=dtype), operations(array)
    hidden = encode(loaded, saved, array, ops=ops)
    pooled = bert.pooled(hidden, loaded.weights, loaded.config, ops=ops)
    logits = bert.masked_token_logits(hidden, loaded.weights, loaded.config, ops=ops)
    assert [dtype_name(each.dtype) for each in (hidden, pooled, logits)] == [dtype] * 3
    tolerance = {"float16": 0.03, "bfloat16": 0.25}[dtype]
    numpy.testing.assert_allclose(saved.real(to_numpy(hidden)), saved.real(saved.hidden), atol=tolerance, rtol=0)


@every_library_jax_slowly
def test_a_batch_with_padding_equals_every_text_alone(saved, array):
    saved = saved("masked LM")
    loaded, ops = load_checkpoint(saved.folder, array=array), operations(array)
    together = to_numpy(encode(loaded, saved, array, ops=ops))
    for row, length in enumerate(LENGTHS):
        one = (from_numpy(each[row : row + 1, :length].copy(), array) for each in (saved.token_ids, saved.token_types))
        alone = bert.encode(next(one), loaded.weights, loaded.config, token_types=next(one), ops=ops)
        numpy.testing.assert_allclose(together[row, :length], to_numpy(alone)[0], atol=1e-5, rtol=0)


def test_padding_never_changes_a_real_tokens_vector(saved):
    saved = saved("model")
    loaded = load_checkpoint(saved.folder)
    before = encode(loaded, saved)
    is_real = numpy.arange(13) < LENGTHS[:, None]
    after = encode(loaded, replace(saved, token_ids=numpy.where(is_real, saved.token_ids, 96 - saved.token_ids)))
    assert saved.real(after).tolist() == saved.real(before).tolist()
    assert abs(after - before).max() > 1e-3


@every_library_jax_slowly
def test_a_text_of_padding_alone_gives_no_nan_and_leaves_the_others_as_they_are(saved, array):
    saved = saved("model")
    loaded, ops = load_checkpoint(saved.folder, array=array), operations(array)
    token_ids, token_types, lengths = (from_numpy(each, array) for each in (saved.token_ids, saved.token_types, LENGTHS * [1, 0, 1, 1]))
    hidden = to_numpy(bert.encode(token_ids, loaded.weights, loaded.config, lengths=lengths, token_types=token_types, ops=ops))
    assert numpy.isfinite(hidden).all()
    numpy.testing.assert_allclose(hidden[0, : LENGTHS[0]], saved.hidden[0, : LENGTHS[0]], atol=1e-4, rtol=0)


def test_every_token_sees_the_later_ones_too(saved):
    saved = saved("model")
    loaded = load_checkpoint(saved.folder)
    changed = saved.token_ids[:1].copy()
    changed[0, 8] = 96 - changed[0, 8]
    before, after = (bert.encode(ids, loaded.weights, loaded.config) for ids in (saved.token_ids[:1], changed))
    assert (abs(before - after).max(axis=-1) > 1e-4).all()


def test_without_token_types_all_are_of_the_first(saved):
    saved = saved("model")
    loaded = load_checkpoint(saved.folder)
    without, zeros = (
        bert.encode(saved.token_ids, loaded.weights, loaded.config, token_types=types) for types in (None, saved.token_types * 0)
    )
    assert without.tolist() == zeros.tolist()
    assert abs(without - bert.encode(saved.token_ids, loaded.weights, loaded.config, token_types=saved.token_types)).max() > 1e-3


def test_what_is_saved_here_is_loaded_by_transformers(saved, tmp_path):
    saved = saved("pre-training")
    loaded = load_checkpoint(saved.folder)
    save_checkpoint(tmp_path, bert, loaded.config, loaded.weights)
    again = load_checkpoint(tmp_path)
    assert again.config == loaded.config
    for (path, first), (_, second) in zip(leaves(loaded.weights), leaves(again.weights), strict=True):
        numpy.testing.assert_array_equal(first, second, err_msg=path)
    model = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path).eval()
    mask = torch.arange(13) < torch.from_numpy(LENGTHS)[:, None]
    with torch.no_grad():
        given = {"attention_mask": mask.long(), "token_type_ids": torch.from_numpy(saved.token_types)}
        logits = model(torch.from_numpy(saved.token_ids), **given).logits.numpy()
    numpy.testing.assert_allclose(saved.real(logits), saved.real(saved.logits), atol=TOLERANCE, rtol=0)


def test_as_many_tokens_as_positions_fit_and_one_more_does_not(saved):
    loaded = load_checkpoint(saved("model").folder)
    assert bert.encode(numpy.ones((1, 19), numpy.int64), loaded.weights, loaded.config).shape == (1, 19, 24)
    with pytest.raises(PromptError, match="got a text of 20 tokens, expected at most 19"):
        bert.encode(numpy.ones((1, 20), numpy.int64), loaded.weights, loaded.config)


def test_a_token_type_that_the_table_has_not_is_an_error(saved):
    loaded = load_checkpoint(saved("model").folder)
    with pytest.raises(TokenIdError, match="got token id 2, expected 0 to 1"):
        bert.encode(numpy.ones((1, 2), numpy.int64), loaded.weights, loaded.config, token_types=numpy.array([[0, 2]]))


BERT_BASE_CHINESE = """{"architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1, "directionality": "bidi", "hidden_act": "gelu",
"hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072, "layer_norm_eps": 1e-12,
"max_position_embeddings": 512, "model_type": "bert", "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 0,
"pooler_fc_size": 768, "pooler_num_attention_heads": 12, "pooler_num_fc_layers": 3, "pooler_size_per_head": 128,
"pooler_type": "first_token_transform", "type_vocab_size": 2, "vocab_size": 21128}"""
MINILM = """{"_name_or_path": "nreimers/MiniLM-L6-H384-uncased", "architectures": ["BertModel"], "attention_probs_dropout_prob": 0.1,
"gradient_checkpointing": false, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 384, "initializer_range": 0.02,
"intermediate_size": 1536, "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "bert", "num_attention_heads": 12,
"num_hidden_layers": 6, "pad_token_id": 0, "position_embedding_type": "absolute", "transformers_version": "4.8.2", "type_vocab_size": 2,
"use_cache": true, "vocab_size": 30522}"""


def read(text: str, **more: Any) -> bert.Config:
    keys = json.loads(text) | more
    return read_config(architecture(keys["model_type"]), keys, ())


@pytest.mark.parametrize("text", [BERT_BASE_CHINESE, MINILM], ids=["bert-base-chinese", "MiniLM"])
def test_every_key_of_a_published_config_is_understood(text):
    assert read(text).max_seq_len == 512
    assert read(text).vocab_size == json.loads(text)["vocab_size"]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"position_embedding_type": "relative_key"}, "position_embedding_type='relative_key', expected one of 'absolute'"),
        ({"hidden_act": "mish"}, "hidden_act='mish', expected one of 'gelu'"),
        ({"is_decoder": True}, "is_decoder=True"),
        ({"attention_sinks": 4}, "attention_sinks=4"),
        ({"num_attention_heads": 7}, "hidden_size=384 and num_attention_heads=7, expected hidden_size to be a multiple"),
        ({"type_vocab_size": 0}, "type_vocab_size=0, expected at least 1"),
        ({"layer_norm_eps": -1.0}, "layer_norm_eps=-1.0"),
    ],
)
def test_a_key_that_is_not_built_or_a_value_it_cannot_have_is_named(keys, message):
    with pytest.raises(CheckpointError, match=f"got config.json with {message}"):
        read(MINILM, **keys)
