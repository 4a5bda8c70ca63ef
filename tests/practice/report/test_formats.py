from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest

from headway.errors import OptionError
from headway.practice.checking import Options, check_paths, expanded
from headway.practice.grading.grade import PartPoints, grade_of
from headway.practice.message import Message
from headway.practice.parts import missing_part, part_named
from headway.practice.report.formats import Settings, format_named, names, write
from headway.practice.report.formats.classroom50 import VARIABLES, result_of
from headway.practice.report.formats.github import MAX_ANNOTATIONS, annotation_lines, summary
from headway.practice.report.formats.gradescope import results_of
from headway.practice.report.formats.sarif import log_of
from headway.practice.report.results import Report
from headway.practice.report.writing import written
from headway.practice.verdict import Verdict
from tests.practice.report.gradescope_rules import check_results
from tests.practice.verdicts import CAUSE, TEXT, WRONG, repaired

RUNNER = dict.fromkeys(VARIABLES.values(), "https://example.org/1")


@pytest.fixture
def report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return repaired(tmp_path / "mine.py")


def with_cause(report, **changes):
    (file,) = report.files
    (verdict,) = file.verdicts
    causes = (replace(verdict.causes[0], **changes),)
    return replace(report, files=(replace(file, verdicts=(replace(verdict, causes=causes),)),))


def correct(report):
    (file,) = report.files
    verdict = replace(file.verdicts[0], status="correct", causes=(), repair=None)
    return replace(report, files=(replace(file, verdicts=(verdict,)),))


def test_the_formats_are_the_modules_of_the_package():
    assert names() == ["classroom50", "github", "gradescope", "json", "junit", "sarif", "text"]
    with pytest.raises(OptionError, match="got 'junitt'") as raised:
        format_named("junitt")
    assert "junit" in raised.value.hint


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_format_writes_a_report_with_a_missing_part_and_a_failure(report, capsys, name, language):
    full = replace(report, missing=(missing_part("softmax"),), failure=Message("failed", "失败"))
    write(format_named(name).outputs(full, Settings(language, environ=RUNNER)))
    shown = capsys.readouterr().out
    assert "softmax" in shown
    assert ("除以" in shown) == (language == "zh") or name == "json"


@pytest.mark.parametrize("name", [each for each in names() if each not in ("github",)])
def test_every_format_writes_to_the_file_of_the_option_output(report, tmp_path, name):
    write(format_named(name).outputs(report, Settings(path=tmp_path / "out", environ=RUNNER)))
    assert "attention" in (tmp_path / "out").read_text(encoding="utf-8")


def test_the_exit_code_is_1_for_a_missing_part_2_for_code_that_could_not_run_and_3_for_a_failure_of_the_tool(report):
    right = correct(report)
    assert [right.exit_code, report.exit_code, replace(right, missing=(missing_part("softmax"),)).exit_code] == [0, 1, 1]
    assert Report((replace(right.files[0], verdicts=(replace(WRONG, status="could not run"),)),)).exit_code == 2
    failed = replace(WRONG, status="could not run", causes=(replace(CAUSE, name="tool_error"),))
    assert Report((replace(right.files[0], verdicts=(failed, WRONG)),)).exit_code == 3


def test_what_was_not_judged_is_no_failure_and_no_points_in_any_format(report, capsys):
    right = correct(report)
    unjudged = replace(WRONG, subject="Whole", exercise="file", status="not judged", causes=(), repair=None)
    with_it = replace(right, files=(replace(right.files[0], unjudged=(unjudged,)),))
    assert (with_it.exit_code, with_it.grade) == (0, right.grade)
    (line,) = annotation_lines(with_it, Settings())
    assert line.startswith("::notice ")
    assert "Whole" in line
    (result,) = log_of(with_it, Settings())["runs"][0]["results"]
    assert (result["level"], result["ruleId"]) == ("note", "file/not_judged")
    write(format_named("junit").outputs(with_it, Settings()))
    suite = ElementTree.fromstring(capsys.readouterr().out.encode())[0]
    assert [suite.get(each) for each in ("tests", "failures", "errors", "skipped")] == ["2", "0", "0", "1"]
    assert "Whole" in results_of(with_it, "en")["output"]
    assert "Whole" in summary(with_it, "en")


def test_an_annotation_has_the_range_of_the_cause_and_escapes_what_it_shows(report):
    hostile = with_cause(report, says=Message("50%\r\n::error::forged, a:b", ""), fix=Message("", ""))
    (line,) = annotation_lines(hostile, Settings())
    assert line == (
        "::error file=mine.py,line=4,endLine=4,col=38,endColumn=53,title=attention%3A wrong::50%25%0D%0A::error::forged, a:b"
        "%0A→ value.shape[-1] → key.shape[-1]"
    )


def test_commands_in_the_text_of_a_hand_in_are_not_executed(report, capsys):
    hostile = with_cause(report, says=Message("\n::add-mask::x\n::stop-commands::y", ""))
    write(format_named("github").outputs(hostile, Settings()))
    lines = capsys.readouterr().out.splitlines()
    token = re.fullmatch(r"::stop-commands::(\w{32})", lines[0])[1]
    assert lines.index("::add-mask::x") < lines.index(f"::{token}::") < next(i for i, each in enumerate(lines) if "::error " in each)


def test_annotations_beyond_the_limit_are_counted(report):
    (file,) = report.files
    many = replace(report, files=(replace(file, verdicts=file.verdicts * 12),))
    lines = annotation_lines(many, Settings())
    assert len(lines) == MAX_ANNOTATIONS
    assert lines[-1].endswith("::3 more: see the summary of this step")


def test_a_verdict_on_a_notebook_is_annotated_without_a_line_of_the_file(report):
    (file,) = report.files
    (verdict,) = file.verdicts
    cells = replace(verdict, cell=3, causes=(replace(verdict.causes[0], cell=3),))
    (line,) = annotation_lines(replace(report, files=(replace(file, verdicts=(cells,)),)), Settings())
    assert line.startswith("::error file=mine.py,title=")
    assert "::cell 3, line 4: divides by" in line


def test_the_summary_shows_code_and_repair_in_fences_that_the_hand_in_cannot_close(report):
    text = summary(with_cause(report, says=Message("```\n# forged", "")), "en")
    assert ">" in text
    assert "> 4 |     scores = query @ key.T / np.sqrt(value.shape[-1])  # é" in text
    assert "+    scores = query @ key.T / np.sqrt(key.shape[-1])  # é" in text
    assert text.split("````text\n", 1)[1].split("\n````\n", 1)[0].count("```") == 1


def test_the_summary_is_appended_and_at_most_1_mebibyte(report, tmp_path):
    long = replace(report, missing=(replace(missing_part("softmax"), notes=(Message("é" * 700_000, ""),)),) * 2)
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    write(format_named("github").outputs(long, Settings(environ={"GITHUB_STEP_SUMMARY": str(path)})))
    assert path.read_text(encoding="utf-8").startswith("before\n## headway check")
    assert path.stat().st_size < 2**20


def test_gradescope_results_follow_the_format(report):
    results = results_of(replace(report, missing=(missing_part("softmax"),)), "en")
    check_results(results)
    assert results["score"] == 0
    assert [(each["name"], each["score"], each["max_score"], each["status"]) for each in results["tests"]] == [
        ("attention", 0.0, 1.0, "failed"),
        ("softmax", 0.0, 1.0, "failed"),
    ]
    assert "divides by √value_dim" in results["tests"][0]["output"]


@pytest.mark.parametrize(
    "results",
    [
        {},
        {"tests": [{"max_score": 1}]},
        {"score": float("nan")},
        {"score": True},
        {"score": 1, "points": 1},
        {"score": 1, "visibility": "all"},
        {"tests": [{"score": 1, "status": "correct"}]},
        {"tests": [{"score": 1, "output_format": "markdown"}]},
    ],
)
def test_gradescope_results_that_break_the_format_are_not_written(results):
    with pytest.raises(ValueError, match=r"got|no score"):
        check_results(results)


def test_gradescope_gets_a_file_with_no_points_if_the_check_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sheet = {"softmax": PartPoints(2)}
    with pytest.raises(OptionError, match="does not exist"):
        written(lambda: check_paths([tmp_path / "none.py"]), "gradescope", Settings(), sheet=sheet)
    results = json.loads((tmp_path / "results.json").read_text())
    check_results(results)
    assert (results["score"], results["tests"][0]["max_score"]) == (0, 2)
    assert "which does not exist" in results["output"]


def test_classroom50_gets_the_fields_of_its_schema(report):
    graded = replace(report, given=grade_of(report.verdicts, {"scaled_dot_product_attention": PartPoints(5, {"scale": 3})}))
    result = result_of(graded, RUNNER | {"REVIEW_URL": "https://example.org/review"}, datetime(2026, 11, 22, tzinfo=UTC))
    assert result == {
        "schema": "classroom50/result/v1",
        **dict.fromkeys(("classroom", "assignment", "submission", "commit", "release"), "https://example.org/1"),
        "review": "https://example.org/review",
        "datetime": "2026-11-22T00:00:00Z",
        "score": 3,
        "max-score": 5,
        "tests": [{"test-name": "scaled_dot_product_attention", "passed": False, "score": 3, "max-score": 5}],
    }


def test_classroom50_needs_its_variables_and_whole_points(report):
    with pytest.raises(OptionError, match="no environment variables CLASSROOM, ASSIGNMENT"):
        result_of(report, {}, datetime.now(UTC))
    half = replace(report, given=grade_of(report.verdicts, {"softmax": PartPoints(1, {"no_shift": 0.5})}))
    with pytest.raises(OptionError, match="expected whole points"):
        result_of(half, RUNNER, datetime.now(UTC))


def test_sarif_has_rules_regions_and_fixes(report):
    log = log_of(report, Settings())
    (run,) = log["runs"]
    (result,) = run["results"]
    region = {"startLine": 4, "startColumn": 38, "endLine": 4, "endColumn": 53}
    assert log["version"] == "2.1.0"
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "scaled_dot_product_attention/scale"
    assert result["locations"] == [
        {"physicalLocation": {"artifactLocation": {"uri": "mine.py", "uriBaseId": "%SRCROOT%"}, "region": region}}
    ]
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["replacements"] == [{"deletedRegion": region, "insertedContent": {"text": "key.shape[-1]"}}]


def test_a_repair_without_a_cause_has_a_rule_and_its_place(report):
    (file,) = report.files
    (verdict,) = file.verdicts
    alone = replace(report, files=(replace(file, verdicts=(replace(verdict, causes=(), difference=Message("differs", "不同")),)),))
    (result,) = log_of(alone, Settings())["runs"][0]["results"]
    assert result["ruleId"] == "scaled_dot_product_attention/repaired"
    assert result["locations"][0]["physicalLocation"]["region"]["startColumn"] == 38
    assert result["message"]["text"] == "attention: differs\n→ value.shape[-1] → key.shape[-1]"
    assert "line=4,endLine=4,col=38" in annotation_lines(alone, Settings())[0]


def test_a_sarif_fingerprint_stays_when_the_line_moves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    moved = TEXT.replace("import numpy as np\n", "import numpy as np\n# moved\n")
    first, second = repaired(tmp_path / "mine.py"), repaired(tmp_path / "moved.py", moved)
    (verdict,) = second.verdicts
    cause = replace(verdict.causes[0], line=5, end_line=5)
    second = replace(second, files=(replace(second.files[0], verdicts=(replace(verdict, causes=(cause,)),)),))
    prints = [log_of(each, Settings())["runs"][0]["results"][0]["partialFingerprints"] for each in (first, second)]
    assert prints[0] == prints[1]


def test_sarif_gives_a_missing_part_a_location_and_correct_parts_no_result(report):
    right = replace(correct(report), missing=(missing_part("softmax"),))
    (result,) = log_of(right, Settings())["runs"][0]["results"]
    assert result["ruleId"] == "softmax/missing"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "mine.py"


def test_junit_counts_failures_and_errors_and_drops_characters_that_xml_cannot_hold(report, capsys):
    (file,) = report.files
    crash = replace(WRONG, status="could not run", causes=(replace(CAUSE, says=Message("\x00\x1b[2J<x>&", "")),))
    write(format_named("junit").outputs(replace(report, files=(replace(file, verdicts=(*file.verdicts, crash)),)), Settings()))
    root = ElementTree.fromstring(capsys.readouterr().out)
    assert {name: root.get(name) for name in ("tests", "failures", "errors")} == {"tests": "2", "failures": "1", "errors": "1"}
    assert root.find("testsuite/testcase/failure").get("type") == "scaled_dot_product_attention/scale"
    assert root.find("testsuite/testcase/error").get("message") == "��[2J<x>&"


def test_files_in_folders_are_found_without_environments_hidden_folders_tests_and_links(tmp_path):
    for name in ("a.py", "b/c.ipynb", "b/d.txt", ".git/x.py", "own/pyvenv.cfg", "own/x.py", "venv/x.py", "__pycache__/x.py", "test_a.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    found = [(path.relative_to(tmp_path).as_posix(), is_named) for path, is_named in expanded([tmp_path, tmp_path / "test_a.py"])]
    assert found == [("a.py", False), ("b/c.ipynb", False), ("test_a.py", True)]


def test_a_folder_is_checked_and_a_required_part_that_is_missing_is_a_failure(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "mine.py").write_text("import numpy as np\ndef relu(x):\n    return np.maximum(x, 0)\n")
    (tmp_path / "script.py").write_text("raise SystemExit\n")
    report = check_paths([tmp_path], Options(required=("relu", "attention")))
    assert [(each.subject, each.status) for each in report.verdicts] == [("relu", "correct"), ("scaled_dot_product_attention", "missing")]
    assert report.exit_code == 1


def test_a_named_file_without_a_part_could_not_be_judged(tmp_path):
    (tmp_path / "mine.py").write_text("def solve(x):\n    return x\n")
    report = check_paths([tmp_path / "mine.py"])
    assert (report.exit_code, report.verdicts[0].causes[0].name) == (2, "nothing_found")


def test_a_file_of_a_folder_that_cannot_be_read_or_judged_leaves_the_others_judged(tmp_path, monkeypatch):
    from headway.practice import checking

    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text("def relu(x):\n    return x * (x > 0)\n")
    (tmp_path / "b.py").write_bytes(b"\xff")

    def check_file(path, *_, **__):
        if path.name == "a.py":
            raise KeyError("query")
        return [Verdict("relu", "relu", 1, "correct")]

    monkeypatch.setattr(checking, "check_file", check_file)
    report = check_paths([tmp_path])
    assert [(each.subject, each.rule) for each in report.verdicts] == [("b.py", "file/unreadable"), ("relu", None)]
    assert report.failure.en == "the check failed: KeyError: 'query'"
    with pytest.raises(KeyError):
        written(lambda: report, "gradescope", Settings(path=tmp_path / "results.json"))
    assert "KeyError" in json.loads((tmp_path / "results.json").read_text())["output"]


def test_the_help_of_the_command_names_every_format():
    from headway.cli.check import Format

    (option,) = Format.__metadata__
    assert all(name in option.help for name in names())


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(OptionError, match="expected .py files or notebooks with a part"):
        check_paths([tmp_path])


def test_a_required_part_may_have_a_usual_name():
    assert part_named("attention") == "scaled_dot_product_attention"
    with pytest.raises(OptionError, match="got 'sofmax'"):
        part_named("sofmax")
