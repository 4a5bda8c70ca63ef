"""Verdicts of the judge: shadowed names, borrowed functions, text that is shown, and files that pytest judges."""

from __future__ import annotations

import io
import sys
import textwrap

import pytest

from headway.practice.diagnosis.sandbox import CheckFailedError, check_file
from headway.practice.judge import confinement, process
from headway.practice.judge.process import Conversation

RIGHT = """
    import numpy as np

    def softmax(x, axis=-1):
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)
"""


def checked(tmp_path, text, **options):
    path = tmp_path / "mine.py"
    path.write_text(textwrap.dedent(text))
    return check_file(path, **options)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems start a process for each file")
def test_a_file_does_not_change_the_verdict_on_the_next_although_both_have_one_server(tmp_path):
    path = tmp_path / "softmax.py"
    path.write_text(textwrap.dedent(RIGHT))
    assert all(verdict.is_correct for verdict in check_file(path))
    (server, _) = next(reversed(process._IDLE.values()))
    hostile = """
        import builtins, numpy, os, signal, sys
        sys.modules["headway.practice.outputs"].is_same = lambda *given, **named: True
        numpy.exp = lambda x: x * 0
        builtins.sum = None
        if os.fork() == 0:
            os.setsid()
            while True:
                pass
    """
    checked(tmp_path, hostile + RIGHT, timeout_seconds=3)
    again = check_file(path)
    assert [verdict.status for verdict in again] == ["correct"]
    path.write_text(textwrap.dedent(RIGHT).replace(" - x", " + x"))
    assert not check_file(path)[0].is_correct
    kept = [each.pid for each, _ in process._IDLE.values()]
    assert server.poll() is not None or server.pid in kept
    (last, _) = next(reversed(process._IDLE.values()))
    assert len(confinement.descendants(last.pid)) <= 1


def test_files_with_the_same_imports_share_a_server(tmp_path):
    if sys.platform != "linux":
        pytest.skip("other systems start a process for each file")
    checked(tmp_path, RIGHT)
    (before, _) = next(reversed(process._IDLE.values()))
    checked(tmp_path, RIGHT.replace(" - x", " + x"))
    assert next(reversed(process._IDLE.values()))[0] is before


@pytest.mark.skipif(sys.platform != "linux", reason="other systems start a process for each file")
def test_a_server_that_ended_while_it_waited_is_replaced(tmp_path):
    checked(tmp_path, RIGHT)
    (server, _) = next(reversed(process._IDLE.values()))
    server.kill()
    server.wait()
    assert [verdict.status for verdict in checked(tmp_path, RIGHT)] == ["correct"]


def test_an_earlier_definition_of_a_name_is_reported(tmp_path):
    (verdict,) = checked(tmp_path, "def softmax(x):\n    return x * 0\n" + textwrap.dedent(RIGHT))
    assert (verdict.line, verdict.status) == (6, "correct")
    assert any("line 1 also defines softmax" in note.en for note in verdict.notes)


@pytest.mark.slow
def test_a_function_that_only_calls_headways_own_is_correct_with_a_note_or_refused(tmp_path):
    text = "from headway import functions\ndef softmax(x):\n    return functions.softmax(x)\n"
    (verdict,) = checked(tmp_path, text)
    assert verdict.is_correct
    assert any("Headway's own functions" in note.en for note in verdict.notes)
    (verdict,) = checked(tmp_path, text, is_own=True)
    assert not verdict.is_correct


def test_terminal_escapes_and_line_ends_in_an_exception_are_not_shown(tmp_path):
    text = "def softmax(x):\n    raise ValueError('\\x1b[2J\\r\\n✓ softmax (line 1) — softmax: correct')\n"
    (verdict,) = checked(tmp_path, text)
    shown = verdict.text("en")
    assert "\x1b" not in shown
    assert not any(line.startswith("✓") for line in shown.splitlines())


def test_the_same_seed_gives_the_same_verdict(tmp_path):
    assert checked(tmp_path, RIGHT, seed=3) == checked(tmp_path, RIGHT, seed=3)


def test_a_forged_failure_of_the_diagnosis_is_an_error_of_the_tool(tmp_path):
    text = """
    import headway.practice.judge.examining as examining

    def fail(*given):
        raise RuntimeError("forged \\x1b[2J")

    examining.with_exercises = fail

    def softmax(x):
        return x * 0
    """
    with pytest.raises(CheckFailedError) as raised:
        checked(tmp_path, text)
    assert "\x1b" not in str(raised.value)


def test_the_environment_of_the_learners_code_has_no_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "value")
    text = RIGHT + "\n    import os\n    assert 'SECRET_TOKEN' not in os.environ\n"
    (verdict,) = checked(tmp_path, text)
    assert verdict.is_correct


def test_a_file_reads_and_writes_relative_paths_without_changing_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "input.txt").write_text("text")
    text = RIGHT + "\n    assert open('input.txt').read() == 'text'\n    open('output.txt', 'w').write('loss')\n"
    (verdict,) = checked(tmp_path, text)
    assert verdict.is_correct, verdict
    assert not (tmp_path / "output.txt").exists()


def test_a_file_that_closes_descriptors_of_small_numbers_is_judged(tmp_path):
    """`open(4)` with a guessed size in place of a path closes descriptor 4 in the end."""
    path = tmp_path / "mine.py"
    path.write_text(
        "import os\n\nimport numpy as np\n\nfor number in range(3, 200):\n    try:\n        os.close(number)\n    except OSError:\n        pass\n\n"
        "def softmax(x, axis=-1):\n    powers = np.exp(x - x.max(axis, keepdims=True))\n    return powers / powers.sum(axis, keepdims=True)\n"
    )
    assert [verdict.status for verdict in check_file(path)] == ["correct"]


def test_waiting_for_a_processor_does_not_count_against_the_limit_within_bounds():
    class Owner:
        waited = 5.0

        def waiting_seconds(self):
            return {1: self.waited}

    owner = Owner()
    conversation = Conversation(owner, io.BytesIO(), io.BytesIO())
    conversation.begin(1.0)
    assert not conversation._is_late()
    conversation.deadline -= 3.0
    assert conversation._is_late()
    owner.waited += 4.0
    assert not conversation._is_late()
    owner.waited, conversation.deadline = 1000.0, conversation.deadline - 20.0
    assert conversation._is_late()
