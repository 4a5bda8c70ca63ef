from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import headway
from tests.cli.command import LOCALE
from tests.cli.command import headway as command

WRONG = "import numpy as np\ndef softmax(x):\n    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)\n"
RIGHT = (
    "import numpy as np\ndef softmax(x):\n    e = np.exp(x - x.max(axis=-1, keepdims=True))\n    return e / e.sum(axis=-1, keepdims=True)\n"
)


def run(*arguments, **environment):
    return command("check", *arguments, without=LOCALE, **environment)


@pytest.fixture
def wrong(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(WRONG)
    return str(path)


def test_a_mistake_is_named_with_its_line_and_the_exit_code_is_1(wrong):
    done = run(wrong)
    assert done.returncode == 1
    assert "the maximum is not subtracted" in done.stdout
    assert "(line 3)" in done.stdout


def test_right_code_is_correct_and_the_exit_code_is_0(tmp_path):
    (tmp_path / "mine.py").write_text(RIGHT)
    done = run(str(tmp_path / "mine.py"))
    assert (done.returncode, done.stdout) == (0, "✓ softmax (line 2) — softmax: correct\n")


def test_a_class_that_no_part_recognises_is_listed_as_not_judged_and_the_exit_code_stays_0(tmp_path):
    (tmp_path / "mine.py").write_text(
        RIGHT + "class Whole:\n    def __call__(self, ids):\n        return ids\nclass Settings:\n    width = 3\n"
    )
    done = run(str(tmp_path / "mine.py"))
    assert (done.returncode, done.stdout.splitlines()[1:]) == (0, ["· Whole (line 5) — not recognised: not judged"])
    as_chinese = run(str(tmp_path / "mine.py"), "--lang", "zh", "--require", "softmax,gpt2")
    assert as_chinese.returncode == 1
    assert "· Whole（第 5 行）— 未识别：未评判" in as_chinese.stdout
    listed = json.loads(run(str(tmp_path / "mine.py"), "--json").stdout)
    assert [(each["subject"], each["status"]) for each in listed] == [("softmax", "correct"), ("Whole", "not judged")]


def test_a_function_that_cannot_run_exits_with_2_unless_another_is_wrong(wrong, tmp_path):
    stub = tmp_path / "stub.py"
    stub.write_text(RIGHT + "def relu(x):\n    raise NotImplementedError\n")
    assert run(str(stub)).returncode == 2
    stub.write_text(WRONG + "def relu(x):\n    raise NotImplementedError\n")
    assert run(str(stub)).returncode == 1


def test_a_file_that_does_not_run_exits_with_2(tmp_path):
    (tmp_path / "mine.py").write_text("import numpy.nothing_of_that_name\n")
    done = run(str(tmp_path / "mine.py"))
    assert done.returncode == 2
    assert "pip install numpy.nothing_of_that_name" in done.stdout


@pytest.mark.slow
def test_the_language_is_the_locales_unless_asked_otherwise(wrong):
    assert "没有先减去最大值" in run(wrong, LANG="zh_CN.UTF-8").stdout
    assert "没有先减去最大值" in run(wrong, "--lang", "zh").stdout
    assert "the maximum is not subtracted" in run(wrong, "--lang", "en", LANG="zh_CN.UTF-8").stdout


def test_json_holds_both_languages(wrong):
    (verdict,) = json.loads(run(wrong, "--json").stdout)
    assert verdict["status"] == "wrong"
    assert verdict["causes"][0]["name"] == "no_shift"
    assert set(verdict["causes"][0]["says"]) == {"en", "zh"}


def test_nothing_recognisable_says_what_was_found_and_what_would_be(tmp_path):
    (tmp_path / "mine.py").write_text("def solve(x):\n    return x\n")
    done = run(str(tmp_path / "mine.py"))
    assert done.returncode == 2
    assert "with solve, expected a function whose name says which part it is" in done.stderr


@pytest.mark.parametrize("named", [[], ["--as", "softmax"]])
def test_a_file_without_definitions_needs_one_and_not_the_name_of_a_part(tmp_path, named):
    (tmp_path / "mine.py").write_text("x = 1\n")
    done = run(str(tmp_path / "mine.py"), *named)
    assert done.returncode == 2
    assert "hint: there is nothing to judge: define a function or a class" in done.stderr
    assert "hint: 没有可评判的内容：请定义一个函数或类" in run(str(tmp_path / "mine.py"), *named, "--lang", "zh").stderr


def test_errors_are_in_the_language_of_the_output(tmp_path, wrong):
    (tmp_path / "mine.py").write_text("def solve(x):\n    return x\n")
    assert "应有名字能说明是哪一部分的函数" in run(str(tmp_path / "mine.py"), "--lang", "zh").stderr
    assert "不存在" in run("none.py", LANG="zh_CN.UTF-8").stderr
    assert "应为以下之一" in run(wrong, "--as", "sofmax", "--lang", "zh").stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.py"], "which does not exist"),
        (["{file}", "--as", "sofmax"], "did you mean softmax"),
        (["{file}", "--lang", "fr"], "got --lang fr, expected en or zh"),
        (["{file}", "--format", "sariff"], "did you mean sarif?"),
        (["{file}", "--require", "softmax,sofmax"], "got 'sofmax'"),
        (["{file}", "--write"], "got --write without --fix"),
        (["{file}", "--fix", "--json"], "got --fix with --format json"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(wrong, arguments, said):
    done = run(*(each.format(file=wrong) for each in arguments))
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_function_is_checked_from_python_and_prints_and_renders():
    def softmax(x):
        return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)

    verdict = headway.check(softmax)
    assert verdict.causes[0].name == "no_shift"
    assert "the maximum is not subtracted" in str(verdict)
    assert verdict._repr_html_().startswith("<pre")
    assert verdict._repr_mimebundle_() == {"text/plain": str(verdict), "text/html": verdict.html()}
    assert headway.check(softmax, "softmax") == verdict


def test_a_name_that_says_nothing_needs_the_exercise():
    def mine(x):
        return x

    with pytest.raises(headway.errors.OptionError, match="got a function named mine, expected a name that says which part it is"):
        headway.check(mine)


@pytest.mark.slow
def test_the_pytest_fixture_fails_with_the_verdict(tmp_path):
    (tmp_path / "test_mine.py").write_text(WRONG + "\ndef test_softmax(headway_check):\n    headway_check(softmax)\n")
    plugin = ["-p", "headway.practice.pytest_plugin"] if not _is_registered() else []
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "the maximum is not subtracted" in done.stdout


def _is_registered():
    from importlib.metadata import entry_points

    return any(point.value == "headway.practice.pytest_plugin" for point in entry_points(group="pytest11"))


def called(monkeypatch, verdicts, **options):
    """Run the command in this process on verdicts that are given; return its exit code."""
    import typer

    from headway.cli import check
    from headway.practice import checking

    def check_file(path, *_, **__):
        if isinstance(verdicts, Exception):
            raise verdicts
        return list(verdicts)

    monkeypatch.setattr(checking, "check_file", check_file)
    with pytest.raises(typer.Exit) as raised:
        check.command(lang="en", **options)
    return raised.value.exit_code


@pytest.fixture
def repairable(tmp_path):
    from tests.practice.verdicts import TEXT

    path = tmp_path / "mine.py"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_fix_shows_the_repair_and_write_applies_it(monkeypatch, capsys, repairable):
    from tests.practice.verdicts import TEXT, WRONG

    assert called(monkeypatch, [WRONG], paths=[repairable], fix=True) == 1
    assert "+    scores = query @ key.T / np.sqrt(key.shape[-1])  # é" in capsys.readouterr().out
    assert repairable.read_text(encoding="utf-8") == TEXT
    assert called(monkeypatch, [WRONG], paths=[repairable], fix=True, write=True) == 1
    assert repairable.read_text(encoding="utf-8") == TEXT.replace("value.shape[-1]", "key.shape[-1]")
    assert "check it again" in capsys.readouterr().err


@pytest.mark.slow
def test_a_file_that_was_repaired_is_correct(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import numpy as np\ndef attention(query, key, value):\n"
        "    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(value.shape[-1])\n"
        "    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
        "    return weights / weights.sum(axis=-1, keepdims=True) @ value\n"
    )
    assert run(str(path), "--fix", "--write").returncode == 1
    assert run(str(path), "--seed", "3", "--forbid").returncode == 0


def test_a_failure_of_the_tool_is_exit_code_3_and_shows_its_traceback_only_with_debug(monkeypatch, capsys, repairable):
    assert called(monkeypatch, KeyError("query"), paths=[repairable]) == 3
    said = capsys.readouterr().err
    assert "headway failed on this file (KeyError: 'query'); your code may be right" in said
    assert "Traceback" not in said
    assert called(monkeypatch, KeyError("query"), paths=[repairable], debug=True) == 3
    assert "Traceback" in capsys.readouterr().err


def test_several_files_are_judged_under_their_names_and_a_missing_part_is_a_failure(wrong, tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    done = run(str(tmp_path / "right.py"), wrong, "--require", "softmax,relu", "--lang", "en")
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if not line.startswith(" ")] == [
        str(tmp_path / "right.py"),
        "✓ softmax (line 2) — softmax: correct",
        wrong,
        "✗ softmax (line 2) — softmax: wrong",
        "✗ relu — ReLU: missing",
    ]


def test_a_report_in_another_format_has_the_same_exit_code(wrong):
    done = run(wrong, "--format", "sarif")
    assert done.returncode == 1
    assert json.loads(done.stdout)["runs"][0]["results"][0]["ruleId"] == "softmax/no_shift"


def test_a_terminal_shows_the_file_that_is_being_checked_if_there_are_several(monkeypatch, capsys, repairable, tmp_path):
    from tests.practice.verdicts import WRONG

    (tmp_path / "\x1b[31mred.py").write_text("def relu(x):\n    return x\n")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    called(monkeypatch, [WRONG], paths=[repairable])
    assert capsys.readouterr().err == ""
    called(monkeypatch, [WRONG], paths=[tmp_path])
    shown = capsys.readouterr().err
    assert [each.removeprefix("\x1b[K") for each in shown.split("\r")[1:]] == [f"{tmp_path}/\\x1b[31mred.py", str(repairable), ""]
