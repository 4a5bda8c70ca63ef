"""The examples run, with small models in place of the published ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_cli import answering_model
from tests.small_encoders import save_bert

FOLDER = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(FOLDER.glob("*.py"))


def run(name: str, *arguments: object) -> str:
    """Run an example and return what it prints."""
    command = [sys.executable, str(FOLDER / name), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_has_at_most_40_lines(path):
    assert len(path.read_text().splitlines()) <= 40


def test_every_example_is_listed():
    listed = (FOLDER / "README.md").read_text()
    assert [path.name for path in (*SCRIPTS, *FOLDER.glob("*.ipynb")) if f"({path.name})" not in listed] == []
    assert len(SCRIPTS) + len(list(FOLDER.glob("*.ipynb"))) == 8


def test_generate():
    assert "One rainy day" not in run("generate.py")  # the prompt is not repeated
    assert run("generate.py").count("tokens)") == 2


@pytest.mark.slow
def test_attention_on_four_libraries():
    output = run("attention_on_four_libraries.py")
    assert [line.split()[0] for line in output.splitlines()] == ["numpy", "torch", "jax", "mlx"]
    assert "skipped" not in output


@pytest.mark.slow
def test_search(tmp_path):
    output = run("search.py", save_bert(tmp_path, "BertModel"))
    assert len(output.splitlines()) == 4


@pytest.mark.slow
def test_fill_mask(tmp_path):
    assert "Paris is the".lower() in run("fill_mask.py", save_bert(tmp_path, "BertForMaskedLM")).lower()


@pytest.mark.slow
def test_translate(tmp_path):
    output = run("translate.py", answering_model(tmp_path))
    assert output.startswith("greedy:")
    assert output.count("(score") == 3


@pytest.mark.slow
def test_train_gpt2():
    assert run("train_gpt2.py", FOLDER.parent / "README.md", 5).strip()


@pytest.mark.slow
def test_torch_module():
    loss = float(run("torch_module.py").split("steps: ")[1].split()[0])
    assert loss < 0.1


def test_check_in_notebook(capsys):
    cells = json.loads((FOLDER / "check_in_notebook.ipynb").read_text())["cells"]
    names: dict[str, object] = {}
    verdicts = []
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
            verdicts.append(names["verdict"])
    assert [verdict.is_correct for verdict in verdicts] == [False, True]
    assert verdicts[0].causes[0].name.startswith("scale")
