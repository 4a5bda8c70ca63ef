from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from headway.errors import OptionError, ResourceError
from headway.server import batch_file
from headway.server.batch import Files, run_batch
from headway.server.batch_file import read_lines
from headway.server.served_model import ServedModel
from headway.server.service import Service


def request(custom_id, prompt="Once upon a time", **body) -> dict:
    body = {"model": "stories", "prompt": prompt, "max_tokens": 4, "temperature": 0, **body}
    return {"custom_id": str(custom_id), "method": "POST", "url": "/v1/completions", "body": body}


def write(path, lines) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def read(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "errors.jsonl")


def run(stories, files, **options):
    return run_batch(Service([ServedModel("stories", stories)]), files, **options)


def test_every_line_gets_the_result_of_generate(stories, files):
    prompts = [f"The {animal}" for animal in ("fox", "cat", "dog", "hen", "cow")]
    write(files.input, [request(index, prompt) for index, prompt in enumerate(prompts)])
    summary = run(stories, files, concurrency=3)
    assert (summary.num_lines, summary.num_earlier, summary.num_failed) == (5, 0, 0)
    texts = {line["custom_id"]: line["response"]["body"]["choices"][0]["text"] for line in read(files.out)}
    assert texts == {str(index): stories.generate(prompt, max_new_tokens=4, temperature=0).text for index, prompt in enumerate(prompts)}


def test_all_kinds_of_requests_run(stories, files):
    chat = {"model": "stories", "messages": [{"role": "user", "content": "Once"}], "max_tokens": 2}
    lines = [
        request(0),
        {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": chat},
        {"custom_id": "2", "method": "POST", "url": "/v1/embeddings", "body": {"model": "stories", "input": "fox"}},
    ]
    write(files.input, lines)
    assert run(stories, files).num_failed == 0
    objects = {line["custom_id"]: line["response"]["body"]["object"] for line in read(files.out)}
    assert objects == {"0": "text_completion", "1": "chat.completion", "2": "list"}


def test_failed_lines_are_in_the_file_of_errors(stories, files):
    write(files.input, [request(0), request(1, model="other"), request(2, "word " * 2000)])
    for num_earlier in (0, 3):  # a line that failed in an earlier run is a failed line of the batch
        summary = run(stories, files)
        assert (summary.num_failed, summary.num_earlier) == (2, num_earlier)
    assert [line["custom_id"] for line in read(files.out)] == ["0"]
    assert {line["custom_id"]: line["response"]["status_code"] for line in read(files.errors)} == {"1": 404, "2": 400}


def test_one_file_may_have_all_lines(stories, files):
    write(files.input, [request(0), request(1, model="other")])
    both = Files(files.input, files.out, files.out.parent / "." / files.out.name)
    for num_earlier in (0, 2):
        summary = run(stories, both)
        assert (summary.num_failed, summary.num_earlier) == (1, num_earlier)
    assert sorted(line["custom_id"] for line in read(files.out)) == ["0", "1"]


def test_lines_with_a_result_are_not_run_again(stories, files):
    write(files.input, [request(index) for index in range(4)])
    run(stories, files)
    first = files.out.read_bytes()
    whole = first.splitlines(keepends=True)
    files.out.write_bytes(b"".join(whole[:2]) + whole[2][:20])
    summary = run(stories, files)
    assert (summary.num_earlier, summary.num_lines) == (2, 4)
    assert files.out.read_bytes().startswith(b"".join(whole[:2]))
    assert sorted(line["custom_id"] for line in read(files.out)) == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ({**request(0), "custom_id": 3}, "custom_id"),
        ({**request(0), "method": "GET"}, "method"),
        ({**request(0), "url": "/v1/files"}, "url"),
        ({**request(0), "body": []}, "body"),
        (request(0, stream=True), "stream"),
        (request(0, nothing=1), "nothing"),
        (request("first"), "again"),
    ],
)
def test_no_line_runs_if_one_is_wrong(stories, files, line, message):
    files.input.write_text(json.dumps(request("first")) + "\n\n" + (line if isinstance(line, str) else json.dumps(line)) + "\n")
    with pytest.raises(OptionError, match=f"line 3: .*{message}"):
        run(stories, files)
    assert files.out.read_bytes() == b""


def test_output_of_another_input_is_refused(stories, files):
    write(files.input, [request(0)])
    write(files.out, [{"custom_id": "other", "response": {"status_code": 200}}])
    with pytest.raises(OptionError, match="lacks"):
        run(stories, files)
    files.out.write_text("no result\n")
    with pytest.raises(OptionError, match="no result"):
        run(stories, files)


def test_lines_with_a_common_start_run_one_after_another(stories, files):
    write(files.input, [request(index, f"{'Once' if index % 2 else 'The fox'} number {index}") for index in range(6)])
    run(stories, files, concurrency=1)
    assert [line["custom_id"] for line in read(files.out)] == ["1", "3", "5", "0", "2", "4"]


def test_an_empty_input_is_refused(files):
    files.input.write_text("\n")
    with pytest.raises(OptionError, match="without a line"):
        read_lines(files.input)


def test_progress_begins_with_the_lines_of_earlier_runs(stories, files):
    write(files.input, [request(index) for index in range(3)])
    for expected in ([0, 1, 2, 3], [3]):
        progress = Mock()
        run(stories, files, progress=progress)
        assert [call.args[0] for call in progress.call_args_list] == expected


def test_a_full_disk_is_named_and_the_run_continues_later(stories, files, monkeypatch):
    write(files.input, [request(index) for index in range(4)])
    real, left = os.write, [1500]

    def write_until_full(file, data):
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        size = min(left[0], len(data))
        left[0] -= size
        return real(file, data[:size])

    monkeypatch.setattr(batch_file.os, "write", write_until_full)
    with pytest.raises(ResourceError, match="out.jsonl.*No space left"):
        run(stories, files)
    assert not files.out.read_bytes().endswith(b"\n")
    monkeypatch.setattr(batch_file.os, "write", real)
    assert run(stories, files).num_earlier > 0
    assert sorted(line["custom_id"] for line in read(files.out)) == ["0", "1", "2", "3"]


def test_a_disk_that_is_full_at_the_end_is_named(stories, files, monkeypatch):
    write(files.input, [request(0)])

    def fail(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(batch_file.os, "fsync", fail)
    with pytest.raises(ResourceError, match="cannot be written further"):
        run(stories, files)
    monkeypatch.undo()
    assert run(stories, files).num_earlier == 1


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there is no such device")
def test_a_device_is_refused(stories, files):
    write(files.input, [request(0)])
    with pytest.raises(OptionError, match="no regular file"):
        run(stories, replace(files, out=Path("/dev/zero")))


@pytest.mark.slow
def test_a_killed_run_continues_without_a_lost_or_doubled_line(files):
    num_lines = 300
    write(files.input, [request(index, max_tokens=60, ignore_eos=True) for index in range(num_lines)])
    command = [sys.executable, "-m", "headway", "batch", str(files.input), "--out", str(files.out)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while process.poll() is None and (not files.out.exists() or files.out.read_bytes().count(b"\n") < 5):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    num_before = files.out.read_bytes().count(b"\n")
    assert 5 <= num_before < num_lines
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(int(line["custom_id"]) for line in read(files.out)) == list(range(num_lines))


@pytest.mark.parametrize(
    "content", [b"my notes", b'{"custom_id": "0"}', b'{"id": "x", "custom_id": "0", "response": {"status_code": 200}}']
)
def test_a_file_of_the_user_is_not_changed(stories, files, content):
    write(files.input, [request(0)])
    files.out.write_bytes(content)
    with pytest.raises(OptionError, match="expected the output of an earlier run"):
        run(stories, files)
    assert files.out.read_bytes() == content


@pytest.mark.parametrize("rest", [b"{", b'{"id": "batch_req_0", "custom', b'{"id"\0\0\0', b"\0\0\0"])
def test_a_line_that_was_cut_off_is_written_again(stories, files, rest):
    write(files.input, [request(0), request(1)])
    run(stories, files)
    lines = files.out.read_bytes().splitlines(keepends=True)
    files.out.write_bytes(lines[0] + rest)
    assert run(stories, files).num_earlier == 1
    assert sorted(line["custom_id"] for line in read(files.out)) == ["0", "1"]
