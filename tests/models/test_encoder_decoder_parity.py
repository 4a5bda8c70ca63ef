"""Every encoder–decoder against transformers, which saved the folder that is loaded here."""

from __future__ import annotations

import json

import numpy
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from headway.arrays import ARRAY_LIBRARIES, from_numpy, to_numpy
from headway.checkpoints import load_checkpoint, save_checkpoint
from headway.errors import ShapeError
from headway.kernels import operations
from headway.models import marian, t5
from tests.models.saved_by_transformers import ENCODER_DECODER_CASES

CLOSE = 1e-4
ONE_PER_ARCHITECTURE = ("t5", "t5 gated, not scaled", "marian")
every_case = pytest.mark.parametrize("name", [case.name for case in ENCODER_DECODER_CASES])
one_per_architecture = pytest.mark.parametrize("name", ONE_PER_ARCHITECTURE)
every_library = pytest.mark.parametrize("array", ARRAY_LIBRARIES)


@every_case
def test_encoder_decoder_and_logits_equal_those_of_transformers(saved_encoder_decoder, name):
    saved = saved_encoder_decoder(name)
    loaded = load_checkpoint(saved.folder)
    module, weights, config = loaded.architecture, loaded.weights, loaded.config
    encoded = module.encode(saved.source_ids, weights, config, lengths=saved.lengths)
    for row, length in enumerate(saved.lengths):
        numpy.testing.assert_allclose(encoded[row, :length], saved.encoded[row, :length], atol=CLOSE, rtol=0)
    source = module.read(saved.source_ids, weights, config, lengths=saved.lengths)
    hidden = module.hidden_states(saved.token_ids, weights, config, source=source)
    numpy.testing.assert_allclose(hidden, saved.hidden, atol=CLOSE, rtol=0)
    logits = module.forward(saved.source_ids, saved.token_ids, weights, config, lengths=saved.lengths)
    numpy.testing.assert_allclose(logits, saved.logits, atol=CLOSE, rtol=0)


@every_library
@one_per_architecture
def test_logits_equal_those_of_transformers_in_every_library_with_its_fastest_operations(saved_encoder_decoder, name, array):
    saved = saved_encoder_decoder(name)
    loaded = load_checkpoint(saved.folder, array=array)
    source_ids, token_ids, lengths = (from_numpy(each, array) for each in (saved.source_ids, saved.token_ids, saved.lengths))
    logits = loaded.architecture.forward(source_ids, token_ids, loaded.weights, loaded.config, lengths=lengths, ops=operations(array))
    numpy.testing.assert_allclose(to_numpy(logits), saved.logits, atol=CLOSE, rtol=0)


@every_library
@one_per_architecture
def test_decoding_one_by_one_equals_one_pass(saved_encoder_decoder, name, array):
    saved = saved_encoder_decoder(name)
    loaded = load_checkpoint(saved.folder, array=array)
    module, weights, config = loaded.architecture, loaded.weights, loaded.config
    source = module.read(from_numpy(saved.source_ids, array), weights, config, lengths=from_numpy(saved.lengths, array))
    cache = module.new_kv_cache(config, 2, 9, weights.token_embedding)
    parts = [saved.token_ids[:, :3], *(saved.token_ids[:, i : i + 1] for i in range(3, 7))]
    passes = [
        module.logits(module.hidden_states(from_numpy(part.copy(), array), weights, config, source=source, kv_cache=cache), weights, config)
        for part in parts
    ]
    numpy.testing.assert_allclose(numpy.concatenate([to_numpy(each) for each in passes], axis=1), saved.logits, atol=CLOSE, rtol=0)


@one_per_architecture
def test_what_stands_in_the_padding_changes_nothing(saved_encoder_decoder, name):
    saved = saved_encoder_decoder(name)
    loaded = load_checkpoint(saved.folder)
    changed = saved.source_ids.copy()
    changed[1, 6:] = 5
    before, after = (
        loaded.architecture.forward(ids, saved.token_ids, loaded.weights, loaded.config, lengths=saved.lengths)
        for ids in (saved.source_ids, changed)
    )
    numpy.testing.assert_array_equal(before, after)


@every_library
@one_per_architecture
def test_a_source_of_padding_alone_gives_no_nan_and_leaves_the_others_as_they_are(saved_encoder_decoder, name, array):
    saved = saved_encoder_decoder(name)
    loaded, ops = load_checkpoint(saved.folder, array=array), operations(array)
    given = [from_numpy(each.copy(), array) for each in (saved.source_ids, saved.token_ids, saved.lengths * numpy.array([1, 0]))]
    logits = to_numpy(loaded.architecture.forward(*given[:2], loaded.weights, loaded.config, lengths=given[2], ops=ops))
    assert numpy.isfinite(logits).all()
    numpy.testing.assert_allclose(logits[0], saved.logits[0], atol=CLOSE, rtol=0)


@one_per_architecture
def test_a_row_of_a_batch_equals_the_row_alone(saved_encoder_decoder, name):
    saved = saved_encoder_decoder(name)
    loaded = load_checkpoint(saved.folder)
    alone = loaded.architecture.forward(saved.source_ids[1:, :6], saved.token_ids[1:], loaded.weights, loaded.config)
    numpy.testing.assert_allclose(alone, saved.logits[1:], atol=CLOSE, rtol=0)


@one_per_architecture
def test_a_later_target_token_never_changes_an_earlier_logit(saved_encoder_decoder, name):
    saved = saved_encoder_decoder(name)
    loaded = load_checkpoint(saved.folder)
    changed = saved.token_ids.copy()
    changed[:, 4] = (changed[:, 4] + 1) % 90
    before, after = (
        loaded.architecture.forward(saved.source_ids, ids, loaded.weights, loaded.config) for ids in (saved.token_ids, changed)
    )
    numpy.testing.assert_array_equal(before[:, :4], after[:, :4])
    assert abs(before[:, 4:] - after[:, 4:]).max() > 1e-3


@one_per_architecture
def test_every_source_token_reaches_every_target_token(saved_encoder_decoder, name):
    saved = saved_encoder_decoder(name)
    loaded = load_checkpoint(saved.folder)
    changed = saved.source_ids.copy()
    changed[:, 3] = (changed[:, 3] + 1) % 90
    before, after = (
        loaded.architecture.forward(ids, saved.token_ids, loaded.weights, loaded.config) for ids in (saved.source_ids, changed)
    )
    assert (abs(before - after).max(-1) > 1e-6).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@one_per_architecture
def test_half_precision_stays_half_precision(saved_encoder_decoder, name, dtype):
    saved = saved_encoder_decoder(name)
    loaded = load_checkpoint(saved.folder, dtype=dtype)
    logits = loaded.architecture.forward(saved.source_ids, saved.token_ids, loaded.weights, loaded.config, lengths=saved.lengths)
    assert logits.dtype == dtype
    assert numpy.corrcoef(logits.astype(numpy.float32).ravel(), saved.logits.ravel())[0, 1] > 0.999


@one_per_architecture
def test_what_is_written_is_read_back_and_opened_by_transformers(saved_encoder_decoder, tmp_path, name):
    saved = saved_encoder_decoder(name)
    loaded = load_checkpoint(saved.folder)
    save_checkpoint(tmp_path, loaded.architecture, loaded.config, loaded.weights, generation_config=loaded.generation_config)
    again = load_checkpoint(tmp_path)
    assert again.config == loaded.config
    logits = again.architecture.forward(saved.source_ids, saved.token_ids, again.weights, again.config, lengths=saved.lengths)
    numpy.testing.assert_allclose(logits, saved.logits, atol=CLOSE, rtol=0)
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path, dtype=torch.float32).eval()
    with torch.no_grad():
        mask = (torch.arange(11) < torch.from_numpy(saved.lengths)[:, None]).long()
        out = theirs(input_ids=torch.from_numpy(saved.source_ids), attention_mask=mask, decoder_input_ids=torch.from_numpy(saved.token_ids))
    numpy.testing.assert_allclose(out.logits, saved.logits, atol=CLOSE, rtol=0)


def test_the_own_head_of_a_published_t5_is_used(saved_encoder_decoder, tmp_path):
    """Flan-T5's folders say tie_word_embeddings=false, hold lm_head.weight, and the embedding under three names."""
    saved = saved_encoder_decoder("t5 gated, not scaled")
    tensors = load_file(saved.folder / "model.safetensors")
    head = torch.randn(tensors["shared.weight"].shape, generator=torch.Generator().manual_seed(3))
    copies = {f"{stack}.embed_tokens.weight": tensors["shared.weight"].clone() for stack in ("encoder", "decoder")}
    save_file(tensors | copies | {"lm_head.weight": head}, tmp_path / "model.safetensors", {"format": "pt"})
    keys = json.loads((saved.folder / "config.json").read_text())
    keys.pop("scale_decoder_outputs", None)
    (tmp_path / "config.json").write_text(json.dumps(keys | {"tie_word_embeddings": False, "n_positions": 512, "output_past": True}))
    loaded = load_checkpoint(tmp_path)
    logits = loaded.architecture.forward(saved.source_ids, saved.token_ids, loaded.weights, loaded.config, lengths=saved.lengths)
    numpy.testing.assert_allclose(logits, saved.hidden @ head.numpy().T, atol=CLOSE * 10, rtol=0)


def test_a_source_or_target_beyond_the_positions_of_marian_is_named(saved_encoder_decoder):
    loaded = load_checkpoint(saved_encoder_decoder("marian").folder)
    long, short = numpy.full((1, 65), 5), numpy.full((1, 3), 5)
    for source_ids, token_ids in ((long, short), (short, long)):
        with pytest.raises(ShapeError, match="got 65 tokens, expected at most max_position_embeddings=64"):
            marian.forward(source_ids, token_ids, loaded.weights, loaded.config)


def test_t5_reads_beyond_the_distance_that_its_buckets_tell_apart(saved_encoder_decoder):
    saved = saved_encoder_decoder("t5")
    loaded = load_checkpoint(saved.folder)
    source_ids = numpy.random.default_rng(0).integers(3, 90, (1, 700))
    with torch.no_grad():
        theirs = saved.load().get_encoder()(torch.from_numpy(source_ids)).last_hidden_state
    numpy.testing.assert_allclose(t5.encode(source_ids, loaded.weights, loaded.config), theirs, atol=CLOSE, rtol=0)
