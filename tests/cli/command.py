"""The command line in this process: the start of Python and of the array libraries would take most of a test's time."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection
from unittest import mock

from headway.cli import main

COMMAND = [sys.executable, "-m", "headway"]
LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")


def headway(*arguments: str, stdin: str = "", without: Collection[str] = (), **environment: str) -> subprocess.CompletedProcess[str]:
    """Return the exit code and output of `headway`, with environment variables added and those in `without` left out."""
    kept = {name: value for name, value in os.environ.items() if name not in without}
    variables = kept | {"NO_COLOR": "1", "COLUMNS": "80"} | environment
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        mock.patch.dict(os.environ, variables, clear=True),
        mock.patch.object(sys, "argv", ["headway", *arguments]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")),
        mock.patch.object(sys, "stdout", io.TextIOWrapper(out, encoding="utf-8")),
        mock.patch.object(sys, "stderr", io.TextIOWrapper(err, encoding="utf-8", line_buffering=True)),
    ):
        code = _exit_code()
        sys.stdout.flush()
        sys.stderr.flush()
        texts = [_content(file) for file in (out, err)]
        sys.stdout.detach()  # the wrapper would close the file again
        sys.stderr.detach()
    return subprocess.CompletedProcess(["headway", *arguments], code, *texts)


def headway_process(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Return the same of a process of its own."""
    variables = os.environ | {"NO_COLOR": "1"} | environment
    return subprocess.run([*COMMAND, *arguments], input=stdin, capture_output=True, text=True, timeout=600, env=variables)


def _exit_code() -> int:
    try:
        main()
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else int(left.code is not None)


def _content(file: io.BufferedRandom) -> str:
    file.seek(0)
    return file.read().decode()
