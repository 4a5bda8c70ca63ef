"""docs/models.md: its Python runs, with small models in place of the published ones, and its commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import headway
from headway.models import ARCHITECTURES
from tests.cli.test_cli import answering_model
from tests.small_encoders import save_bert
from tests.test_readme import blocks, check_commands, commands

GUIDE = Path(__file__).parents[2] / "docs" / "models.md"


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path | str]:
    """A small model of the same family for each name in the guide."""
    bert = save_bert(tmp_path_factory.mktemp("bert"), "BertForMaskedLM")
    return {
        "Qwen/Qwen2-0.5B": "stories",
        "Helsinki-NLP/opus-mt-en-de": answering_model(tmp_path_factory.mktemp("t5")),
        "google-bert/bert-base-uncased": bert,
        "sentence-transformers/all-MiniLM-L6-v2": bert,
    }


@pytest.mark.parametrize("snippet", blocks(GUIDE, "python"), ids=range(len(blocks(GUIDE, "python"))))
def test_every_python_block_runs(snippet, folders, monkeypatch):
    load = headway.load
    monkeypatch.setattr(headway, "load", lambda name: load(folders[name]))
    exec(compile(snippet, GUIDE.name, "exec"), {})


def test_the_vectors_have_the_shape_that_the_guide_says(folders):
    vectors = headway.load(folders["sentence-transformers/all-MiniLM-L6-v2"]).embed(["paris", "a capital", "play"])
    assert vectors.shape == (3, 12)
    assert (vectors**2).sum(axis=1) == pytest.approx([1, 1, 1])


def test_every_command_and_option_exists():
    assert {subcommand for subcommand, *_ in commands(GUIDE)} == {"generate", "embed"}
    check_commands(GUIDE)


def test_every_architecture_is_in_the_table():
    text = GUIDE.read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in ARCHITECTURES)


def test_every_module_is_named():
    from headway import nn

    layers = {name for name in nn.__all__ if name[0].isupper()} - {"Module", "DropoutRates", "Encoder", "Decoder"}
    assert {name for name in layers if name not in GUIDE.read_text(encoding="utf-8")} == set()


def test_every_link_leads_to_a_file():
    targets = re.findall(r"\]\(([^)]+)\)", GUIDE.read_text(encoding="utf-8"))
    assert targets
    assert all((GUIDE.parent / target).exists() for target in targets)
