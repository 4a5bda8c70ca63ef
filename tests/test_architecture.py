"""Rules of the repository: import directions, public names, and the cost of importing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import headway

SOURCE = Path(headway.__file__).parent

LEAVES = {"errors", "arrays", "trees", "files", "json_files", "memory_check", "gguf_file"}
ARROWS = {
    "errors": set(),
    "arrays": {"errors"},
    "json_files": {"errors"},
    "memory_check": {"errors"},
    "gguf_file": {"errors", "json_files"},
    "trees": set(),
    "files": set(),
    "functions": set(),
    "models": {"functions"},
    "checkpoints": {"models", "functions"},
    "tokenizers": set(),
    "kernels": {"functions", "models"},
    "nn": {"functions", "kernels"},
    "engine": {"functions"},
    "runners": {"functions", "engine", "models"},
    "practice": {"functions"},
    "train": {"functions", "models", "nn", "kernels", "checkpoints", "tokenizers"},
    "language_model": {"functions", "engine", "runners", "kernels", "checkpoints", "tokenizers"},
    "look": {"functions", "practice", "language_model", "checkpoints", "tokenizers"},
    "server": {"look", "language_model", "engine", "tokenizers"},
    "cluster": {"language_model", "engine", "server"},
    "cli": {"cluster", "look", "language_model", "engine", "runners", "practice", "checkpoints", "models", "train", "server"},
    "__init__": {"language_model", "functions", "practice", "look"},
    "__main__": {"cli"},
}
"""The parts that each part may import, in addition to the leaves."""


PRACTICE = {
    "message": set(),
    "outputs": {"message"},
    "sentences": {"message"},
    "exercise": {"message", "sentences"},
    "texts": {"message", "sentences", "exercise"},
    "roles": {"exercise"},
    "recipes": {"message", "outputs", "exercise", "texts", "roles"},
    "chinese_names": set(),
    "names": {"chinese_names"},
    "exercises": {"message", "outputs", "exercise", "texts", "roles", "recipes", "names"},
}
"""The parts of practice that each part of the catalogue may import: none of them knows the diagnosis."""


DIAGNOSIS = ("reading", "calls", "classes", "adapters", "checks", "explain", "outcomes", "repair")
"""The packages of the diagnosis: each imports earlier ones only, and none the modules that connect them."""


@cache
def imports() -> list[tuple[str, str, str]]:
    """(part, imported part, file) for every import of one part by another, those inside functions included."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        relative = path.relative_to(SOURCE)
        part = relative.parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{relative}: a relative import; write the whole name"
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            for name in names:
                if name.startswith("headway."):
                    imported = name.split(".")[1]
                    if imported not in (part, "__version__"):
                        found.append((part, imported, str(relative)))
    return found


def test_every_part_is_on_the_map():
    parts = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert parts == set(ARROWS)


def test_imports_follow_the_arrows():
    wrong = {
        (part, imported, file)
        for part, imported, file in imports()
        if imported not in ARROWS[part] | (LEAVES if part not in LEAVES else set())
    }
    assert not wrong, f"not on the map: {sorted(wrong)}"


def test_the_catalogue_does_not_import_the_diagnosis():
    wrong = set()
    for path in sorted((SOURCE / "practice").rglob("*.py")):
        relative = path.relative_to(SOURCE / "practice")
        part = relative.parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text())) if part in PRACTICE else ():
            if isinstance(node, ast.ImportFrom):
                whole = [f"{node.module}.{alias.name}".split(".") for alias in node.names]
                wrong |= {
                    (str(relative), ".".join(names))
                    for names in whole
                    if names[:2] == ["headway", "practice"] and names[2] not in {part, *PRACTICE[part]}
                }
    assert not wrong


def test_the_packages_of_the_diagnosis_import_earlier_ones_only():
    wrong = set()
    folder = SOURCE / "practice" / "diagnosis"
    assert set(DIAGNOSIS) == {path.parent.name for path in folder.glob("*/__init__.py")}
    for number, package in enumerate(DIAGNOSIS):
        for path in sorted((folder / package).glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("headway.practice.diagnosis."):
                    imported = {node.module.split(".")[3]} if node.module.count(".") > 2 else {alias.name for alias in node.names}
                    wrong |= {(f"{package}/{path.name}", name) for name in imported - set(DIAGNOSIS[: number + 1])}
    assert not wrong


def test_no_arrow_is_drawn_for_nothing():
    used = {(part, imported) for part, imported, _ in imports()}
    unused = {(part, imported) for part, allowed in ARROWS.items() for imported in allowed} - used
    assert not unused


def test_the_map_in_the_docs_shows_the_same_arrows():
    text = (SOURCE.parents[1] / "docs" / "architecture.md").read_text()
    drawn = {}
    for name, arrows in re.findall(r"^  (\w+)(?:\.py|/) .*?(?:  -> (.*))?$", text, re.MULTILINE):
        drawn[name] = set() if arrows in ("", "leaves only") else set(arrows.split(", "))
    shown = {part: allowed - LEAVES for part, allowed in ARROWS.items() if not part.startswith("__")}
    assert drawn == shown


def test_the_arrows_have_no_circle():
    remaining = {part: allowed | (LEAVES - {part} if part not in LEAVES else set()) for part, allowed in ARROWS.items()}
    while remaining:
        free = {part for part, allowed in remaining.items() if not allowed & remaining.keys()}
        assert free, f"a circle among {sorted(remaining)}"
        remaining = {part: allowed for part, allowed in remaining.items() if part not in free}


def test_the_public_names_are_these():
    assert headway.__all__ == ["Chunk", "Completion", "LanguageModel", "__version__", "check", "errors", "functions", "load", "look"]
    assert all(hasattr(headway, name) for name in headway.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = headway.nothing


def test_importing_headway_imports_no_array_library():
    program = (
        "import sys, headway; print([m for m in ('numpy', 'torch', 'jax', 'mlx', 'transformers', 'rich', 'typer') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("command", "unused"),
    [("check", ("headway.language_model", "headway.practice.exercises", "numpy")), ("models", ("headway.practice", "headway.cli.check"))],
)
def test_a_command_imports_none_of_the_others(command, unused):
    program = f"import sys; from headway.cli.commands import app; app(['{command}', '--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not set(unused) & set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "name", ["headway.functions", "headway.models.llama", "headway.engine", "headway.language_model", "headway.cli.commands"]
)
def test_no_framework_is_imported_until_its_arrays_come(name):
    program = f"import sys, {name}; print([m for m in ('torch', 'jax', 'mlx', 'transformers') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_every_error_is_in_the_drawn_tree():
    from headway import errors

    defined = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert defined == {word for word in errors.__doc__.replace("─", " ").split() if word.endswith("Error")} - {
        "ValueError",
        "TypeError",
        "IndexError",
        "ArithmeticError",
        "FileNotFoundError",
        "RuntimeError",
    }
