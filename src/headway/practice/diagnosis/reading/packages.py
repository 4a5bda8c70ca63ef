"""Imports of the files around a learner's file: relative ones, and absolute ones from a folder above it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType

from headway.practice.diagnosis.reading.missing import MissingPackages, imported

MOST_FOLDERS = 6
"""Number of folders above a file in which its imports are looked up."""


def prepare_imports(module: ModuleType, path: Path, tree: ast.Module) -> None:
    """Make the imports of a file work as they do for its author, whatever the current folder is.

    A package is made for relative imports without running its __init__.py, which often imports what the file does not need, and the file itself;
    a name that the file imports from the package is taken from where __init__.py imports it.
    """
    folders = list(path.resolve().parents)[:MOST_FOLDERS]
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = imported(imports)
    is_relative = any(isinstance(node, ast.ImportFrom) and node.level for node in imports)
    if is_relative:
        module.__package__ = _package(folders[::-1])
    if is_relative or any(name.startswith(f"{folders[0].name}.") for name in names):  # a package does not hide installed modules
        sys.path.append(str(folders[0]))
    else:
        sys.path.insert(0, str(folders[0]))
    sys.meta_path[:] = [each for each in sys.meta_path if not isinstance(each, MissingPackages)] + [MissingPackages(folders)]
    sys.path += [str(folder) for folder in folders[1:] if any(_holds(folder, name) for name in names)]
    hidden = {name for name in names if _is_hidden(name, folders[0])}
    for name in sorted(hidden):
        above, root = [folder for folder in folders[1:] if _holds(folder, name)], name.partition(".")[0]
        if root == path.stem:
            module.__path__ = [str(folder / root) for folder in above]
        _open_package(root, above)


def _package(folders: list[Path]) -> str:
    """Return the name of a package for the last folder, within packages for those before it; no module of Python has such a name."""
    name = ""
    for folder in folders:
        name = f"{name}.{folder.name}" if name else f"_folder_{folder.name}"
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        package.__getattr__ = partial(_exported, name, folder / "__init__.py")  # type: ignore[method-assign]
        sys.modules.setdefault(name, package)
    return name


def _exported(package: str, init: Path, name: str) -> object:
    """Return what a package's __init__.py imports under a name; for __all__ the names of the modules that it imports.

    Errors   AttributeError if it imports nothing under this name.
    """
    if name == "__all__" or not name.startswith("__"):
        tree = ast.parse(init.read_text(encoding="utf-8")) if init.is_file() else ast.Module([], [])
        modules = {alias.asname or alias.name: alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
        if name == "__all__":
            return [each for each in modules if "." not in each]
        if name in modules:
            return import_module(modules[name])
        for module, original in _sources(tree, name):
            found = import_module(module, package)
            if hasattr(found, original):
                return getattr(found, original)
    raise AttributeError(f"module {package!r} has no attribute {name!r}")


def _sources(tree: ast.Module, name: str) -> Iterator[tuple[str, str]]:
    """Yield the modules that a file may import a name from, with its name there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                if alias.name == "*" or name == (alias.asname or alias.name):
                    yield module, name if alias.name == "*" else alias.name


def _open_package(name: str, folders: list[Path]) -> None:
    """Make a package of folders importable, although a file in another folder has its name."""
    if any((folder / name / "__init__.py").is_file() for folder in folders):
        sys.path[:0] = map(str, folders)
    elif folders:
        package = ModuleType(name)
        package.__path__ = [str(folder / name) for folder in folders]
        sys.modules.setdefault(name, package)


def _is_hidden(name: str, folder: Path) -> bool:
    """Return True for a module of a package above a folder, if a file of the folder has the package's name."""
    root, dot, _ = name.partition(".")
    return bool(dot) and folder.joinpath(f"{root}.py").is_file() and not _holds(folder, name)


def _holds(folder: Path, name: str) -> bool:
    """Return True if a folder holds a module: its file, or its package with all subpackages that the name has."""
    place = folder.joinpath(*name.split("."))
    return place.with_suffix(".py").is_file() or any(any(place.glob(pattern)) for pattern in ("*.py", "*/*.py"))
