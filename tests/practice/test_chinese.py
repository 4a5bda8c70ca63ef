"""Chinese output contains no English sentence, apart from code, names and the learner's own exceptions."""

from __future__ import annotations

import importlib
import pkgutil
import re
import textwrap
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime

import pytest

import headway.practice
from headway.errors import OptionError
from headway.practice.checking import check_paths
from headway.practice.diagnosis.files import check_name, nothing_found, read_source
from headway.practice.diagnosis.sandbox import check_file
from headway.practice.grading.sheet import read_sheet
from headway.practice.message import Message, errors_in
from headway.practice.report.formats import format_named
from headway.practice.report.formats.classroom50 import result_of
from headway.practice.report.results import Report
from headway.practice.source import read, with_edits, write
from headway.practice.verdict import Edit
from headway.practice.workbook.folder import begin, progress_of
from headway.practice.workbook.hunt import hint, hunt
from headway.practice.workbook.parts import part
from tests.practice.verdicts import repaired

ENGLISH = re.compile(r"(?:\b[a-z]{2,}\b +){3,}")
"""Four English words in a row; names and code rarely contain that many."""


def english_in(text):
    found = ENGLISH.search(re.sub(r"`[^`]*`|\w+Error: [^，]*|headway practice [a-z_ -]+|pip install \S+", "", text))
    return found and found.group()


def messages_in(value, seen):
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Message):
        yield value
    elif isinstance(value, dict):
        yield from (each for part in value.values() for each in messages_in(part, seen))
    elif isinstance(value, tuple | list):
        yield from (each for part in value for each in messages_in(part, seen))
    elif is_dataclass(value) and not isinstance(value, type):
        yield from (each for field in fields(value) for each in messages_in(getattr(value, field.name), seen))


def modules():
    found = pkgutil.walk_packages(headway.practice.__path__, "headway.practice.")
    return [each.name for each in found if "solutions" not in each.name and "pytest_plugin" not in each.name]


@pytest.mark.parametrize("name", modules())
def test_the_messages_of_a_module_are_in_chinese(name):
    for message in messages_in(vars(importlib.import_module(name)), set()):
        if message.en != message.zh:
            assert not english_in(message.zh), message


FILES = {
    "raises.py": "def softmax(x):\n    return x.nothing\n",
    "none.py": "def softmax(x):\n    pass\n",
    "loops.py": "def softmax(x):\n    while True: pass\n",
    "dies.py": "import os\ndef softmax(x):\n    os._exit(0)\n",
    "trains.py": "def relu(x):\n    return x * (x > 0)\nwhile True: pass\n",
    "parameters.py": "def softmax(x, y, z, w):\n    return x\n",
    "wrong.py": "import numpy as np\ndef softmax(x, axis=-1):\n    return np.exp(x) / np.exp(x).sum() / 3\n",
    "shape.py": "import numpy as np\ndef relu(x):\n    return np.zeros(7)\n",
    "notes.py": "import numpy as np\ndef softmax(x):\n    m = max(x)\n    p = [float(np.exp(v - m)) for v in x]\n    return [v / sum(p) for v in p]\n",
    "cache.py": "class KVCache:\n    def __init__(self, path, mode):\n        pass\n    def update(self, k, v):\n        return k, v\n",
    "samples.py": "import numpy as np\ndef sample(logits, rng):\n    return 'a'\n",
    "generates.py": "import numpy as np\ndef generate(model, prompt, max_new_tokens, context_size):\n    return model(np.array([]))\n",
}


@pytest.mark.parametrize("name", FILES)
def test_a_verdict_is_in_chinese(tmp_path, name):
    path = tmp_path / name
    path.write_text(textwrap.dedent(FILES[name]))
    verdicts = check_file(path, timeout_seconds=3)
    assert verdicts
    for verdict in verdicts:
        text = verdict.text("zh")
        assert not english_in(text), text
        title = text.partition("— ")[2].partition("\n")[0]
        assert verdict.exercise == "softmax" or not title.startswith(f"{verdict.exercise}："), title


def failures(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "broken.ipynb").write_text("{")
    (tmp_path / "unknown.toml").write_text("[grade]\nsofmax = 2\n")
    (tmp_path / "points.toml").write_text("[grade]\nsoftmax = {points = 2, partial = {no_shift = 3}}\n")
    (tmp_path / "empty.toml").write_text("")
    (tmp_path / "empty").mkdir()
    repaired(tmp_path / "repaired.py")
    (tmp_path / "nothing.py").write_text("def solve(x):\n    return x\n")
    begin(tmp_path / "begun", None, "en")

    def no_exercise():
        raise nothing_found(tmp_path / "nothing.py")

    return {
        "exercise": lambda: check_name("sofmax"),
        "missing file": lambda: read_source(tmp_path / "none.py"),
        "folder": lambda: read_source(tmp_path),
        "notebook": lambda: read_source(tmp_path / "broken.ipynb"),
        "no exercise": no_exercise,
        "part": lambda: part("sofmax"),
        "file as folder": lambda: begin(tmp_path / "file", None, "zh"),
        "other library": lambda: begin(tmp_path / "begun", "torch", "zh"),
        "unknown library": lambda: begin(tmp_path / "other", "tinygrad", "zh"),
        "not begun": lambda: progress_of(tmp_path),
        "no bug": lambda: hint(tmp_path),
        "no such bug": lambda: hunt(tmp_path, "sofmax", None, "zh"),
        "no sheet": lambda: read_sheet(tmp_path / "none.toml"),
        "no points": lambda: read_sheet(tmp_path / "empty.toml"),
        "unknown part": lambda: read_sheet(tmp_path / "unknown.toml"),
        "too many points": lambda: read_sheet(tmp_path / "points.toml"),
        "format": lambda: format_named("sariff"),
        "runner": lambda: result_of(Report(()), {}, datetime.now(UTC)),
        "no files": lambda: check_paths([tmp_path / "empty"]),
        "changed file": lambda: write(replace(read(tmp_path / "repaired.py"), original=b""), b""),
        "edits": lambda: with_edits(read(tmp_path / "repaired.py"), [Edit(99, 1, 99, 1, "")]),
        "name": lambda: headway.practice.check(lambda x: x),
    }


def test_errors_are_in_chinese(tmp_path):
    for name, fail in failures(tmp_path).items():
        with pytest.raises(OptionError) as raised, errors_in("zh"):
            fail()
        message, error_hint = str(raised.value), raised.value.hint or ""
        assert re.search("[一-鿿]", message), name
        assert not english_in(message), message
        assert not error_hint or re.search("[一-鿿]", error_hint), error_hint


def test_the_same_errors_are_in_english_by_default(tmp_path):
    for name, fail in failures(tmp_path).items():
        with pytest.raises(OptionError) as raised:
            fail()
        assert str(raised.value).startswith("got "), name
