"""Imports of the files around a learner's file: relative ones, and absolute ones from a folder above it."""

from __future__ import annotations

import ast
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import decode_source
from pathlib import Path
from types import CodeType, ModuleType

from headway.practice.diagnosis.reading.devices import on_processor
from headway.practice.diagnosis.reading.missing import (
    OTHERS,
    Broken,
    MissingPackages,
    broken,
    imported,
    importing_tree,
    is_imported_by_learner,
    is_published,
)
from headway.practice.nested_strings import parsed

MOST_FOLDERS = 6
"""Number of folders above a file in which its imports are looked up."""

SOURCES = "src"
"""Folder of a project that holds its packages, in which imports are looked up as well."""


RunDefinitions = Callable[[ModuleType, ast.Module], set[str]]
"""A function that runs the definitions of a module without its other statements, and returns the names that stay undefined."""


def prepare_imports(module: ModuleType, path: Path, tree: ast.Module, run: RunDefinitions) -> None:
    """Make the imports of a file work as they do for its author, whatever the current folder is.

    A package is made for relative imports without running its __init__.py, which often imports what the file does not need, and the file itself;
    a name that the file imports from the package is taken from where __init__.py imports it.
    """
    parents = list(path.resolve().parents)[:MOST_FOLDERS]
    folders = [*parents, *(each / SOURCES for each in parents if (each / SOURCES).is_dir() and each / SOURCES not in parents)]
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = imported(imports) | _submodules(imports, folders)
    is_relative = any(isinstance(node, ast.ImportFrom) and node.level for node in imports)
    if is_relative:
        module.__package__ = _package(parents[::-1], run)
    if is_relative or any(name.startswith(f"{folders[0].name}.") for name in names):  # a package does not hide installed modules
        sys.path.append(str(folders[0]))
    else:
        sys.path.insert(0, str(folders[0]))
    others = [each for each in sys.meta_path if not isinstance(each, MissingPackages | FilesAround)]
    missing = MissingPackages(folders)
    sys.meta_path[:] = [FilesAround(folders, run, missing), *others, missing]
    sys.path += [str(folder) for folder in folders[1:] if any(_holds(folder, name) for name in names)]
    sys.path += [str(folder) for folder in _folders_added(tree, folders[0])]
    hidden = {name for name in names if _is_hidden(name, folders[0])}
    for name in sorted(hidden):
        above, root = [folder for folder in folders[1:] if _holds(folder, name)], name.partition(".")[0]
        if root == path.stem:
            module.__path__ = [str(folder / root) for folder in above]
        _open_package(root, above)


def _folders_added(tree: ast.Module, folder: Path) -> list[Path]:
    """Return the folders that a file adds to sys.path as relative ones, as `sys.path.append("../layers")` does for an author in the file's folder."""
    added = [statement for statement in tree.body if isinstance(statement, ast.Expr) and ast.unparse(statement).startswith("sys.path.")]
    texts = [node.value for statement in added for node in ast.walk(statement) if isinstance(node, ast.Constant)]
    places = [folder / text for text in texts if isinstance(text, str) and text.startswith(".")]
    return [place.resolve() for place in places if place.is_dir()]


def _submodules(imports: Sequence[ast.Import | ast.ImportFrom], folders: Sequence[Path]) -> set[str]:
    """Return the modules of packages in the folders that `from package import module` names, in dotted form."""
    named = [(node.module, each.name) for node in imports if isinstance(node, ast.ImportFrom) and not node.level for each in node.names]
    return {f"{module}.{name}" for module, name in named for folder in folders if module and _is_file(folder, f"{module}.{name}")}


class FilesAround(MetaPathFinder):
    """Finder for the files around a learner's file. Of a file that raises when it is imported, the definitions remain, as of one that trains.

    A folder without Python files, such as one of logs, is no package and hides none.
    """

    def __init__(self, folders: Sequence[Path], run: RunDefinitions, missing: MissingPackages) -> None:
        self.folders = [f"{folder}{os.sep}" for folder in folders]
        self.run, self.missing = run, missing

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of a module that a file in one of the folders imports from there, unless it handles an exception itself."""
        if (part := self.missing.find_part(name)) is not None:
            return part
        is_own = is_imported_by_learner(name, self.folders)
        spec = self._found(name, path, target) if is_own else None
        if spec is None and is_own and path is None:
            return self._renamed(name)
        places = list(spec.submodule_search_locations or ()) if spec is not None and spec.origin is None and path is None else []
        if places and all(f"{place}{os.sep}".startswith(tuple(self.folders)) for place in places):
            is_package = any(_holds(Path(place).parent, name) for place in places)
            return spec if is_package else self.missing.find_spec(name, path, target)
        place = str(spec.origin) if spec is not None and type(spec.loader) is SourceFileLoader else ""
        if spec is None or not place.startswith(tuple(self.folders)) or place.startswith(OTHERS) or re.search(INSTALLED, place):
            return None
        spec.loader = _Definitions(name, place, self.run)
        return spec

    def _found(self, name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        """Return the spec of a module on the path, or in a folder above the file, which may be the author's current folder.

        It comes before one of this process's current folder, which is no installed module.
        """
        spec = PathFinder.find_spec(name, path, target)
        above = [folder for folder in self.folders if path is None and _holds(Path(folder), name)]
        return PathFinder.find_spec(name, above, target) if above and not _is_in(spec, (*above, sysconfig.get_path("stdlib"))) else spec

    def _renamed(self, name: str) -> ModuleSpec | None:
        """Return the spec of a package that is not there if all that a file imports from it is in one of the folders.

        The folder has the package's name for the author alone, as of a repository that has been renamed.
        """
        nodes = [node for node in ast.walk(importing_tree()) if isinstance(node, ast.ImportFrom) and not node.level]
        taken = [(node.module.removeprefix(f"{name}."), node) for node in nodes if node.module and node.module.startswith(f"{name}.")]
        if is_published(name) or not taken:
            return None
        for folder in self.folders:
            if all(_defines(Path(folder), module, node) for module, node in taken):
                spec = ModuleSpec(name, None, is_package=True)
                spec.submodule_search_locations = [folder]
                return spec
        return None


def _defines(folder: Path, module: str, node: ast.ImportFrom) -> bool:
    """Return True if a file of a module in a folder defines all names that are imported from it."""
    if not _is_file(folder, module):
        return False
    text = folder.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8", errors="replace")
    return all(re.search(rf"(?m)^(class |def |async def )?{each.name}\b", text) for each in node.names)


def _is_in(spec: ModuleSpec | None, folders: tuple[str, ...]) -> bool:
    """Return True for an installed module, a built-in one and one in the folders."""
    places = [spec.origin or "", *(spec.submodule_search_locations or ())] if spec is not None else []
    return any(each.startswith((*folders, "built-in", "frozen")) or re.search(INSTALLED, each) for each in places)


INSTALLED = r"(site|dist)-packages"


class _Definitions(SourceFileLoader):
    def __init__(self, name: str, path: str, run: RunDefinitions) -> None:
        super().__init__(name, path)
        self.run = run

    def _tree(self) -> ast.Module:
        return parsed(decode_source(self.get_data(self.path)))

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the file, which uses the processor in place of other devices."""
        return compile(on_processor(self._tree()), self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        """Run the file, or only its definitions if it raises; what they leave undefined raises when it is used."""
        try:
            super().exec_module(module)
        except (Exception, SystemExit) as error:
            left = self.run(module, on_processor(self._tree()))
            vars(module).update({name: broken(f"{module.__name__}.{name}", error) for name in left})
            if not hasattr(module, "__path__"):  # the names of a package may be those of its files
                module.__getattr__ = partial(_left_undefined, module.__name__, error)  # type: ignore[method-assign]


def _left_undefined(module: str, error: BaseException, name: str) -> Broken:
    """Return a placeholder for a name that a file which raises does not define.

    Errors   AttributeError for a special name
    """
    if name.startswith("__"):
        raise AttributeError(name)
    return broken(f"{module}.{name}", error)


def _package(folders: list[Path], run: RunDefinitions) -> str:
    """Return the name of a package for the last folder, within packages for those before it; no module of Python has such a name."""
    name = ""
    for folder in folders:
        name = f"{name}.{folder.name}" if name else f"_folder_{folder.name}"
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        package.__getattr__ = partial(_exported, name, folder / "__init__.py", run)  # type: ignore[method-assign]
        sys.modules.setdefault(name, package)
    return name


def _exported(package: str, init: Path, run: RunDefinitions, name: str) -> object:
    """Return what a package's __init__.py imports or defines under a name; for __all__ the names of the modules that it imports.

    Errors   AttributeError if it has nothing under this name.
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
                vars(sys.modules[package])[name] = getattr(found, original)  # the import of a module of the same name has set the module
                return getattr(found, original)
        if any(isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name for node in tree.body):
            vars(sys.modules[package]).update(_definitions(init, tree, run))
            return vars(sys.modules[package])[name]
    raise AttributeError(f"module {package!r} has no attribute {name!r}")


def _definitions(init: Path, tree: ast.Module, run: RunDefinitions) -> dict[str, object]:
    """Return what a package's __init__.py defines without its other files, such as a register of classes and its decorator."""
    module = ModuleType(init.parent.name)
    module.__file__ = str(init)
    own = [node for node in tree.body if not (isinstance(node, ast.ImportFrom) and node.level)]
    run(module, on_processor(ast.Module(own, [])))
    return {name: value for name, value in vars(module).items() if not name.startswith("__")}


def _sources(tree: ast.Module, name: str) -> Iterator[tuple[str, str]]:
    """Yield the modules that a file may import a name from, with its name there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                if node.module is not None and (alias.name == "*" or name == (alias.asname or alias.name)):
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


def _is_file(folder: Path, name: str) -> bool:
    return folder.joinpath(*name.split(".")).with_suffix(".py").is_file()


def _holds(folder: Path, name: str) -> bool:
    """Return True if a folder holds a module: its file, or its package with all subpackages that the name has."""
    place = folder.joinpath(*name.split("."))
    return _is_file(folder, name) or any(any(place.glob(pattern)) for pattern in ("*.py", "*/*.py"))
