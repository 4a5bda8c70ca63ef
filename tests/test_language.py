"""Plain English: how docstrings begin, and words that documentation, comments and messages do not use."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("src", "tests", "benchmarks", "examples", "tools")
    for path in (ROOT / folder).rglob("*.py")
    if "learners" not in path.parts and "solutions" not in path.parts
)
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix() for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md") for path in ROOT.glob(pattern)
)

FIRST_WORDS = {"What", "Where", "Whether", "How", "Who", "Whose", "When", "Why", "Which", "If", "That"}
BANNED = re.compile(
    r"""\b(
        lies | stands | stood | behind | beside | besides | so\ many | told | said | (is|are|was|were)\ asked | (go|goes|went|going|gone)\ on
        | (come|comes|came)\ (back|anew|out) | anew | whoever | mends? | a\ word\ of | hand(s|ed)?\ around
    )\b | \bcame: | ;\ expected:""",
    re.VERBOSE | re.IGNORECASE,
)
CATALOGUE = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "src/headway/practice/catalogue").rglob("*.toml"))
STORIES = ("tools/stories/", "src/headway/train/stories/")
"""Sources whose string literals are the text of children's stories."""


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the text of every docstring, attribute docstrings included."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for statement in body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str):
                yield statement.lineno, statement.value.value


def comments(source: str) -> Iterator[tuple[int, str]]:
    """The line and the text of every comment."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def messages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the text of every string literal with a space in it that is no docstring."""
    documented = {line for line, _ in docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value and node.lineno not in documented:
            yield node.lineno, node.value


def prose(text: str) -> str:
    """A document without its code, its quotations and its addresses."""
    text = re.sub(r"^(```+|~~~+).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^>.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`\n]*`|\]\([^)]*\)", "", text)


def test_docstrings_start_with_a_verb_or_a_noun_phrase():
    found = [
        f"{path}:{line}: {text.splitlines()[0]}"
        for path in SOURCES
        for line, text in docstrings(ast.parse((ROOT / path).read_text()))
        if (text.split() or [""])[0] in FIRST_WORDS
    ]
    assert not found, "\n".join(found)


def test_source_is_written_in_plain_words():
    found = []
    for path in SOURCES:
        source = (ROOT / path).read_text()
        if not BANNED.search(re.sub(r'"\s+f?"', "", source)):  # most files; adjacent literals are one text
            continue
        tree = ast.parse(source)
        texts = [*docstrings(tree), *comments(source)]
        if path.startswith("src/") and not path.startswith(STORIES):
            texts += messages(tree)
        found += [f"{path}:{line}: {match.group()!r} in: {text.strip()[:120]}" for line, text in texts for match in BANNED.finditer(text)]
    assert not found, "\n".join(found)


def test_documents_are_written_in_plain_words():
    found = []
    for path in DOCUMENTS:
        text = prose((ROOT / path).read_text())
        found += [
            f"{path}: {match.group()!r} in: …{text[max(0, match.start() - 50) : match.end() + 50]!r}" for match in BANNED.finditer(text)
        ]
    assert not found, "\n".join(found)


def test_the_catalogue_is_written_in_plain_words():
    lines = [(path, line) for path in CATALOGUE for line in (ROOT / path).read_text().splitlines()]
    found = [f"{path}: {match.group()!r} in: {line}" for path, line in lines for match in BANNED.finditer(line)]
    assert not found, "\n".join(found)


def test_the_patterns_find_what_they_should():
    assert BANNED.search("came: 3; expected: 4")
    assert BANNED.search("The file lies beside it.")
    assert not BANNED.search("The columns next to it; a standard deviation, a default, an estimate.")
    assert not BANNED.search(prose("```\nshe said\n```\n`lies` [x](behind)"))
