from __future__ import annotations

import pytest

from tests.practice.editor.client import Client
from tests.practice.verdicts import TEXT

pytest.importorskip("pygls", reason="the extra lsp is not installed")

REAL = "from headway.cli import main; main()"
GIVEN = (
    "from headway.practice import checking\n"
    "from tests.practice.verdicts import WRONG\n"
    "checking.check_file = lambda *_, **__: [WRONG]\n"
    f"{REAL}"
)
"""A server whose checks return a verdict with a repair."""

SCALED = """import numpy as np

def attention(query, key, value):
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(value.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value
"""
ENABLED = "[lsp]\nenable = true\n"
WIDE = TEXT.replace("value.shape", "value.shape").replace("    scores", "    '😀'; scores")


@pytest.fixture
def start():
    clients = []

    def started(program=GIVEN):
        clients.append(Client(program))
        return clients[-1]

    yield started
    for client in clients:
        assert client.stop() == 0


def place(diagnostic):
    start, end = diagnostic["range"]["start"], diagnostic["range"]["end"]
    return start["line"], start["character"], end["line"], end["character"]


def test_a_document_is_judged_repaired_and_judged_again(start, tmp_path):
    (tmp_path / "headway.toml").write_text(ENABLED)
    path = tmp_path / "mine.py"
    path.write_text(SCALED, encoding="utf-8")
    client = start(REAL)
    client.start(tmp_path)
    uri = client.open(path)
    (diagnostic,) = client.diagnostics(uri)
    assert diagnostic["code"].startswith("scaled_dot_product_attention/")
    assert (diagnostic["source"], diagnostic["severity"], diagnostic["range"]["start"]["line"]) == ("headway", 1, 3)
    (action,) = client.actions(uri, 3, 60)
    lines = path.read_text(encoding="utf-8").split("\n")
    for edit in action["edit"]["documentChanges"][0]["edits"]:
        start_, end = edit["range"]["start"], edit["range"]["end"]
        assert start_["line"] == end["line"] == 3
        lines[3] = lines[3][: start_["character"]] + edit["newText"] + lines[3][end["character"] :]
    repaired = "\n".join(lines)
    path.write_text(repaired, encoding="utf-8")
    client.change(uri, 2, repaired)
    client.save(uri)
    assert client.diagnostics(uri) == []


@pytest.mark.slow
def test_a_repair_is_a_quick_fix_of_the_version_that_was_judged_until_it_is_closed(start, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(TEXT, encoding="utf-8")
    client = start()
    capabilities = client.start(tmp_path, options={"enable": True, "language": "zh"})
    assert capabilities["codeActionProvider"]["codeActionKinds"] == ["quickfix"]
    uri = client.open(path)
    (diagnostic,) = client.diagnostics(uri)
    assert "除以" in diagnostic["message"]
    (action,) = client.actions(uri, 3, 40)
    assert (action["title"], action["kind"], action["isPreferred"]) == ("value.shape[-1] → key.shape[-1]", "quickfix", True)
    assert action["diagnostics"] == [diagnostic]
    (change,) = action["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": uri, "version": 1}
    assert change["edits"] == [
        {"range": {"start": {"line": 3, "character": 37}, "end": {"line": 3, "character": 52}}, "newText": "key.shape[-1]"}
    ]
    assert client.actions(uri, 0, 0) == []
    client.change(uri, 2, "# edited\n" + TEXT)
    assert client.actions(uri, 4, 40) == []
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.diagnostics(uri) == []


@pytest.mark.slow
@pytest.mark.parametrize(("encodings", "width"), [(None, 2), (["utf-8"], 4)])
def test_columns_are_in_the_units_of_the_client_and_edits_in_the_form_that_it_takes(start, tmp_path, encodings, width):
    path = tmp_path / "mine.py"
    path.write_text(WIDE, encoding="utf-8")
    shifted = GIVEN.replace("[WRONG]", "[shifted()]").replace(
        "checking.check_file",
        "from dataclasses import replace\n"
        "def shifted():\n"
        "    (edit,) = WRONG.repair.edits\n"
        "    moved = replace(edit, column=edit.column + 5, end_column=edit.end_column + 5)\n"
        "    return replace(WRONG, repair=replace(WRONG.repair, edits=(moved,)))\n"
        "checking.check_file",
    )
    client = start(shifted)
    client.start(tmp_path, options={"enable": True}, encodings=encodings, is_versioned=False)
    uri = client.open(path)
    (diagnostic,) = client.diagnostics(uri)
    assert place(diagnostic) == (3, 37 + 4 + width, 3, 52 + 4 + width)
    (action,) = client.actions(uri, 3, 50)
    assert [each["range"] for each in action["edit"]["changes"][uri]] == [diagnostic["range"]]


@pytest.mark.slow
def test_nothing_is_run_without_permission(start, tmp_path):
    (tmp_path / "headway.toml").write_text("[lsp]\nenable = false\n")
    path = tmp_path / "mine.py"
    path.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n{TEXT}")
    client = start(REAL)
    client.start(tmp_path)
    client.open(path)
    assert "write [lsp] and enable = true in headway.toml" in client.wait_for("window/logMessage")["message"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
def test_a_permission_counts_only_for_the_folder_that_gives_it(start, tmp_path):
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "headway.toml").write_text(ENABLED)
    path = tmp_path / "other.py"
    path.write_text(TEXT, encoding="utf-8")
    client = start()
    client.start(tmp_path / "course")
    client.open(path)
    assert "runs no code in this workspace" in client.wait_for("window/logMessage")["message"]


def test_a_failure_of_the_tool_is_logged_and_the_server_continues(start, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(TEXT, encoding="utf-8")
    fails_once = GIVEN.replace("lambda *_, **__: [WRONG]", "lambda *_, **__: results.pop()()").replace(
        "checking.check_file", "results = [lambda: [WRONG], lambda: {}['query']]\nchecking.check_file"
    )
    client = start(fails_once)
    client.start(tmp_path, options={"enable": True})
    uri = client.open(path)
    assert "KeyError: 'query'" in client.wait_for("window/logMessage")["message"]
    client.save(uri)
    assert len(client.diagnostics(uri)) == 1


@pytest.mark.slow
def test_documents_without_a_part_or_with_unsaved_changes_are_not_run(start, tmp_path):
    (tmp_path / "script.py").write_text("def solve(x):\n    return x\n")
    (tmp_path / "mine.py").write_text(TEXT, encoding="utf-8")
    (tmp_path / "last.py").write_text(TEXT, encoding="utf-8")
    client = start()
    client.start(tmp_path, options={"enable": True})
    client.open(tmp_path / "script.py")
    client.open(tmp_path / "mine.py", TEXT + "# unsaved\n")
    uri = client.open(tmp_path / "last.py")
    assert client.wait_for("textDocument/publishDiagnostics")["uri"] == uri


def test_without_the_extra_the_command_says_what_to_install(monkeypatch):
    import sys

    from headway.cli import lsp
    from headway.errors import OptionError

    for name in [each for each in sys.modules if each.startswith("headway.practice.editor")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    with pytest.raises(OptionError, match="expected the extra lsp") as raised:
        lsp.command()
    assert raised.value.hint == "run: pip install 'headway[lsp]'"
