"""The embedded model: as small as promised, an ordinary folder, and the same in transformers."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
import torch
import transformers

import headway
from headway.checkpoints import resolve_model
from headway.trees import leaves

FOLDER: Path = resolve_model("stories")
PROMPT = "Once upon a time, in a grand castle, there lived"


@pytest.fixture(scope="module")
def model() -> headway.LanguageModel:
    return headway.load("stories", weights="none")


def test_its_size_is_what_was_promised(model):
    sizes = {id(leaf): leaf.size for _, leaf in leaves(model.engine.weights)}
    assert 3_000_000 <= sum(sizes.values()) <= 5_000_000
    assert model.config.max_seq_len == 512
    assert model.config.vocab_size == model.tokenizer.vocab_size <= 4096
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) <= 10_000_000


def test_transformers_opens_it_unchanged_and_says_the_same(model):
    theirs = transformers.AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(FOLDER)
    token_ids = tokenizer(PROMPT)["input_ids"]
    assert token_ids == model.tokenizer.encode(PROMPT)
    with torch.no_grad():
        logits = theirs(torch.tensor([token_ids])).logits.numpy()
        written = theirs.generate(
            torch.tensor([token_ids]), attention_mask=torch.ones(1, len(token_ids)), do_sample=False, max_new_tokens=60
        )
    mine = model.engine.architecture.forward(numpy.array([token_ids]), model.engine.weights, model.config)
    numpy.testing.assert_allclose(mine, logits, atol=1e-4, rtol=0)
    assert model.generate(PROMPT, temperature=0, max_new_tokens=60).token_ids == written[0, len(token_ids) :].tolist()


def test_a_story_ends_by_itself_within_the_context(model):
    completions = model.generate(["Once upon a time", "The little fox", "One rainy day"], seed=1)
    assert [completion.finish_reason for completion in completions] == ["stop"] * 3
    assert all(80 < len(completion.text.split()) < 400 for completion in completions)
