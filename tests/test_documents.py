"""README and the documentation: commands and options exist, Python runs, links lead somewhere, both languages show the same."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.main import get_command

import headway
from headway.cli import app
from headway.models import ARCHITECTURES
from tests.cli.test_cli import answering_model
from tests.small_encoders import save_bert
from tests.train.test_architectures import DECODERS, NAMES

ROOT = Path(__file__).parents[1]
READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]
DOCUMENTS = [*READMES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
every_document = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)


def blocks(path: Path, language: str) -> list[str]:
    """The code blocks of a language in a document."""
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def commands(path: Path) -> list[list[str]]:
    """The arguments of every `headway` command in a document's shell blocks."""
    lines = "\n".join(blocks(path, "sh")).replace("\\\n", " ").splitlines()
    words = [shlex.split(line, comments=True) for line in lines]
    return [each[each.index("headway") + 1 :] for each in words if "headway" in each[:-1]]


def unknown_options(arguments: list[str]) -> set[str]:
    """The options of a command line that do not exist; the subcommands as well."""
    command = get_command(app)
    while arguments and hasattr(command, "commands") and not arguments[0].startswith("-"):
        if arguments[0] not in command.commands:
            return {arguments[0]}
        command, arguments = command.commands[arguments[0]], arguments[1:]
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return {each.partition("=")[0] for each in arguments if each.startswith("-") and each != "-"} - known


@pytest.fixture(scope="module")
def load(tmp_path_factory) -> Callable[..., headway.LanguageModel]:
    """`headway.load` with a small model in place of each published one."""
    bert = save_bert(tmp_path_factory.mktemp("bert"), "BertForMaskedLM")
    reranker = save_bert(tmp_path_factory.mktemp("reranker"), "BertForSequenceClassification", num_labels=1)
    classifier = save_bert(tmp_path_factory.mktemp("classifier"), "BertForSequenceClassification")
    small = {
        "stories": "stories",
        "Qwen/Qwen2-0.5B": "stories",
        "Helsinki-NLP/opus-mt-en-de": answering_model(tmp_path_factory.mktemp("t5")),
        "google-bert/bert-base-uncased": bert,
        "sentence-transformers/all-MiniLM-L6-v2": bert,
        "BAAI/bge-reranker-base": reranker,
        "distilbert/distilbert-base-uncased-finetuned-sst-2-english": classifier,
    }
    original = headway.load
    return lambda name, **options: original(small[name], **options)


@every_document
def test_every_command_and_option_exists(path):
    assert {" ".join(each): unknown for each in commands(path) if (unknown := unknown_options(each))} == {}


@every_document
def test_every_python_block_runs(path, load, monkeypatch, request):
    monkeypatch.setattr(headway, "load", load)
    for snippet in blocks(path, "python"):
        names: dict[str, object] = {}
        exec(compile(snippet, path.name, "exec"), names)
        for name, test in names.items():
            if name.startswith("test_") and callable(test):
                test(request.getfixturevalue("headway_check"))


@every_document
def test_every_link_leads_to_a_file(path):
    targets = re.findall(
        r"\]\(([^)#]+)(?:#[^)]*)?\)", re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    )
    local = [target for target in targets if "://" not in target and not target.startswith("api/")]
    assert [target for target in local if not (path.parent / target).exists()] == []


@every_document
def test_no_place_is_left_to_fill_in(path):
    assert "@@" not in path.read_text(encoding="utf-8")


def test_the_documents_show_commands():
    assert sum(len(commands(path)) for path in DOCUMENTS) >= 50


def test_readme_has_at_most_100_lines():
    assert all(len(path.read_text(encoding="utf-8").splitlines()) <= 100 for path in READMES)


def test_both_languages_show_the_same_commands_and_python():
    first, second = ([[subcommand, *(a for a in rest if a.startswith("-"))] for subcommand, *rest in commands(path)] for path in READMES)
    assert first == second
    without_comments = [[re.sub(r" *#.*", "", block) for block in blocks(path, "python")] for path in READMES]
    assert without_comments[0] == without_comments[1]


def test_every_architecture_is_documented():
    models, training = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("models.md", "training.md"))
    assert [name for name in ARCHITECTURES if f"`{name}`" not in models] == []
    assert [name for name in (*DECODERS, *NAMES) if f"`{name}`" not in training] == []


def test_every_module_is_documented():
    from headway import nn

    layers = {name for name in nn.__all__ if name[0].isupper()} - {"Module", "DropoutRates", "Encoder", "Decoder"}
    assert {name for name in layers if name not in (ROOT / "docs" / "models.md").read_text(encoding="utf-8")} == set()


def test_every_page_is_in_the_navigation_of_the_site():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [path.name for path in (ROOT / "docs").glob("*.md") if f" {path.name}" not in navigation] == []


def test_the_example_of_a_decoder_is_the_code_of_today():
    """The diff in CONTRIBUTING.md: every line that it adds is in the file, those of a whole file in their order."""
    (diff,) = blocks(ROOT / "CONTRIBUTING.md", "diff")
    _, *files = re.split(r"^\+\+\+ b/(.*)$", diff, flags=re.MULTILINE)
    added = {
        name: "\n".join(line[1:] for line in lines.strip("\n").split("\n")) for name, lines in zip(files[::2], files[1::2], strict=True)
    }
    assert len(added) == 3
    assert sum(lines.count("\n") + 1 for lines in added.values()) <= 120
    for name, lines in added.items():
        assert lines in (ROOT / name).read_text(), name
