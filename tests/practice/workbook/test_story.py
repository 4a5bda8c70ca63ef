"""The learner's functions run a model: the embedded one, and small ones that fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.cli.embedded_gpt2 import embedded_model
from headway.practice.workbook.parts import NAMES
from headway.practice.workbook.story import tell_story
from tests.practice.workbook.test_solutions import SLOW, solved


@pytest.fixture(scope="module")
def embedded():
    return embedded_model()


@pytest.fixture
def short(embedded):
    """The embedded model with a dozen tokens to generate."""
    return replace(embedded, expected=embedded.expected[:16])


@pytest.mark.slow
@pytest.mark.parametrize("array", ["numpy", *SLOW])
def test_the_learners_functions_write_the_story_that_headway_writes(tmp_path, embedded, short, array):
    model = embedded if array == "numpy" else short
    verdict, text = tell_story(solved(tmp_path, array), array, model)
    assert verdict.is_correct, verdict
    assert text == model.decode(model.expected)
    assert text.startswith("Once upon a time")
    for name in NAMES[:-1]:
        assert f"{name} × " in verdict.notes[0].en
    assert "not called" not in verdict.notes[0].en


def test_an_unused_part_is_named(tmp_path, short):
    solved(tmp_path, "numpy")
    path = tmp_path / "gpt2.py"
    path.write_text(path.read_text().replace("embed(token_ids, wte)", "wte[token_ids]"))
    verdict, _ = tell_story(tmp_path, "numpy", short)
    assert verdict.is_correct
    assert verdict.notes[0].en.endswith("; not called: embed")
    assert verdict.notes[0].zh.endswith("；未被调用：embed")


def test_the_first_token_that_differs_is_named(tmp_path, short):
    solved(tmp_path, "numpy")
    path = tmp_path / "generate.py"
    path.write_text(path.read_text().replace("    return token_ids", "    token_ids[6] = 5\n    return token_ids"))
    verdict, text = tell_story(tmp_path, "numpy", short)
    (cause,) = verdict.causes
    assert (verdict.status, cause.name) == ("wrong", "another_text")
    ours = repr(short.decode(short.expected[6:7]))
    assert f"token 7 of {len(short.expected)} is {short.decode([5])!r}, expected {ours}; the tokens before it match" in cause.says.en
    assert text


@pytest.mark.parametrize(
    ("file", "old", "new", "name", "printed"),
    [
        ("story.py", "    return generate", "    return undefined_name", "raises_NameError", "undefined_name"),
        ("story.py", "    return generate", "    exit()\n    return generate", "raises_SystemExit", "SystemExit"),
        ("story.py", "    return generate", "    import os\n    os._exit(0)\n    return generate", "exits", "ends the process"),
        ("story.py", "return generate(model, prompt, max_new_tokens, context_size)", "return [99999]", "no_token_ids", "[99999]"),
        ("linear.py", "def linear(", "def linear((", "raises_SyntaxError", "SyntaxError"),
        ("story.py", "def story", "def __hidden", "no_function", "no function story"),
    ],
)
def test_every_failure_gets_a_verdict(tmp_path, short, file, old, new, name, printed):
    solved(tmp_path, "numpy")
    path = tmp_path / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    verdict, text = tell_story(tmp_path, "numpy", short)
    assert (verdict.status, verdict.causes[0].name, text) == ("could not run", name, "")
    assert printed in verdict.causes[0].says.en
    assert verdict.causes[0].says.zh


def test_an_exception_points_to_the_file_that_raised_it(tmp_path, short):
    solved(tmp_path, "numpy")
    path = tmp_path / "linear.py"
    path.write_text(path.read_text().replace("weight.T", "weight"))
    verdict, _ = tell_story(tmp_path, "numpy", short)
    assert verdict.causes[0].fix.en.startswith("check linear.py, line ")
    assert verdict.causes[0].fix.zh.endswith("：`product = x @ weight`")


def test_a_missing_or_undecodable_file_gets_a_verdict(tmp_path, short):
    solved(tmp_path, "numpy")
    (tmp_path / "gelu.py").write_bytes("# 激活函数".encode("gbk"))
    verdict, _ = tell_story(tmp_path, "numpy", short)
    assert verdict.causes[0].says.en == "cannot read gelu.py: missing or not UTF-8"
    (tmp_path / "embed.py").unlink()
    verdict, _ = tell_story(tmp_path, "numpy", short)
    assert verdict.causes[0].says.zh.startswith("无法读取 embed.py")


def test_a_story_without_its_prompt_is_correct(tmp_path, short):
    solved(tmp_path, "numpy")
    path = tmp_path / "generate.py"
    path.write_text(path.read_text().replace("    return token_ids", "    return np.array(token_ids[len(prompt):])"))
    verdict, text = tell_story(tmp_path, "numpy", short)
    assert verdict.is_correct
    assert text.startswith("Once upon a time")


def test_renamed_parameters_are_accepted(tmp_path, short):
    solved(tmp_path, "numpy")
    for name in ("multi_head_attention", "transformer_block", "gpt2", "story"):
        path = tmp_path / f"{name}.py"
        path.write_text(path.read_text().replace("num_heads", "n_head").replace("token_ids", "ids"))
    verdict, _ = tell_story(tmp_path, "numpy", short)
    assert verdict.is_correct, verdict
