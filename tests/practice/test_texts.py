"""The sentences of the catalogue: all that code refers to exist, all that exist are used, and both languages agree."""

from __future__ import annotations

import ast
import pickle
import re
import string
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import headway.practice
from headway.practice import sentences
from headway.practice.exercises import exercises
from headway.practice.message import LANGUAGES, Message
from headway.practice.rules import GENERAL
from headway.practice.sentences import Sentence
from headway.practice.texts import Texts

PRACTICE = Path(headway.practice.__file__).parent
LOOK = PRACTICE.with_name("look")
MODULES = sorted(path for folder in (PRACTICE, LOOK) for path in folder.rglob("*.py") if "solutions" not in path.parts)
MOVED = ("exercises", "recipes", "diagnosis", "workbook", "report", "grading")
"""Packages without a sentence in their code."""


@cache
def parsed(path):
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text())


def file_of(tree):
    """Return the file of the catalogue that a module names in TEXTS = Texts(…)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Texts":
            return ast.literal_eval(node.args[0])
    return None


def names_in_code():
    """Yield the file and the name of every TEXTS["name"]."""
    for path in MODULES:
        tree = parsed(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "TEXTS" and isinstance(node.slice, ast.Constant):
                yield file_of(tree), ast.literal_eval(node.slice)


def mistakes_in_code():
    """Yield the file and the name of every TEXTS.mistake("name", …) outside the exercises."""
    for path in MODULES:
        if "exercises" in path.parts or "recipes" in path.parts:
            continue
        tree = parsed(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "TEXTS.mistake" and isinstance(node.args[0], ast.Constant):
                yield file_of(tree), node.args[0].value


def sentences_of(exercise):
    """Return all messages of an exercise."""
    found = [exercise.title, *exercise.hints]
    for each in (*exercise.mistakes, *exercise.recoveries):
        found += [each.says, each.fix, each.hides]
    return found


@cache
def used():
    """Return the file and the keys of every entry that code or another entry refers to."""
    found = {(file, ("sentences", name)) for file, name in names_in_code()} | {("general", ("sentences", name)) for name in GENERAL}
    for exercise in exercises():
        for each in sentences_of(exercise):
            if isinstance(each, Sentence) and each.place is not None:
                found.add((each.file, each.place))
    for file, name in mistakes_in_code():
        made = Texts(file).mistake(name)
        found |= {(file, each.place) for each in (made.says, made.fix, made.hides) if isinstance(each, Sentence) and each.place}
    for file in sentences.files():
        for _, entry in sentences.entries(file):
            if isinstance(entry, str):
                other, _, name = entry.rpartition("/")
                found.add((other or file, ("sentences", name)))
    return found


def test_every_entry_that_code_refers_to_exists():
    existing = {(file, path) for file in sentences.files() for path, _ in sentences.entries(file)}
    missing = sorted(f"{file}.toml: {path}" for file, path in used() - existing)
    assert not missing, "\n".join(missing)
    for exercise in exercises():
        for each in sentences_of(exercise):
            assert each.en is not None, exercise.name


def test_every_entry_is_used():
    existing = {(file, path) for file in sentences.files() for path, _ in sentences.entries(file)}
    unused = sorted(f"{file}.toml: {path}" for file, path in existing - used())
    assert not unused, "\n".join(unused)


def test_every_pattern_is_that_of_a_mistake_and_compiles():
    made = {(m.says.file, m.name): m for part in exercises() for m in (*part.mistakes, *part.recoveries) if isinstance(m.says, Sentence)}
    for file in sentences.files():
        for section in ("mistakes", "recoveries"):
            for name, entry in sentences.read(file).get(section, {}).items():
                if "pattern" in entry:
                    assert re.compile(made[file, name].pattern()).pattern == entry["pattern"], (file, name)


def fields_of(text):
    return sorted({name for _, name, _, _ in string.Formatter().parse(text) if name is not None})


@pytest.mark.parametrize("file", sentences.files())
def test_both_languages_have_the_same_placeholders(file):
    for path, entry in sentences.entries(file):
        if not isinstance(entry, str) and "{" in entry["en"] + entry.get("zh", "") and path[0] != "hints":
            english, chinese = (fields_of(entry.get(language) or entry["en"]) for language in LANGUAGES)
            assert english == chinese or english == sorted([*chinese, "error"]), path  # an exception's text is in English


@pytest.mark.slow
def test_these_packages_contain_no_sentence():
    written = [
        f"{path.relative_to(PRACTICE)}:{node.lineno}"
        for path in MODULES
        if PRACTICE in path.parents and path.relative_to(PRACTICE).parts[0] in MOVED
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Message"
        and any(isinstance(argument, ast.Constant | ast.JoinedStr) for argument in node.args)
    ]
    assert not written, f"move these to the catalogue: {written}"


def test_no_file_is_read_before_a_text_is_needed():
    program = "from headway.practice import exercises, sentences; exercises.exercises(); print(sentences.read.cache_info().currsize)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip() == "0"


@pytest.fixture
def catalogue(tmp_path, monkeypatch):
    """Write the file `part` of a catalogue of its own, and return its texts."""

    def write(content):
        (tmp_path / "part.toml").write_text(content)
        return Texts("part")

    monkeypatch.setattr(sentences, "CATALOGUE", tmp_path)
    sentences.read.cache_clear()
    yield write
    sentences.read.cache_clear()


def test_a_missing_translation_is_the_english_text_and_is_listed(catalogue):
    part = catalogue('[sentences.rows]\nen = "{count} rows"\n[mistakes.wrong]\nsays.en = "a"\nsays.zh = "甲"\nfix = "rows"\n')
    assert part["rows"].format(count=3) == Message("3 rows", "3 rows")
    assert sentences.untranslated() == ["part.toml: sentences.rows.zh"]
    mistake = part.mistake("wrong")
    assert (mistake.says.zh, mistake.fix.en, mistake.hides.en) == ("甲", "{count} rows", "")


def test_a_variant_has_the_texts_of_the_mistake_that_it_is_said_as(catalogue):
    part = catalogue(
        '[mistakes.wrong]\nsays = "a"\nhides = "a"\n[mistakes.own]\nsays = "b"\n[sentences]\na.en = "first"\nb.en = "second"\n'
    )
    assert part.mistake("variant", said_as="wrong").says.en == "first"
    own = part.mistake("own", said_as="wrong")
    assert (own.says.en, own.hides.en) == ("second", "")


def test_an_entry_that_does_not_exist_names_its_file(catalogue):
    part = catalogue("")
    with pytest.raises(LookupError, match=r"got no entry mistakes\.wrong\.says in catalogue/part\.toml"):
        _ = part.mistake("wrong").says.en


def test_a_sentence_can_be_copied_to_another_process(catalogue):
    part = catalogue('[sentences.rows]\nen = "{count} rows"\nzh = "{count} 行"\n')
    copied = pickle.loads(pickle.dumps(part["rows"].format(count=3)))
    assert copied == Message("3 rows", "3 行")
    assert len({copied, Message("3 rows", "3 行")}) == 1


def test_sentences_of_one_entry_are_equal_without_their_file():
    same = [Sentence("no_such_file", ("sentences", "one")) for _ in range(2)]
    assert same[0] == same[1]
    with pytest.raises(FileNotFoundError):
        _ = same[0] == Sentence("no_such_file", ("sentences", "other"))
