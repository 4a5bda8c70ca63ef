"""SIGTERM to the command: new requests are refused, running ones finish within the time, the rest end with an error."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys

import httpx
import pytest

from headway.errors import OptionError
from headway.server.run import Address, make_server
from headway.server.served_model import ServedModel
from headway.server.service import Service
from headway.server.settings import Settings
from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")

LONG = {"prompt": ["Once upon a time"] * 2, "n": 4, "max_tokens": 400, "ignore_eos": True, "temperature": 1, "stream": True}


@contextlib.contextmanager
def command(*flags):
    """The command `headway serve` with flags, and a client of it."""
    arguments = [sys.executable, "-m", "headway", "serve", "--port", "0", *flags]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, env=environment, cwd=ROOT) as process:
        try:
            url = next(found[1] for line in process.stderr if (found := re.search(r"at (http://\S+),", line)))
            with httpx.Client(base_url=url, timeout=600) as client:
                yield process, client
        finally:
            process.kill()


@pytest.mark.slow
def test_running_requests_finish_and_the_command_exits_with_0():
    with command("--drain", "600") as (process, client), client.stream("POST", "/v1/completions", json=LONG) as response:
        lines = response.iter_lines()
        next(lines)
        assert client.get("/health", headers={"Host": "hostile.example"}).status_code == 421
        process.send_signal(signal.SIGTERM)
        # The signal arrives at some time; every answer from then on is a refusal.
        answers = [client.get("/ready")]
        while answers[-1].status_code == 200:
            answers.append(client.get("/ready"))
        refused = client.post("/v1/completions", json={"prompt": "Once", "max_tokens": 1})
        events = [line for line in lines if line]
        assert events[-1] == "data: [DONE]"
        finished = [choice["index"] for event in events[:-1] for choice in json.loads(event[6:])["choices"] if choice["finish_reason"]]
        assert sorted(finished) == list(range(8))
        assert (answers[-1].status_code, refused.status_code) == (503, 503)
        assert refused.json()["error"]["code"] == "shutting_down"
        assert process.wait(600) == 0


@pytest.mark.slow
def test_requests_that_need_too_long_end_with_an_error():
    with command("--drain", "0") as (process, client), client.stream("POST", "/v1/completions", json=LONG) as response:
        lines = response.iter_lines()
        next(lines)
        process.send_signal(signal.SIGTERM)
        events = [line for line in lines if line]
        assert json.loads(events[-2][6:])["error"]["code"] == "shutting_down"
        assert events[-1] == "data: [DONE]"
        assert process.wait(600) == 0


@pytest.mark.parametrize(
    ("certificate", "private_key", "message"),
    [
        ("missing.pem", "missing.pem", "No such file"),
        ("no-pem.txt", "no-pem.txt", "expected a certificate and its key as PEM"),
        ("no-pem.txt", None, "expected a certificate and its key as PEM"),
        (None, "no-pem.txt", "got --private-key without --certificate"),
    ],
)
def test_files_of_tls_that_cannot_be_used_are_refused(certificate, private_key, message, tmp_path, monkeypatch, stories):
    (tmp_path / "no-pem.txt").write_text("no certificate")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match=message):
        make_server(
            Service([ServedModel("stories", stories)], Settings()), Address(port=0, certificate=certificate, private_key=private_key)
        )


@pytest.mark.parametrize("name", ["timeout_seconds", "drain_seconds"])
def test_times_that_are_no_numbers_are_refused(name):
    with pytest.raises(OptionError, match=f"got {name}=nan"):
        Settings(**{name: float("nan")})
