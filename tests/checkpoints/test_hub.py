"""Names to folders: embedded, on disk, or from a hub — here a small one on this machine, through the real download code."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from headway.checkpoints import resolve_model
from headway.errors import ModelNotFoundError
from tests.checkpoints.test_reading import write_gpt2

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class FakeHub(ThreadingHTTPServer):
    """As much of the hub's interface as snapshot_download asks for, over the files of one folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: FakeHub

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, *, with_body: bool) -> None:
        path = self.path.partition("?")[0]
        self.server.asked.append(path)
        files = {file.name: file.read_bytes() for file in self.server.folder.iterdir()}
        if path.startswith("/api/models/someone/tiny"):
            if "/tree/" in path:
                body = json.dumps(
                    [{"type": "file", "path": n, "size": len(c), "oid": hashlib.sha1(c).hexdigest()} for n, c in files.items()]
                ).encode()
            else:
                body = json.dumps({"id": "someone/tiny", "sha": COMMIT, "siblings": [{"rfilename": name} for name in files]}).encode()
            self._send(200, body, {"Content-Type": "application/json"}, with_body=with_body)
        elif path.startswith("/someone/tiny/resolve/") and path.rpartition("/")[2] in files:
            body = files[path.rpartition("/")[2]]
            etag = hashlib.sha256(body).hexdigest()
            self._send(
                200, body, {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT, "Content-Type": "application/octet-stream"}, with_body=with_body
            )
        else:
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"}, with_body=with_body)

    def _send(self, status: int, body: bytes, headers: dict[str, str], *, with_body: bool) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    from headway.tokenizers import byte_tokenizer

    folder = write_gpt2(tmp_path / "remote", vocab_size=257)
    byte_tokenizer().save(folder)
    (folder / "pytorch_model.bin").write_bytes(b"a pickle that nobody asks for")
    server = FakeHub(folder)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def headway(*arguments: str, endpoint: str, cache: Path) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own: the hub's library reads its endpoint once, when it is imported."""
    environment = os.environ | {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(cache),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_ETAG_TIMEOUT": "2",
        "NO_PROXY": "*",
    }
    environment.pop("HF_HUB_OFFLINE", None)
    command = [sys.executable, "-m", "headway", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)


@pytest.mark.slow
def test_a_hub_name_is_downloaded_and_then_found_in_the_cache(hub, tmp_path):
    generate = ("generate", "--model", "someone/tiny", "--temperature", "0", "-n", "3", "ab")
    first = headway(*generate, endpoint=hub.url, cache=tmp_path / "cache")
    assert first.returncode == 0, first.stderr
    assert not [path for path in hub.asked if path.endswith(".bin")]
    again = headway(*generate, endpoint="http://127.0.0.1:9", cache=tmp_path / "cache")
    assert (again.returncode, again.stdout) == (0, first.stdout), again.stderr
    listed = json.loads(headway("models", "--json", endpoint=hub.url, cache=tmp_path / "cache").stdout)
    assert [(row["name"], row["architecture"], row["can_run"]) for row in listed][1:] == [("someone/tiny", "gpt2", True)]


@pytest.mark.slow
def test_the_error_without_a_network_names_the_cache_and_the_address(tmp_path):
    result = headway("generate", "--model", "someone/other", "ab", endpoint="http://127.0.0.1:9", cache=tmp_path / "cache")
    assert result.returncode == 2
    assert result.stdout == ""
    for part in (
        "got someone/other, which is neither a folder nor a file nor in the cache",
        str(tmp_path / "cache"),
        "http://127.0.0.1:9",
        "could not be reached",
    ):
        assert part in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_a_name_the_hub_does_not_know(hub, tmp_path):
    result = headway("generate", "--model", "someone/else", "ab", endpoint=hub.url, cache=tmp_path / "cache")
    assert result.returncode == 2
    assert "neither a folder nor a file nor a model at" in result.stderr


def test_a_folder_is_itself(tmp_path):
    assert resolve_model(tmp_path) == tmp_path


def test_a_folder_comes_before_a_hub_name(tmp_path, monkeypatch):
    (tmp_path / "someone" / "tiny").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert resolve_model("someone/tiny") == Path("someone/tiny")


def test_stories_is_embedded():
    assert (resolve_model("stories") / "config.json").exists()


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "a/b/c"])
def test_a_path_that_does_not_exist_is_not_a_hub_name(name):
    with pytest.raises(
        ModelNotFoundError,
        match="got .*, which is neither a folder nor a file\nhint: pass `stories`, the path of a model folder, or a hub name",
    ):
        resolve_model(name)


@pytest.mark.parametrize("name", ["x" * 5000, "a/" * 3000, "x\0y", "~nobody-of-this-name/x", "\ud800"])
def test_a_name_that_cannot_be_a_path_is_not_found(name):
    with pytest.raises(ModelNotFoundError, match="which is neither a folder nor a file\nhint: pass `stories`") as caught:
        resolve_model(name)
    assert len(str(caught.value)) < 300
