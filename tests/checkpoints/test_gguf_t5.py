"""T5 in GGUF files, against the folders from which llama.cpp's rules make them."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from headway import load
from headway.checkpoints import open_checkpoint
from headway.errors import CheckpointError, UnsupportedError
from headway.tokenizers import load_tokenizer
from headway.trees import leaves

gguf = pytest.importorskip("gguf", reason="llama.cpp's package gguf is not installed")

from tests.checkpoints.gguf_encoder_files import round_matrices  # noqa: E402
from tests.checkpoints.gguf_t5_files import convert, save  # noqa: E402
from tests.checkpoints.test_gguf import approximately  # noqa: E402
from tests.checkpoints.test_gguf_encoders import TEXTS  # noqa: E402

KINDS = {"tied": {}, "gated": {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}}
"""T5, and its version 1.1, of which Flan-T5 is."""
PROMPTS = [text for text in TEXTS if text]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {kind: save(tmp_path_factory.mktemp(kind), **keys) for kind, keys in KINDS.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_config_and_weights_are_those_of_the_folder(tmp_path, folders, kind):
    ours, theirs = open_checkpoint(convert(folders[kind], tmp_path / "model.gguf")), open_checkpoint(folders[kind])
    assert theirs.architecture.spec(theirs.config) == approximately(ours.architecture.spec(ours.config))
    for (path, expected), (other, actual) in zip(leaves(theirs.weights), leaves(ours.weights), strict=True):
        assert path == other
        numpy.testing.assert_array_equal(actual, expected, err_msg=path)
    assert ours.generation_config == {"decoder_start_token_id": 0, "eos_token_id": [1]}


def test_tokens_are_those_of_the_model_file(tmp_path, folders):
    theirs, ours = load_tokenizer(folders["tied"]), load_tokenizer(convert(folders["tied"], tmp_path / "model.gguf"))
    for text in TEXTS:
        assert ours.encode(text) == theirs.encode(text), text
        assert ours.decode(ours.encode(text)) == theirs.decode(theirs.encode(text)), text
    for name in ("eos_token_ids", "unk_token_id", "pad_token_id"):
        assert getattr(ours, name) == getattr(theirs, name), name


@pytest.mark.parametrize("format_name", ["F32", "F16", "Q8_0"])
@pytest.mark.parametrize("kind", KINDS)
def test_answers_and_vectors_are_those_of_a_folder_with_the_same_numbers(tmp_path, kind, format_name):
    folder = save(tmp_path / "folder", **KINDS[kind])
    path = convert(folder, tmp_path / "model.gguf", kind=format_name)
    round_matrices(folder, format_name, leaves_out=("relative_attention_bias",))
    theirs, ours = load(folder), load(path)
    numpy.testing.assert_allclose(ours.embed(TEXTS), theirs.embed(TEXTS), atol=1e-6, rtol=0)
    for prompt in PROMPTS:
        for options in ({"num_beams": 2}, {"temperature": 1.5, "seed": 3}):
            first, second = (model.generate(prompt, max_new_tokens=8, **options).token_ids for model in (ours, theirs))
            assert first == second


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_and_a_folder_of_an_encoder_have_its_vectors_and_no_answers(tmp_path, folders, kind):
    import transformers

    folder = tmp_path / "encoder"
    transformers.T5EncoderModel.from_pretrained(folders[kind]).save_pretrained(folder)
    for name in ("spiece.model", "tokenizer_config.json"):
        (folder / name).write_bytes((folders[kind] / name).read_bytes())
    expected = load(folders[kind]).embed(TEXTS)
    for path in (folder, convert(folder, tmp_path / "model.gguf")):
        model = load(path)
        numpy.testing.assert_allclose(model.embed(TEXTS), expected, atol=1e-6, rtol=0)
        assert model.kind == "encoder"
        with pytest.raises(UnsupportedError, match="got an encoder, which generates no text"):
            model.generate("x")
        with pytest.raises(UnsupportedError, match="got the weights of an encoder"):
            model.model.architecture.read(numpy.array([[3]]), model.model.weights, model.config)


def test_half_a_decoder_is_refused(tmp_path, folders):
    path = convert(folders["tied"], tmp_path / "model.gguf")
    content = path.read_bytes().replace(b"dec.blk.2.ffn_up", b"dec.blk.2.ffn_xx")
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"without dec\.blk\.2\.ffn_up\.weight, expected all or none of the tensors of its decoder"):
        open_checkpoint(path)


def test_position_biases_of_other_layers_are_refused(tmp_path, folders):
    """UMT5 has the same name of the architecture and a bias in each layer; T5's first files have one that is not used."""
    with pytest.raises(CheckpointError, match=r"the additional tensors dec\.blk\.1\.attn_rel_b\.weight"):
        open_checkpoint(convert(folders["tied"], tmp_path / "model.gguf", more="dec.blk.1.attn_rel_b.weight"))
    unused = open_checkpoint(convert(folders["tied"], tmp_path / "unused.gguf", more="dec.blk.0.cross_attn_rel_b.weight"))
    assert unused.weights.decoder.position_bias.any()
