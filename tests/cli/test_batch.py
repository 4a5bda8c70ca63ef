"""headway batch as people type it."""

from __future__ import annotations

import json

import pytest

from tests.cli.command import headway

pytest.importorskip("msgspec", reason="needs the extra serve")


def test_the_summary_counts_lines(tmp_path):
    requests = tmp_path / "requests.jsonl"
    body = {"model": "stories", "prompt": "Once", "max_tokens": 2}
    requests.write_text(json.dumps({"custom_id": "1", "method": "POST", "url": "/v1/completions", "body": body}) + "\n")
    done = headway("batch", str(requests), "--out", str(tmp_path / "results.jsonl"))
    assert (done.returncode, done.stdout) == (0, "")
    assert "\n1 line, 0 failed: " in done.stderr
    requests.write_text("{}\n")
    assert "with 1 wrong line, expected requests" in headway("batch", str(requests), "--out", str(tmp_path / "others.jsonl")).stderr
