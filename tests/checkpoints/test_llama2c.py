"""Files of llama2.c: stories260K, a trained model with the texts that llama2.c prints, and small files of every version."""

from __future__ import annotations

import dataclasses
import json
import shlex
from pathlib import Path

import numpy
import pytest

import headway
from headway import functions
from headway.arrays import ARRAY_LIBRARIES
from headway.checkpoints import load_llama2c
from headway.errors import CheckpointError, UnsupportedError
from headway.models import llama
from headway.trees import leaves
from tests.checkpoints.llama2c_files import llama2c_file
from tests.small_models import random_weights


class Xorshift:
    """llama2.c's own random numbers (run.c, random_f32)."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def uniform(self) -> numpy.ndarray:
        mask = 2**64 - 1
        self.state ^= self.state >> 12
        self.state ^= (self.state << 25) & mask
        self.state ^= self.state >> 27
        return numpy.asarray((((self.state * 0x2545F4914F6CDD1D) & mask) >> 40) / 2**24, numpy.float32)


def draw(logits: numpy.ndarray, top_p: float, random: numpy.ndarray) -> int:
    """Our samplers in llama2.c's order: it walks by token id, but by falling probability once it cuts at top_p."""
    if top_p >= 1:
        return int(functions.sample(logits, random))
    order = numpy.argsort(-functions.softmax(logits), kind="stable")
    return int(order[functions.sample(functions.keep_top_p(logits, top_p)[order], random)])


def sampled_text(model: headway.LanguageModel, prompt: str, num_steps: int, top_p: float, seed: int) -> str:
    parts, random = model.model, Xorshift(seed)
    prompt_ids = model.tokenizer.encode(prompt)
    cache = parts.architecture.new_kv_cache(model.config, 1, num_steps + 1, parts.weights.token_embedding)
    token_ids = prompt_ids[:1]
    for step in range(num_steps):
        logits = parts.architecture.forward(numpy.array([token_ids[-1:]]), parts.weights, model.config, kv_cache=cache, ops=parts.ops)
        in_prompt = step + 1 < len(prompt_ids)
        token_ids.append(prompt_ids[step + 1] if in_prompt else draw(logits[0, -1], top_p, random.uniform()))
    return model.tokenizer.decode(token_ids)


@pytest.fixture(scope="module")
def folder(data_dir) -> Path:
    return data_dir / "weights" / "stories260K"


@pytest.fixture(scope="module")
def expected(folder) -> dict:
    return json.loads((folder / "expected.json").read_text())


def option(run: dict, name: str, default: str) -> str:
    words = shlex.split(run["args"])
    return words[words.index(name) + 1] if name in words else default


@pytest.mark.parametrize("array", ARRAY_LIBRARIES)
def test_greedy_text_is_llama2cs_byte_for_byte(folder, expected, array):
    model = headway.load(folder, array=array, weights="none")
    assert model.generate("", max_new_tokens=200, temperature=0).text == expected["greedy_200"]


def test_greedy_text_of_the_compiled_decoder_is_llama2cs_byte_for_byte(folder, expected):
    model = headway.load(folder, weights="float32")
    assert model.generate("", max_new_tokens=200, temperature=0).text == expected["greedy_200"]


def test_greedy_text_from_the_file_itself_is_the_same(folder, expected):
    model = headway.load(folder, weights="none")
    again = headway.LanguageModel(load_llama2c(folder / "stories260K.bin"), model.tokenizer)
    assert again.generate("", max_new_tokens=200, temperature=0).text == expected["greedy_200"]


def test_seeded_texts_are_llama2cs_byte_for_byte(folder, expected):
    model = headway.load(folder, weights="float32")
    seeded = [run for run in expected["llama2_zig_runs"] if "--random_seed" in run["args"]]
    assert len(seeded) == 3
    for run in seeded:
        text = sampled_text(
            model,
            option(run, "--prompt", ""),
            int(option(run, "--sequence_length", "")),
            float(option(run, "--top_p", "")),
            int(option(run, "--random_seed", "")),
        )
        assert text == run["expected"], run["args"]


def test_a_truncated_file(folder, tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes((folder / "stories260K.bin").read_bytes()[:-8])
    with pytest.raises(CheckpointError, match="1,056,532 bytes, expected 1,056,540 according to its header"):
        load_llama2c(path)


SMALL = llama.Config(
    vocab_size=13,
    hidden_size=12,
    intermediate_size=8,
    num_hidden_layers=2,
    num_attention_heads=3,
    num_key_value_heads=1,
    max_position_embeddings=9,
    rms_norm_eps=1e-5,
    rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
)


@pytest.mark.parametrize("is_tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("version", [0, 1, 2])
def test_every_version_gives_back_the_weights(tmp_path, version, is_tied):
    config = dataclasses.replace(SMALL, tie_word_embeddings=is_tied)
    weights = random_weights(llama, config)
    (tmp_path / "model.bin").write_bytes(llama2c_file(config, weights, version))
    loaded = load_llama2c(tmp_path / "model.bin")
    assert loaded.config == config
    for (name, came), (_, expected) in zip(leaves(loaded.weights), leaves(weights), strict=True):
        half_a_step = abs(expected).max() / 127 / 2 if version == 2 and not name.endswith("norm.weight") else 0
        numpy.testing.assert_allclose(came, expected, atol=half_a_step * 1.001, rtol=0, err_msg=name)


def test_version_1_of_a_trained_model_gives_the_same_text(folder, expected, tmp_path):
    model = headway.load(folder, weights="none")
    version_1 = llama2c_file(model.config, model.model.weights, 1)
    (tmp_path / "stories.bin").write_bytes(version_1)
    again = headway.LanguageModel(load_llama2c(tmp_path / "stories.bin"), model.tokenizer)
    text = again.generate("", max_new_tokens=40, temperature=0).text
    assert text
    assert expected["greedy_200"].startswith(text)


def test_an_unknown_version_is_named_with_what_to_do(tmp_path):
    content = llama2c_file(SMALL, random_weights(llama, SMALL), 1)
    (tmp_path / "model.bin").write_bytes(content[:4] + (3).to_bytes(4, "little") + content[8:])
    with pytest.raises(UnsupportedError, match="of llama2.c version 3, expected version 0, 1 or 2\nhint: export the model again") as caught:
        load_llama2c(tmp_path / "model.bin")
    assert "--version 1" in caught.value.hint


def test_scales_at_the_end_of_the_file_are_not_taken_for_weights(tmp_path):
    """The first version-2 files, before runq.c could read them, had all scales after all matrices."""
    content = llama2c_file(SMALL, random_weights(llama, SMALL), 2)
    moved = content[:2000] + bytes([255]) * 400 + content[2400:]
    (tmp_path / "model.bin").write_bytes(moved)
    with pytest.raises(CheckpointError, match="a scale that is negative or not finite"):
        load_llama2c(tmp_path / "model.bin")


def test_a_group_that_does_not_divide_the_hidden_size(tmp_path):
    (tmp_path / "model.bin").write_bytes(
        llama2c_file(SMALL, random_weights(llama, SMALL), 2)[:37] + (5).to_bytes(4, "little") + b"\0" * 300
    )
    with pytest.raises(CheckpointError, match="groups of 5 weights, expected a divisor of the hidden size 12"):
        load_llama2c(tmp_path / "model.bin")


@pytest.mark.parametrize("content", [b"", b"abc", b"\0" * 64, b"\xff" * 64])
def test_a_file_that_is_no_checkpoint(tmp_path, content):
    path = tmp_path / "model.bin"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"got .*model\.bin"):
        load_llama2c(path)
