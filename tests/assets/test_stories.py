"""The embedded model: small, an ordinary folder, the same in transformers, and stories that keep their names and things."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
import torch
import transformers

import headway
from headway.checkpoints import resolve_model
from headway.trees import leaves
from tools.stories.checker import find_slips

FOLDER: Path = resolve_model("stories")
PROMPT = "Once upon a time, in a grand castle, there lived"
OPENING = "Once upon a time"
# Measured: slips in 3 of 100 sampled stories, and in none of 20 greedy ones. Rounding differs between machines.
MAX_SAMPLED_SLIPS, MAX_GREEDY_SLIPS = 4, 1
PROMPTS = (
    "Once upon a time",
    "Once upon a time, there was a little fox named",
    "Once upon a time there was",
    "The little fox",
    "One rainy day",
    "One sunny morning, a",
    "Long ago, in a",
    "There was once a",
    "Have you ever heard of",
    "Everyone in the",
    "Far away, in a",
    "Not very long ago,",
    "Once upon a time, in a small village called",
    "Once upon a time, there was a girl called",
    "Once upon a time there was a boy named",
    "In a deep forest",
    "It was a windy",
    '"Good morning, world!"',
    "A long time ago, on a high mountain,",
    "Many years ago, by a busy harbour,",
)


@pytest.fixture(scope="module")
def model() -> headway.LanguageModel:
    return headway.load("stories", weights="none")


def test_its_size_is_what_was_promised(model):
    sizes = {id(leaf): leaf.size for _, leaf in leaves(model.model.weights)}
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
    mine = model.model.architecture.forward(numpy.array([token_ids]), model.model.weights, model.config)
    numpy.testing.assert_allclose(mine, logits, atol=1e-4, rtol=0)
    assert model.generate(PROMPT, temperature=0, max_new_tokens=60).token_ids == written[0, len(token_ids) :].tolist()


@pytest.mark.slow
def test_a_story_ends_by_itself_within_the_context(model):
    completions = model.generate(["Once upon a time", "The little fox", "One rainy day"], seed=1)
    assert [completion.finish_reason for completion in completions] == ["stop"] * 3
    assert all(80 < len(completion.text.split()) < 400 for completion in completions)


@pytest.mark.slow
def test_sampled_stories_keep_names_and_things():
    model = headway.load("stories")
    stories = [OPENING + model.generate(OPENING, seed=seed).text for seed in range(1000, 1040)]
    slips = {seed: found for seed, story in enumerate(stories, 1000) if (found := find_slips(story))}
    assert len(set(stories)) >= 38
    assert len(slips) <= MAX_SAMPLED_SLIPS, slips


@pytest.mark.slow
def test_greedy_stories_keep_names_and_things():
    model = headway.load("stories")
    completions = model.generate(list(PROMPTS), temperature=0)
    slips = {
        prompt: found for prompt, completion in zip(PROMPTS, completions, strict=True) if (found := find_slips(prompt + completion.text))
    }
    assert len(slips) <= MAX_GREEDY_SLIPS, slips
