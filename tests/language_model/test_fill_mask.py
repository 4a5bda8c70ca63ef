"""Masked-token predictions equal those of transformers, and the text around the masks is unchanged."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
import torch
import transformers
from safetensors.numpy import load_file, save_file

from headway.arrays import ARRAY_LIBRARIES
from headway.checkpoints import load_checkpoint, open_checkpoint, resolve_model
from headway.errors import NotFiniteError, OptionError, PromptError, TokenizerError, UnsupportedError
from headway.kernels import operations
from headway.language_model.fill_mask import fill_mask
from headway.tokenizers import load_tokenizer
from tests.small_encoders import VOCAB, save_bert


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small random BERT with a masked-token head and its tokenizer."""
    return save_bert(tmp_path, "BertForMaskedLM")


def prefer(folder: Path, *tokens: str) -> None:
    """Make these tokens the most likely ones everywhere, in this order."""
    tensors = load_file(folder / "model.safetensors")
    for place, token in enumerate(tokens):
        tensors["cls.predictions.bias"][VOCAB.index(token)] = 100 - 10 * place
    save_file(tensors, folder / "model.safetensors")


def fill(folder: Path, text: str, **options):
    return fill_mask(text, load_checkpoint(folder), load_tokenizer(folder), **options)


@pytest.mark.parametrize("text", ["Paris is the [MASK] of France.", "[MASK] is the capital [MASK] [MASK]."])
def test_candidates_and_probabilities_equal_those_of_transformers(folder, text):
    tokenizer, model = transformers.BertTokenizer.from_pretrained(folder), transformers.BertForMaskedLM.from_pretrained(folder)
    encoded = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        probabilities = model.eval()(**encoded).logits.softmax(-1)[encoded["input_ids"] == tokenizer.mask_token_id]
    expected = probabilities.topk(3)
    masks = fill(folder, text, top_k=3).masks
    assert [[each.token_id for each in mask] for mask in masks] == expected.indices.tolist()
    numpy.testing.assert_allclose([[each.probability for each in mask] for mask in masks], expected.values.numpy(), atol=1e-5)
    assert [[each.text for each in mask] for mask in masks] == [[VOCAB[each] for each in row] for row in expected.indices]


@pytest.mark.parametrize("array", ARRAY_LIBRARIES)
def test_every_library_predicts_the_same_tokens(folder, array):
    text = "[MASK] is the [MASK] of France."
    expected = fill(folder, text)
    filled = fill_mask(text, load_checkpoint(folder, array=array), load_tokenizer(folder), array=array, ops=operations(array))
    assert filled.text == expected.text
    for one, other in zip(filled.masks, expected.masks, strict=True):
        assert [each.token_id for each in one] == [each.token_id for each in other]
        numpy.testing.assert_allclose([each.probability for each in one], [each.probability for each in other], atol=1e-5)


@pytest.mark.parametrize(
    ("token", "text", "filled"),
    [
        ("capital", "PARIS is  the [MASK] of\tFrance.", "PARIS is  the capital of\tFrance."),
        ("capital", "[MASK]: the ([MASK])", "capital: the (capital)"),
        ("##ing", "Play [MASK] the", "Playing the"),
        (".", "Paris [MASK]", "Paris."),
    ],
)
def test_the_text_around_a_mask_is_unchanged(folder, token, text, filled):
    prefer(folder, token)
    result = fill(folder, text)
    assert (result.text, str(result)) == (filled, filled)


def test_top_k_candidates_are_sorted_by_probability(folder):
    prefer(folder, "france", "paris")
    (candidates,) = fill(folder, "[MASK] is", top_k=1000).masks
    assert [each.text for each in candidates[:2]] == ["france", "paris"]
    assert len(candidates) == len(VOCAB)
    assert sum(each.probability for each in candidates) == pytest.approx(1, abs=1e-6)
    assert len(fill(folder, "[MASK] is").masks[0]) == 5


def test_a_text_without_a_mask_is_an_error(folder):
    with pytest.raises(PromptError, match=r"got a text without \[MASK\], expected at least one"):
        fill(folder, "Paris is the capital of France.")


def test_a_text_longer_than_the_models_positions_is_an_error(folder):
    with pytest.raises(PromptError, match="15 tokens"):
        fill(folder, "the " * 12 + "[MASK]")


def test_a_model_without_the_head_is_an_error(folder):
    tensors = load_file(folder / "model.safetensors")
    save_file({name: tensor for name, tensor in tensors.items() if not name.startswith("cls.")}, folder / "model.safetensors")
    with pytest.raises(UnsupportedError, match="without a masked-token head"):
        fill(folder, "[MASK]")


def test_a_decoder_is_an_error():
    path = resolve_model("stories")
    with pytest.raises(UnsupportedError, match="got a model of kind 'decoder', expected an encoder with a masked-token head"):
        fill_mask("[MASK]", open_checkpoint(path), load_tokenizer(path))


def test_a_tokenizer_without_a_mask_token_is_an_error(folder):
    with pytest.raises(TokenizerError, match="got a tokenizer without a mask token"):
        fill_mask("[MASK]", load_checkpoint(folder), load_tokenizer(resolve_model("stories")))


@pytest.mark.parametrize("top_k", [0, -1])
def test_a_top_k_below_one_is_an_error(folder, top_k):
    with pytest.raises(OptionError, match=f"got top_k={top_k}, expected an integer of at least 1"):
        fill(folder, "[MASK]", top_k=top_k)


def test_logits_that_are_nan_are_an_error(folder):
    tensors = load_file(folder / "model.safetensors")
    tensors["cls.predictions.bias"][:] = numpy.nan
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(NotFiniteError, match="got NaN or infinity among the logits"):
        fill(folder, "[MASK]")
