"""A client of the Language Server Protocol that speaks JSON-RPC over a server's standard streams."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from pathlib import Path

SECONDS = 600.0


class Client:
    """A server in a subprocess, and the messages that it sends."""

    def __init__(self, program: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.messages: queue.Queue[dict] = queue.Queue()
        self.kept: list[dict] = []
        self.last_id = 0
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        while line := self.process.stdout.readline():
            length = 0
            while line.strip():
                name, _, value = line.decode().partition(":")
                length = int(value) if name.lower() == "content-length" else length
                line = self.process.stdout.readline()
            self.messages.put(json.loads(self.process.stdout.read(length)))

    def _send(self, **message) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def notify(self, method: str, params: dict) -> None:
        self._send(method=method, params=params)

    def request(self, method: str, params: dict | None = None):
        self.last_id += 1
        number = self.last_id
        self._send(id=number, method=method, params=params)
        answer = self._next(lambda message: message.get("id") == number and "method" not in message)
        assert "error" not in answer, answer
        return answer["result"]

    def wait_for(self, method: str, uri: str | None = None) -> dict:
        """Return the parameters of the next notification of a method, for one document."""

        def is_wanted(message):
            return message.get("method") == method and uri in (None, message["params"].get("uri"))

        return self._next(is_wanted)["params"]

    def _next(self, is_wanted):
        for message in self.kept:
            if is_wanted(message):
                self.kept.remove(message)
                return message
        while True:
            message = self.messages.get(timeout=SECONDS)
            if is_wanted(message):
                return message
            self.kept.append(message)

    def start(self, folder: Path, *, options: dict | None = None, encodings: list[str] | None = None, is_versioned: bool = True):
        general = {"positionEncodings": encodings} if encodings else {}
        capabilities = {"workspace": {"workspaceEdit": {"documentChanges": is_versioned}}, "general": general}
        uri = folder.as_uri()
        found = self.request(
            "initialize",
            {
                "processId": None,
                "rootUri": uri,
                "capabilities": capabilities,
                "initializationOptions": options,
                "workspaceFolders": [{"uri": uri, "name": "course"}],
            },
        )
        self.notify("initialized", {})
        return found["capabilities"]

    def open(self, path: Path, text: str | None = None) -> str:
        uri = path.as_uri()
        text = path.read_text(encoding="utf-8") if text is None else text
        self.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": text}})
        return uri

    def change(self, uri: str, version: int, text: str) -> None:
        self.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]})

    def save(self, uri: str) -> None:
        self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def diagnostics(self, uri: str) -> list[dict]:
        return self.wait_for("textDocument/publishDiagnostics", uri)["diagnostics"]

    def actions(self, uri: str, line: int, character: int) -> list[dict]:
        position = {"line": line, "character": character}
        given = {"textDocument": {"uri": uri}, "range": {"start": position, "end": position}, "context": {"diagnostics": []}}
        return self.request("textDocument/codeAction", given)

    def stop(self) -> int:
        if self.process.poll() is None:
            self.request("shutdown")
            self.notify("exit", {})
        code = self.process.wait(timeout=SECONDS)
        self.reader.join(timeout=SECONDS)
        self.process.stdin.close()
        self.process.stdout.close()
        return code
