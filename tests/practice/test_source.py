from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import headway
from headway.errors import OptionError
from headway.practice.fixing import diff_of, edits_of, write_fix
from headway.practice.message import Message
from headway.practice.source import located, read
from headway.practice.verdict import Edit, Verdict
from tests.practice.verdicts import TEXT, WRONG, repaired

EDIT = "np.sqrt(key.shape[-1])"


def notebook(path, cells, **options):
    """Write a notebook whose attention is in the given cells."""
    stored = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(stored, ensure_ascii=False, **options) + "\n", encoding="utf-8")
    return path


CELLS = [
    {"cell_type": "markdown", "source": ["# attention"]},
    {"cell_type": "code", "source": ["%matplotlib inline\n", "import numpy as np"]},
    {"cell_type": "code", "source": TEXT.splitlines(keepends=True)[2:]},
]
IN_CELLS = Verdict("attention", "scaled_dot_product_attention", 4, "wrong")


def test_a_verdict_gets_the_range_of_its_definition_in_characters(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("x = 'é'; softmax = lambda x: 'é'\n\n@staticmethod\ndef relu(x):\n    return 'é' * x\n", encoding="utf-8")
    source = read(path)
    places = [located(Verdict(name, name, line, "correct"), source) for name, line in (("softmax", 1), ("relu", 3))]
    assert [(each.line, each.column, each.end_line, each.end_column) for each in places] == [(1, 1, 1, 8), (3, 1, 5, 19)]
    assert places[0].file == path.as_posix()


def test_the_line_of_a_cause_is_marked_without_indentation_and_comment(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(TEXT, encoding="utf-8")
    verdict = located(Verdict("attention", "scaled_dot_product_attention", 3, "wrong", WRONG.causes), read(path))
    assert (verdict.causes[0].line, verdict.causes[0].column, verdict.causes[0].end_column) == (4, 5, 54)


def test_a_cause_on_the_line_of_the_repair_gets_its_range(tmp_path):
    (verdict,) = repaired(tmp_path / "mine.py").verdicts
    assert (verdict.causes[0].column, verdict.causes[0].end_column) == (38, 53)


def test_a_verdict_on_a_notebook_names_the_cell_and_the_line_in_it(tmp_path):
    source = read(notebook(tmp_path / "mine.ipynb", CELLS))
    line = source.text.split("\n").index("def attention(query, key, value):") + 1
    verdict = located(Verdict("attention", "scaled_dot_product_attention", line, "correct"), source)
    assert (verdict.cell, verdict.line, verdict.end_line) == (3, 1, 3)
    assert verdict.text("en").startswith("✓ attention (cell 3, line 1) —")
    assert "（第 3 个单元格第 1 行）" in verdict.text("zh")
    assert source.line_of(3, 1) == line


def test_a_file_with_a_syntax_error_has_a_place(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def softmax(x)\n    return x\n")
    verdict = located(Verdict("mine.py", "file", 1, "could not run"), read(path))
    assert (verdict.line, verdict.column, verdict.end_column) == (1, 1, 15)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_a_fix_changes_its_range_and_keeps_line_ends_and_permissions(tmp_path, newline, bom):
    path = tmp_path / "mine.py"
    text = bom + TEXT.replace("\n", newline)
    report = repaired(path, text)
    path.chmod(0o740)
    write_fix(report.files[0].source, edits_of(report.verdicts))
    assert path.read_bytes().decode() == text.replace("np.sqrt(value.shape[-1])", EDIT)
    assert path.stat().st_mode & 0o777 == 0o740


def test_a_fix_is_shown_as_a_diff(tmp_path):
    report = repaired(tmp_path / "mine.py")
    lines = diff_of(report.files[0].source, edits_of(report.verdicts)).splitlines()
    assert [line for line in lines if line[:1] in "+-" and line[:2] not in ("++", "--")] == [
        "-    scores = query @ key.T / np.sqrt(value.shape[-1])  # é",
        "+    scores = query @ key.T / np.sqrt(key.shape[-1])  # é",
    ]


def test_a_fix_of_a_changed_file_is_refused(tmp_path):
    path = tmp_path / "mine.py"
    report = repaired(path)
    path.write_text("changed")
    with pytest.raises(OptionError, match="changed since it was checked"):
        write_fix(report.files[0].source, edits_of(report.verdicts))
    assert path.read_text() == "changed"


@pytest.mark.parametrize("options", [{"indent": 1}, {"indent": 4}, {"separators": (",", ":")}, {}])
def test_a_fix_of_a_notebook_changes_only_its_cell(tmp_path, options):
    path = notebook(tmp_path / "mine.ipynb", CELLS, **options)
    before = path.read_text(encoding="utf-8")
    write_fix(read(path), [Edit(2, 38, 2, 53, "key.shape[-1]", cell=3)])
    assert path.read_text(encoding="utf-8") == before.replace("value.shape[-1]", "key.shape[-1]")
    assert diff_of(read(path), [Edit(1, 1, 1, 4, "DEF", cell=3)]).startswith(f"--- {path.as_posix()}#3\n")


def test_a_repair_of_a_notebook_names_cells_and_can_be_applied(tmp_path):
    source = read(notebook(tmp_path / "mine.ipynb", CELLS, indent=1))
    line = source.text.split("\n").index("def attention(query, key, value):") + 2
    (edit,) = WRONG.repair.edits
    says = Message(f"line {line}: value → key", f"第 {line} 行：value → key")
    repair = replace(WRONG.repair, edits=(replace(edit, line=line, end_line=line),), says=says)
    verdict = located(replace(WRONG, line=line - 1, causes=(), repair=repair), source)
    assert (verdict.repair.says.en, verdict.repair.says.zh) == ("cell 3, line 2: value → key", "第 3 个单元格第 2 行：value → key")
    write_fix(source, edits_of([verdict]))
    assert EDIT in json.loads(source.path.read_text(encoding="utf-8"))["cells"][2]["source"][1]


def test_a_fix_in_a_notebook_command_is_refused(tmp_path):
    path = notebook(tmp_path / "mine.ipynb", CELLS)
    with pytest.raises(OptionError, match="outside its code"):
        write_fix(read(path), [Edit(1, 1, 1, 3, "x", cell=2)])


@pytest.mark.parametrize("edits", [[Edit(9, 1, 9, 1, "x")], [Edit(1, 80, 1, 81, "x")], [Edit(1, 1, 1, 5, "x"), Edit(1, 3, 1, 6, "y")]])
def test_edits_that_do_not_fit_are_refused(tmp_path, edits):
    report = repaired(tmp_path / "mine.py")
    with pytest.raises(OptionError, match="overlap or are outside"):
        write_fix(report.files[0].source, edits)


@pytest.mark.parametrize(
    "edit", [Edit(99, 1, 99, 2, "x"), Edit("4", 1, 4, 2, "x"), Edit(4, 1, 4, 2, None), Edit(4, -3, 4, 2, "x"), Edit(4, True, 4, 2, "x")]
)
def test_a_repair_and_a_line_that_are_not_in_the_file_are_dropped(tmp_path, edit):
    path = tmp_path / "mine.py"
    path.write_text(TEXT, encoding="utf-8")
    forged = replace(
        WRONG, file="/etc/passwd", repair=replace(WRONG.repair, edits=(edit,)), causes=(replace(WRONG.causes[0], line=edit.line * 99),)
    )
    verdict = located(forged, read(path))
    assert (verdict.file, verdict.repair) == (path.as_posix(), None)
    assert verdict.causes[0].line is None


def test_a_diff_shows_control_characters_as_escapes(tmp_path):
    report = repaired(tmp_path / "mine.py", TEXT.replace("# é", "# \x1b[2J"))
    shown = diff_of(report.files[0].source, edits_of(report.verdicts))
    assert "\x1b" not in shown
    assert "# \\x1b[2J" in shown


def test_of_two_repairs_that_overlap_the_first_is_applied(tmp_path):
    (verdict,) = repaired(tmp_path / "mine.py").verdicts
    assert edits_of([verdict, verdict]) == verdict.repair.edits


def test_a_schema_1_verdict_has_rule_page_and_replacement_and_can_be_read_again(tmp_path):
    (verdict,) = repaired(tmp_path / "mine.py").verdicts
    values = json.loads(json.dumps(verdict.to_dict()))
    assert values["schema"] == "headway/verdict/v1"
    assert values["rule"] == values["causes"][0]["rule"] == "scaled_dot_product_attention/scale"
    assert values["url"].endswith("mistakes/scaled_dot_product_attention/#scale")
    assert values["repair"]["edits"] == [
        {"line": 4, "column": 38, "end_line": 4, "end_column": 53, "replacement": "key.shape[-1]", "cell": None}
    ]
    assert Verdict.from_dict(values) == verdict


def test_the_documentation_lists_every_field_of_a_verdict(tmp_path):
    (verdict,) = repaired(tmp_path / "mine.py").verdicts
    values = verdict.to_dict()
    rows = (Path(__file__).parents[2] / "docs" / "grading.md").read_text(encoding="utf-8").partition("## The schema of a verdict")[2]
    documented = set(re.findall(r"`(\w+)`", rows))
    written = {*values, *values["causes"][0], *values["repair"], *values["repair"]["edits"][0]}
    assert written - documented == set()


def test_a_function_that_is_passed_alone_has_a_place_in_its_file():
    def relu(x):
        return x * (x > 0)

    verdict = headway.check(relu)
    first = relu.__code__.co_firstlineno
    assert (verdict.file, verdict.line, verdict.column, verdict.end_line) == (Path(__file__).as_posix(), first, 5, first + 1)
    made = {}
    exec("def relu(x):\n    return x * (x > 0)\n", made)
    assert headway.check(made["relu"]).file is None


def test_commands_of_a_notebook_are_no_code(tmp_path):
    commands = [
        "!pip install a \\\n    b \\\n    c\nx = 1",
        "pip install a\ny = 2",
        "%%bash\ncd ..\n\nls -l",
        "%%time\nif x:\n    !ls\n    z = 3",
    ]
    cells = [{"cell_type": "code", "source": text.splitlines(keepends=True)} for text in commands]
    source = read(notebook(tmp_path / "mine.ipynb", cells))
    assert source.tree is not None
    assert [line for line in source.lines if line.strip() and not line.strip().startswith("#")] == ["x = 1", "y = 2", "if x:", "    z = 3"]
    assert [cell.text for cell in source.cells] == commands
