"""stories260K: a trained model whose text is known byte by byte, greedy and seeded, from llama2.c itself."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy
import pytest

import headway
from headway import functions
from headway.arrays import ARRAY_LIBRARIES
from headway.checkpoints import load_llama2c
from headway.errors import CheckpointError


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
    engine, random = model.engine, Xorshift(seed)
    prompt_ids = model.tokenizer.encode(prompt)
    cache = engine.architecture.new_kv_cache(model.config, 1, num_steps + 1, engine.weights.token_embedding)
    token_ids = prompt_ids[:1]
    for step in range(num_steps):
        logits = engine.architecture.forward(numpy.array([token_ids[-1:]]), engine.weights, model.config, kv_cache=cache, ops=engine.ops)
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
    with pytest.raises(CheckpointError, match="numbers; expected: .* by its header; download it again"):
        load_llama2c(path)


@pytest.mark.parametrize("content", [b"", b"abc", b"\0" * 64, b"\xff" * 64])
def test_a_file_that_is_no_checkpoint(tmp_path, content):
    path = tmp_path / "model.bin"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"came: .*model\.bin"):
        load_llama2c(path)
