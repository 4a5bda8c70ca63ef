"""headway look."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from headway.cli.commands import app
from headway.look.trace import Trace


def run(*arguments):
    return CliRunner().invoke(app, ["look", *map(str, arguments)])


def test_a_definition_is_shown_with_example_inputs():
    result = run("softmax", "--lang", "en")
    assert result.exit_code == 0
    assert "weights (batch=3, size=5) float64" in result.stdout


def test_inputs_are_read_from_a_file(tmp_path):
    np.savez(tmp_path / "mine.npz", x=np.array([[7.25, 1.0]]))
    trace = Trace.from_json(run("softmax", "--input", tmp_path / "mine.npz", "--json").stdout)
    assert trace.call.arguments[0].numbers == (7.25, 1.0)


def test_the_page_is_written_to_a_file(tmp_path):
    result = run("softmax", "--html", tmp_path / "out.html", "--lang", "zh")
    assert result.stdout == ""
    assert "已写入" in result.stderr
    assert (tmp_path / "out.html").read_text().startswith("<!doctype html>")


def test_json_has_a_schema():
    assert json.loads(run("softmax", "--json").stdout)["schema"] == "headway/trace/v1"


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [(["sofmax"], "expected the name of a definition", "softmax"), (["softmax", "--input", "missing.npz"], "does not exist", "")],
)
def test_wrong_arguments_are_explained(arguments, message, hint):
    error = run(*arguments, "--lang", "en").exception
    assert message in str(error)
    assert hint in (error.hint or "")


def test_inputs_that_are_no_parameters_are_refused(tmp_path):
    np.savez(tmp_path / "mine.npz", y=np.ones(2))
    error = run("softmax", "--input", tmp_path / "mine.npz", "--lang", "en").exception
    assert "got inputs y, expected some of x, axis" in str(error)
    assert error.hint == "missing: x"


def test_a_prompt_goes_through_a_model():
    result = run("--model", "stories", "Once upon a time", "--lang", "en")
    assert "Tokens: Once/" in result.stdout
    assert "Logit lens" in result.stdout
    assert json.loads(run("--model", "stories", "Once", "--json").stdout)["schema"] == "headway/model-trace/v1"


def test_a_switched_off_layer_changes_the_next_token():
    before, after = (json.loads(run("-m", "stories", "Once upon", "--json", *more).stdout) for more in ([], ["--ablate", "0"]))
    assert before["logits"] != after["logits"]
    assert after["ablated"] == [[0, -1]]


def test_two_prompts_are_compared():
    result = run("-m", "stories", "Once upon", "--ablate", "2.1", "--compare", "Once upon a", "--lang", "en")
    assert "Switched off: 2.1" in result.stdout
    assert result.stdout.count("Logit lens") == 2
    assert "Largest changes of the next token" in result.stdout
    first, second = json.loads(run("-m", "stories", "Once upon", "--ablate", "2.1", "--compare", "Once", "--json").stdout)
    assert (first["ablated"], second["ablated"]) == ([[2, 1]], [])
    assert (first["prompt"], second["prompt"]) == ("Once upon", "Once")


@pytest.mark.parametrize("option", ["--ablate", "--compare"])
def test_options_of_prompts_need_a_model(option):
    assert f"got {option} without --model" in str(run("softmax", option, "0", "--lang", "en").exception)


def test_something_to_look_at_is_needed():
    assert "got no WHAT" in str(run("--lang", "en").exception)


@pytest.mark.parametrize("part", ["x", "99", "0.99"])
def test_a_part_that_does_not_exist_is_refused(part):
    assert "to switch off" in str(run("-m", "stories", "Once", "--ablate", part).exception)


def test_a_file_is_shown_next_to_its_definition(tmp_path):
    (tmp_path / "mine.py").write_text("import numpy as np\n\ndef softmax(x):\n    e = np.exp(x)\n    return e / e.sum(-1, keepdims=True)\n")
    result = run(tmp_path / "mine.py", "--lang", "zh")
    assert "你的代码" in result.stdout
    assert "第一行值不同的代码" in result.stdout
    assert "Softmax: map scores" in result.stdout


def test_any_function_of_a_file_is_shown_with_given_inputs(tmp_path):
    (tmp_path / "mine.py").write_text("def other(x):\n    return x\n\ndef shifted(x):\n    y = x + 1\n    return y\n")
    np.savez(tmp_path / "mine.npz", x=np.array([7.25, 1.0]))
    result = run(tmp_path / "mine.py", "--function", "shifted", "--input", tmp_path / "mine.npz", "--values", "--lang", "en")
    assert "8.25" in result.stdout


@pytest.mark.slow
def test_a_part_of_the_workbook_is_shown(tmp_path):
    folder = tmp_path / "practice"
    CliRunner().invoke(app, ["practice", "start", str(folder), "--no-watch", "--lang", "en"])
    (path,) = folder.glob("*softmax.py")
    path.write_text("import numpy as np\n\ndef softmax(x):\n    e = np.exp(x)\n    return e / e.sum(-1, keepdims=True)\n")
    result = CliRunner().invoke(app, ["practice", "look", "softmax", "--folder", str(folder), "--lang", "en"])
    assert "Your code" in result.stdout
    assert "first line whose value differs" in result.stdout
