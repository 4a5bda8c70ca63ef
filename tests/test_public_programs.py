"""The benchmark on public programs runs on two small programs, and its changes are what they say."""

from __future__ import annotations

import ast
import hashlib
import random

import pytest

from benchmarks.mutants import mutants_of
from benchmarks.public_programs import main, read_list

SOFTMAX = """import numpy as np


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
"""
RMS_NORM = """import numpy as np


def rms_norm(x, weight, eps=1e-6):
    return x / np.sqrt((x**2).sum(axis=-1, keepdims=True) + eps) * weight
"""


@pytest.fixture
def programs(tmp_path):
    rows = []
    for owner, code, name, label in (("right", SOFTMAX, "softmax", "right"), ("wrong", RMS_NORM, "rms_norm", "wrong")):
        path = tmp_path / f"{owner}+repository" / "code" / "part.py"
        path.parent.mkdir(parents=True)
        path.write_text(code)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        rows.append(
            f'[[file]]\nrepository = "{owner}/repository"\npath = "code/part.py"\ncommit = "0"\nsha256 = "{digest}"\n'
            f'parts = [{{ object = "{name}", part = "{name}", label = "{label}" }}]\n'
        )
    (tmp_path / "list.toml").write_text("\n".join(rows))
    return tmp_path


def test_a_right_part_is_accepted_and_a_wrong_one_named(programs, capsys):
    main(["--programs", str(programs), "--list", str(programs / "list.toml")])
    printed = capsys.readouterr().out
    assert "| right | 1 | 1 | 0 |" in printed
    assert "| wrong | 1 | 0 | 1 |" in printed
    assert "Right parts accepted: 1 of 1 (100.0 %); called wrong: 0 of 1 (0.0 %)." in printed
    assert "failures of the command: 0" in printed


@pytest.mark.slow
def test_a_changed_program_is_detected(programs, capsys):
    changed = programs / "changed"
    changed.mkdir()
    (changed / "one.py").write_text(SOFTMAX.replace("powers / powers.sum(axis=-1", "powers / powers.sum(axis=0"))
    (changed / "programs.toml").write_text(
        '[[program]]\nfile = "one.py"\nsource = "right+repository/code/part.py"\nobject = "softmax"\nlines = [6]\nsays = "first axis"\n'
    )
    main(["--programs", str(programs), "--changed", str(changed)])
    printed = capsys.readouterr().out
    assert "| detected (exit code 1) | 1 of 1 (100.0 %) |" in printed
    assert "| each line within 1 of the change | 1 of 1 (100.0 %) |" in printed
    assert "| accepted | 0 of 1 (0.0 %) |" in printed


def test_a_file_with_another_checksum_is_refused(programs):
    program = read_list(programs / "list.toml")[0]
    program.path_in(programs).write_text(RMS_NORM)
    with pytest.raises(ValueError, match="expected"):
        program.download(programs)


def test_mutants_differ_from_the_program_in_one_place():
    for mutant in mutants_of(SOFTMAX, "softmax", random.Random(3)):
        assert ast.dump(ast.parse(mutant.text)) != ast.dump(ast.parse(SOFTMAX))
        different = [
            number for number, pair in enumerate(zip(mutant.text.splitlines(), SOFTMAX.splitlines(), strict=True), 1) if pair[0] != pair[1]
        ]
        assert different == [mutant.line]
