"""Tied tensors, in every combination of config keys and stored tensors, against transformers reading the same folder."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from headway.checkpoints import load_checkpoint, save_checkpoint
from headway.errors import CheckpointError
from tests.models.saved_by_transformers import Case

CLOSE = 1e-4
GPT2 = Case("gpt2", "GPT2", {"tie_word_embeddings": False})
LLAMA = Case("llama", "Llama", {"tie_word_embeddings": False})
QWEN3 = Case("qwen3", "Qwen3", {"tie_word_embeddings": False, "head_dim": 8})
T5 = Case("t5", "T5")
MT5 = Case("mt5", "MT5")
MARIAN = Case("marian", "Marian", {"tie_word_embeddings": False, "share_encoder_decoder_embeddings": True})
EMBEDDING = {"GPT2": "transformer.wte.weight", "Llama": "model.embed_tokens.weight", "Qwen3": "model.embed_tokens.weight"}
T5_TIED = ("shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
MARIAN_TIED = ("model.shared.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")


def different(seed: int, like: torch.Tensor) -> torch.Tensor:
    return torch.randn(like.shape, generator=torch.Generator().manual_seed(seed)) * 0.5


def write(case: Case, folder: Path, tensors: dict[str, torch.Tensor], **keys: object) -> None:
    """Save the case's model, with these tensors in place of the tied ones, and these keys of config.json."""
    case.model().save_pretrained(folder)
    own = load_file(folder / "model.safetensors")
    for name in (*EMBEDDING.values(), *T5_TIED, *MARIAN_TIED):
        own.pop(name, None)
    save_file({name: tensor.contiguous() for name, tensor in (own | tensors).items()}, folder / "model.safetensors", {"format": "pt"})
    path = folder / "config.json"
    saved = json.loads(path.read_text())
    saved.pop("scale_decoder_outputs", None)  # T5 derives it from tie_word_embeddings
    path.write_text(json.dumps(saved | keys))


def theirs(case: Case, folder: Path, *token_ids: torch.Tensor) -> tuple[numpy.ndarray, set[str]]:
    """Logits of transformers, and the names of the tensors that it misses and draws at random."""
    model, info = case.model_class.from_pretrained(folder, output_loading_info=True, attn_implementation="eager")
    names = dict(zip(("input_ids", "decoder_input_ids"), token_ids, strict=False))
    with torch.no_grad():
        logits = model.eval()(**names).logits.numpy()
    unused = set() if model.config.tie_word_embeddings else {"model.shared.weight"}
    return logits, {name for name in info["missing_keys"] if "embed_positions" not in name} - unused


def ours(folder: Path, *token_ids: torch.Tensor) -> numpy.ndarray:
    loaded = load_checkpoint(folder)
    return loaded.architecture.forward(*(each.numpy() for each in token_ids), loaded.weights, loaded.config)


def written_again(folder: Path, *token_ids: torch.Tensor) -> numpy.ndarray:
    loaded = load_checkpoint(folder)
    save_checkpoint(folder / "again", loaded.architecture, loaded.config, loaded.weights)
    return ours(folder / "again", *token_ids)


@pytest.mark.parametrize("is_tied", [True, False])
@pytest.mark.parametrize("head", ["absent", "equal", "different"])
@pytest.mark.parametrize("case", [GPT2, LLAMA, QWEN3], ids=lambda case: case.name)
def test_decoders(case, is_tied, head, tmp_path):
    embedding, token_ids = different(1, torch.empty(97, 24)), torch.arange(3, 14)[None]
    heads = {"absent": {}, "equal": {"lm_head.weight": embedding.clone()}, "different": {"lm_head.weight": different(2, embedding)}}
    write(case, tmp_path, {EMBEDDING[case.kind]: embedding} | heads[head], tie_word_embeddings=is_tied)
    if head == "absent" and not is_tied:
        with pytest.raises(CheckpointError, match=r"without lm_head\.weight"):
            ours(tmp_path, token_ids)
        return
    expected, missing = theirs(case, tmp_path, token_ids)
    assert not missing
    numpy.testing.assert_allclose(ours(tmp_path, token_ids), expected, atol=CLOSE, rtol=0)
    numpy.testing.assert_allclose(written_again(tmp_path, token_ids), expected, atol=CLOSE, rtol=0)


def test_a_head_that_equals_the_embedding_shares_its_memory(tmp_path):
    embedding = different(1, torch.empty(97, 24))
    write(LLAMA, tmp_path, {EMBEDDING["Llama"]: embedding, "lm_head.weight": embedding.clone()}, tie_word_embeddings=True)
    weights = load_checkpoint(tmp_path).weights
    assert weights.output_head is weights.token_embedding


def test_a_decoder_whose_embedding_is_stored_as_the_head(tmp_path):
    write(LLAMA, tmp_path, {"lm_head.weight": different(1, torch.empty(97, 24))}, tie_word_embeddings=True)
    token_ids = torch.arange(3, 14)[None]
    expected, missing = theirs(LLAMA, tmp_path, token_ids)
    assert not missing
    numpy.testing.assert_allclose(ours(tmp_path, token_ids), expected, atol=CLOSE, rtol=0)


def subsets(names: tuple[str, ...]) -> list[Any]:
    """All subsets; the small ones are slow tests."""
    return [
        pytest.param(subset, marks=[pytest.mark.slow] * (len(subset) < 3), id="+".join(subset))
        for size in range(1, len(names) + 1)
        for subset in itertools.combinations(names, size)
    ]


@pytest.mark.parametrize("are_equal", [True, False], ids=["equal", "different"])
@pytest.mark.parametrize("names", subsets(T5_TIED))
@pytest.mark.parametrize(("case", "is_tied"), [(T5, True), (T5, False), (MT5, False)], ids=["t5 tied", "t5 untied", "mt5"])
def test_t5(case, is_tied, names, are_equal, tmp_path):
    if (case is MT5 or are_equal) and len(names) < 3:
        pytest.skip("covered by the others")
    tensors = {name: different(0 if are_equal else seed, torch.empty(97, 24)) for seed, name in enumerate(names)}
    write(case, tmp_path, tensors, tie_word_embeddings=is_tied)
    check(case, tmp_path)


@pytest.mark.parametrize("are_equal", [True, False], ids=["equal", "different"])
@pytest.mark.parametrize("names", subsets(MARIAN_TIED))
@pytest.mark.parametrize("is_tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("is_shared", [True, False], ids=["shared", "not shared"])
def test_marian(is_shared, is_tied, names, are_equal, tmp_path):
    if are_equal and len(names) < 3:
        pytest.skip("covered by the others")
    tensors = {name: different(0 if are_equal else seed, torch.empty(97, 24)) for seed, name in enumerate(names)}
    write(MARIAN, tmp_path, tensors, tie_word_embeddings=is_tied, share_encoder_decoder_embeddings=is_shared)
    check(MARIAN, tmp_path)


def check(case: Case, folder: Path) -> None:
    source_ids, token_ids = torch.arange(3, 14)[None], torch.arange(20, 27)[None]
    expected, missing = theirs(case, folder, source_ids, token_ids)
    if missing and not only_the_shared_embedding(folder, missing):
        with pytest.raises(CheckpointError, match="without"):
            ours(folder, source_ids, token_ids)
        return
    if missing:
        return
    numpy.testing.assert_allclose(ours(folder, source_ids, token_ids), expected, atol=CLOSE, rtol=0)
    numpy.testing.assert_allclose(written_again(folder, source_ids, token_ids), expected, atol=CLOSE, rtol=0)


def only_the_shared_embedding(folder: Path, missing: set[str]) -> bool:
    """A Marian of transformers 4 without tied heads: version 5 draws the embeddings at random, Headway takes the shared one."""
    config, names = json.loads((folder / "config.json").read_text()), load_file(folder / "model.safetensors")
    return (
        "model.shared.weight" in names
        and "lm_head.weight" not in missing
        and config["share_encoder_decoder_embeddings"]
        and not config["tie_word_embeddings"]
    )


def test_marian_with_the_shared_embedding_alone_uses_it_for_source_and_target(tmp_path):
    shared, head = different(1, torch.empty(97, 24)), different(2, torch.empty(97, 24))
    token_ids = torch.arange(3, 14)[None], torch.arange(20, 27)[None]
    write(MARIAN, tmp_path / "one", {"model.shared.weight": shared, "lm_head.weight": head})
    write(MARIAN, tmp_path / "all", {MARIAN_TIED[1]: shared.clone(), MARIAN_TIED[2]: shared.clone(), "lm_head.weight": head})
    numpy.testing.assert_array_equal(ours(tmp_path / "one", *token_ids), ours(tmp_path / "all", *token_ids))


@pytest.mark.parametrize("scale", [1.0, 1.01])
def test_stored_positions_of_marian_are_accepted_only_if_they_are_the_sinusoids(scale, tmp_path):
    case = Case("marian", "Marian")
    case.model().save_pretrained(tmp_path)
    tensors, positions = load_file(tmp_path / "model.safetensors"), case.model().model.encoder.embed_positions.weight
    tensors |= {f"model.{part}.embed_positions.weight": positions.detach() * scale for part in ("encoder", "decoder")}
    save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    if scale == 1.0:
        check(case, tmp_path)
        return
    with pytest.raises(CheckpointError, match="embed_positions.weight with values of its own"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("is_tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("weight", ["absent", "equal", "different"])
@pytest.mark.parametrize("biases", [("bias",), ("decoder.bias",), ("bias", "decoder.bias")], ids="+".join)
def test_the_masked_token_head_of_bert(is_tied, weight, biases, tmp_path):
    config = transformers.BertConfig(
        vocab_size=31, hidden_size=12, num_hidden_layers=1, num_attention_heads=3, intermediate_size=20, max_position_embeddings=16
    )
    torch.manual_seed(0)
    transformers.BertForMaskedLM(config).save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    embedding = tensors["bert.embeddings.word_embeddings.weight"]
    for name in ("bias", "decoder.bias", "decoder.weight"):
        tensors.pop(f"cls.predictions.{name}", None)
    tensors |= {f"cls.predictions.{name}": different(seed, torch.empty(31)) for seed, name in enumerate(biases)}
    if weight != "absent":
        tensors["cls.predictions.decoder.weight"] = embedding.clone() if weight == "equal" else different(3, embedding)
    save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tie_word_embeddings": is_tied}))
    token_ids = torch.arange(4, 13)[None]
    model, info = transformers.BertForMaskedLM.from_pretrained(tmp_path, output_loading_info=True)
    if info["missing_keys"] - {"cls.predictions.bias"}:  # unused where the decoder has a bias
        with pytest.raises(CheckpointError, match=r"without cls\.predictions"):
            load_checkpoint(tmp_path)
        return
    with torch.no_grad():
        expected = model.eval()(token_ids).logits.numpy()
    loaded = load_checkpoint(tmp_path)
    hidden = loaded.architecture.encode(token_ids.numpy(), loaded.weights, loaded.config)
    numpy.testing.assert_allclose(
        loaded.architecture.masked_token_logits(hidden, loaded.weights, loaded.config), expected, atol=CLOSE, rtol=0
    )


def test_a_head_that_an_encoder_does_not_have_is_an_error(tmp_path):
    config = transformers.BertConfig(
        vocab_size=31, hidden_size=12, num_hidden_layers=1, num_attention_heads=3, intermediate_size=20, max_position_embeddings=16
    )
    transformers.BertModel(config).save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    save_file(tensors | {"lm_head.weight": torch.ones(31, 12)}, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(CheckpointError, match=r"additional tensors lm_head\.weight"):
        load_checkpoint(tmp_path)
