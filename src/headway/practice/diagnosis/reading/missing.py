"""Placeholders for packages that a learner's file imports and that are not installed: only using one is an error."""

from __future__ import annotations

import ast
import functools
import itertools
import re
import sys
import sysconfig
import tomllib
import typing
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NoReturn

from headway.practice.diagnosis.reading import numbers_with_type
from headway.practice.diagnosis.reading.absent_constants import AbsentId, AbsentPattern, constant_in_place
from headway.practice.diagnosis.reading.absent_parts import (
    FUNCTIONS,
    LIBRARIES,
    OF_ACTIVATIONS,
    AbsentActivations,
    AbsentBase,
    AbsentFunction,
    base_in_place,
    instance_in_place,
    names_needed,
)
from headway.practice.diagnosis.reading.absent_values import Value
from headway.practice.diagnosis.reading.lightning import lightning_module
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.names import fitting

ARRAY_LIBRARIES = {"numpy", "torch", "jax", "jaxlib", "mlx"}
"""Packages without which a file computes nothing: importing one that is missing is an error."""

OTHERS = (sysconfig.get_path("stdlib"), str(Path(__file__).parents[4]))
"""Folders of Python and of this package, whose imports are not the learner's."""

OPTIONAL = r"ImportError|ModuleNotFoundError|Exception"
"""Pattern of the exceptions by which a file handles missing packages itself."""


@dataclass(frozen=True)
class Equivalent:
    """A function of an installed package in place of one that is missing.

    takes_first_last   True if its last argument is the first of the missing function
    named              named arguments that make it the missing function
    takes              the parameters that both have, in their order; empty if they have all in common
    removes            characters of its texts that the other has no use for
    takes_sizes        True if its named arguments are sizes, which both have
    """

    function: str
    takes_first_last: bool = False
    named: Mapping[str, Any] = field(default_factory=dict)
    takes: Sequence[str] = ()
    removes: str = ""
    takes_sizes: bool = False

    def __getitem__(self, index: object) -> Equivalent:
        """Return this, as an annotation does: `TypedModuleList[Layer]`."""
        return self

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return the output of the function."""
        given = arguments[1:] + arguments[:1] if self.takes_first_last else arguments
        given = given[: len(self.takes)] if self.takes else given
        unused = str.maketrans("", "", self.removes)
        given = tuple(each.translate(unused) if isinstance(each, str) else each for each in given)
        return _held(self.function)(
            *given, **{name: value for name, value in named.items() if self.takes_sizes or name in self.takes}, **self.named
        )


# read now, because the process that confirms a verdict cannot read Headway's files later
_LISTED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
ANNOTATING: Collection[str] = _LISTED["annotating"]
WITHOUT_EFFECT: Collection[str] = _LISTED["without_effect"]
OBSERVING: str = _LISTED["observing"]
PARTS: Mapping[str, str] = _LISTED["parts"]
BASES: Mapping[str, str] = _LISTED["bases"]
SAME_AS: Mapping[str, str] = _LISTED["same_as"]
MODULES = {"cupy.random": numbers_with_type}
PUBLISHED = frozenset({*_LISTED["published"], *ARRAY_LIBRARIES, *ANNOTATING, *WITHOUT_EFFECT, *BASES, *SAME_AS})
EQUIVALENTS = {name: Equivalent(**entry) for name, entry in _LISTED["equivalents"].items()}


def _held(path: str) -> Any:
    """Return the function or class of an installed package with this full name."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


class Placeholder:
    """Anything from a package that is not installed. It may be named, annotate and decorate; a call raises ModuleNotFoundError.

    A class whose name means a part, of a file that the author has, can be constructed.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if is_published(self._path):
            return Placeholder(f"{self._path}.{name}")
        if name in FUNCTIONS:
            return AbsentFunction(name)
        constant = constant_in_place(name)
        return Placeholder(f"{self._path}.{name}") if constant is None else constant

    def __getitem__(self, index: object) -> Placeholder:
        return self

    def __or__(self, other: object) -> Placeholder:
        return self

    __ror__ = __or__

    def __eq__(self, other: object) -> bool:
        """Compare with types and the forms of `typing`, as annotations do; a comparison with a value uses the package.

        Errors   ModuleNotFoundError
        """
        if other is None or isinstance(other, (Placeholder, type)) or type(other).__module__ == "typing":
            return self is other
        raise self._error()

    __hash__ = object.__hash__

    def _refuse(self, *_: object) -> NoReturn:
        raise self._error()

    __bool__ = __len__ = __iter__ = __contains__ = __float__ = __int__ = __index__ = __array__ = _refuse

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return the function that an annotating or observing decorator is given, what a progress bar shows, or an instance; otherwise raise.

        Errors   ModuleNotFoundError
        """
        if re.fullmatch(OBSERVING, self._name) and all(isinstance(each, str | int) or callable(each) for each in arguments):
            return next(filter(callable, arguments), self)
        if self._package in ANNOTATING:
            return arguments[0] if len(arguments) == 1 and callable(arguments[0]) else self
        if self._package in WITHOUT_EFFECT:
            return arguments[0] if arguments and not isinstance(arguments[0], str) else self
        if re.fullmatch(OF_INITIALIZER, self._name) and not is_published(self._path):
            jax = sys.modules.get("jax")
            return None if jax is None else jax.nn.initializers.normal()
        if self.is_part:
            return instance_in_place(self._name, arguments, named, self._error)
        raise self._error()

    def __instancecheck__(self, instance: object) -> bool:
        """Return True for an instance of a class of this name, such as an optimizer of the library where the author has one of their own.

        Errors   ModuleNotFoundError for any other
        """
        if any(each.__name__ == self._name for each in type(instance).__mro__):
            return True
        raise self._error()

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        """Return the class to derive from in place of this.

        It is torch.nn.Module for Lightning's modules, none for settings of the author's and for what only reads and writes the fields
        of a dataclass, and a simple class for a tokenizer, an optimizer or a layer of the author's.

        Errors   ModuleNotFoundError for a class of another package
        """
        if re.fullmatch(OF_STORAGE, self._name) or (re.fullmatch(OF_SETTINGS, self._name) and not is_published(self._path)):
            return ()
        if self._package in BASES and self._path.endswith("Module"):
            return (lightning_module() if self._name == "LightningModule" else _held(BASES[self._package]),)
        base = None if is_published(self._path) else base_in_place(self._path, uses_torch=_uses_torch())
        if base is not None:
            return (base,)
        raise self._error()

    def _error(self) -> ImportError:
        name = re.sub(RELATIVE, ".", self._package)
        return ModuleNotFoundError(f"No module named '{name}'", name=name)

    @property
    def _name(self) -> str:
        return self._path.rpartition(".")[2]

    @property
    def is_part(self) -> bool:
        """True for a class of the author's whose name means a part."""
        return re.fullmatch(OF_CLASS, self._name) is not None and not is_published(self._path) and any(fitting(self._name))

    @property
    def _package(self) -> str:
        """The package that is missing, which may be a part of a namespace package: `google.colab`."""
        prefixes = itertools.accumulate(self._path.split("."), "{}.{}".format)
        return next(name for name in prefixes if isinstance(getattr(sys.modules.get(name), "__loader__", None), MissingPackages))


class Broken(Placeholder):
    """Anything that a file imports from a module which raises while it is imported; a use raises ImportError."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path)
        self._reason = reason

    def __getattr__(self, name: str) -> Broken:
        if name.startswith("__"):
            raise AttributeError(name)
        return Broken(f"{self._path}.{name}", self._reason)

    def _error(self) -> ImportError:
        return ImportError(f"{self._path} cannot be imported: {self._reason}")

    @property
    def _package(self) -> str:
        return ""


def broken_imports(statement: ast.Import | ast.ImportFrom, error: Exception) -> dict[str, Broken]:
    """Return placeholders for the names that an import binds which has raised.

    Errors   the exception itself, if a library of arrays is missing or lacks a name; not if a part of it needs another package
    """
    needs_another = isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] not in ARRAY_LIBRARIES
    if not needs_another and any(name.partition(".")[0] in ARRAY_LIBRARIES for name in imported([statement])):
        raise error
    module = "" if isinstance(statement, ast.Import) else f"{statement.module}."
    return {each.asname or each.name.partition(".")[0]: broken(module + each.name, error) for each in statement.names}


def broken(path: str, error: BaseException) -> Broken:
    """Return a placeholder for what an exception left undefined."""
    return Broken(path, f"{type(error).__name__}: {error}")


class MissingPackages(MetaPathFinder, Loader):
    """Finder for what no other finder has found, if a file in the learner's folders imports it.

    A file that handles the missing package itself gets the usual exception.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = [str(folder) for folder in folders]

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return a spec for a placeholder, or None."""
        parent = sys.modules.get(name.rpartition(".")[0])
        is_inside = parent is not None and isinstance(getattr(parent, "__loader__", None), MissingPackages)
        is_part = "." in name and getattr(parent, "__file__", None) is not None  # namespace packages, such as google, have no file
        if not is_inside and (is_part or name in ARRAY_LIBRARIES or not is_imported_by_learner(name, self.folders)):
            return None
        return ModuleSpec(name, self, is_package=True)

    def find_part(self, name: str) -> ModuleSpec | None:
        """Return a spec for a placeholder in place of a part of an installed package that needs a missing one, such as TensorBoard; otherwise None."""
        is_whole = name not in PARTS or PathFinder.find_spec(PARTS[name]) is not None
        return None if is_whole or not is_imported_by_learner(name, self.folders) else ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return a module whose attributes are placeholders."""
        module = ModuleType(spec.name)
        module.__getattr__ = functools.partial(_attribute, spec.name)  # type: ignore[method-assign]
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing."""


def is_imported_by_learner(name: str, folders: Sequence[str]) -> bool:
    """Return True if a file of the learner, in one of the folders, imports a package without handling its absence."""
    frame = _importing()
    file = Path(frame.f_code.co_filename) if frame is not None else Path()
    is_inside = any(str(file).startswith(folder) for folder in folders)
    if not is_inside or "site-packages" in file.parts or str(file).startswith(OTHERS):
        return False
    try:
        return name.partition(".")[0] not in _optional(ast.parse(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, SyntaxError):
        return False


def importing_tree() -> ast.Module:
    """Return the syntax tree of the learner's file that is executed now."""
    frame = _importing()
    return ast.parse("" if frame is None else Path(frame.f_code.co_filename).read_text(encoding="utf-8"))


def _importing() -> FrameType | None:
    """Return the frame of the file that is executed now."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (
        "importlib" in frame.f_code.co_filename or frame.f_code.co_filename.startswith(str(Path(__file__).parent))
    ):
        frame = frame.f_back
    return frame


def _uses_torch() -> bool:
    """Return True if the file that is executed now has imported PyTorch, whose modules may be the base of an absent layer."""
    frame = _importing()
    values = [] if frame is None else [*frame.f_globals.values()]
    return any(isinstance(each, ModuleType) and each.__name__.partition(".")[0] == "torch" for each in values)


def _needed_by_importing() -> list[str]:
    frame = _importing()
    return [] if frame is None else names_needed(Path(frame.f_code.co_filename), frame.f_globals, OF_CLASS)


def _optional(tree: ast.Module) -> set[str]:
    """Return the packages that a file imports in `try` statements which handle their absence."""
    handled = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Try) and any(each.type is None or re.search(OPTIONAL, ast.unparse(each.type)) for each in node.handlers)
    ]
    names = imported(each for node in handled for statement in node.body for each in ast.walk(statement))
    return {name.partition(".")[0] for name in names}


def imported(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the modules that the absolute imports among nodes name, in dotted form."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return found


def _attribute(package: str, name: str) -> Any:
    """Return a placeholder for an attribute of a package, or its equivalent; for a copy of typing, the type."""
    if name == "__all__" and not is_published(package):
        return _needed_by_importing()
    if name.startswith("__"):
        raise AttributeError(name)
    if name in LIBRARIES and not is_published(package):
        return import_module(LIBRARIES[name])
    path = f"{package}.{name}"
    if path in EQUIVALENTS:
        return EQUIVALENTS[path]
    if path in MODULES:
        return MODULES[path]
    if package in SAME_AS:
        return getattr(import_module(SAME_AS[package]), name, Placeholder(path))
    if name in FUNCTIONS and not is_published(package):
        return AbsentFunction(name)
    if re.fullmatch(OF_ACTIVATIONS, name) and not is_published(package):
        return AbsentActivations(name)
    if name == Value.__name__ and not is_published(package):
        return Value
    if not is_published(package) and (constant := constant_in_place(name)) is not None:
        return constant
    copied = getattr(typing, name, None) if package.endswith(".typing") else None
    return copied or Placeholder(path)


OF_STORAGE = r"(Frozen)?Serializable|DataClass(Json|JSON|Dict|YAML|TOML)\w*Mixin|(JSON|YAML|TOML)\w*Wizard|Yaml\w*Config"
"""Pattern of the names of base classes that add the reading and writing of a dataclass's fields, and no fields."""

OF_SETTINGS = r"_?[A-Z]\w*(Args|Arguments|Config|Configuration|Settings|HParams|Hyperparameters)(Base)?"
"""Pattern of the name of a class of settings, which a dataclass may add to."""

RELATIVE = r"^_folder_.*\."
"""Pattern of the packages that are made for relative imports."""

OF_INITIALIZER = r"((kernel|weight|bias|embed(ding)?|default)_)?init(ializer)?"
"""Pattern of the name of a function of the author's that chooses initial weights, which those of the probes replace."""

OF_CLASS = r"_?[A-Z]\w*[a-z]\w*"
"""Pattern of the name of a class."""


def is_published(path: str) -> bool:
    """Return True for what is in a package that others publish, False for what may be in a file of the author."""
    return path.partition(".")[0] in PUBLISHED


def absent_parts(subject: Subject) -> list[str]:
    """Return the names in a subject's source that mean parts of the author's which are absent from the files around it."""
    return subject.once("absent parts", lambda: _absent_parts(subject.module, subject.code))


def _absent_parts(module: ModuleType | None, code: str) -> list[str]:
    return [
        name
        for name, value in _named_in(module, code).items()
        if isinstance(value, AbsentFunction) or value is Value or (isinstance(value, Placeholder) and value.is_part)
    ]


def absent_constants(subject: Subject) -> dict[str, int | str]:
    """Return the ids of special tokens, and expressions for words, in a subject's source whose values are usual ones because the author's file is absent."""
    named = _named_in(subject.module, subject.code)
    return {name: value for name, value in named.items() if isinstance(value, AbsentId | AbsentPattern)}


def _named_in(module: ModuleType | None, code: str) -> dict[str, Any]:
    """Return the values of the names in a module's code, and of what it reads from missing files."""
    named = {name: getattr(module, name, None) for name in dict.fromkeys(re.findall(r"[^\W\d]\w*", code))}
    for owner, name in re.findall(r"\b([^\W\d]\w*)\.(\w+)", code):
        if isinstance(getattr(named[owner], "__loader__", None), MissingPackages):
            named[name] = getattr(named[owner], name)
    return named


def is_of_missing(error: BaseException) -> bool:
    """Return True for an exception because of what a file imports that is missing: a use of it, or its value in place of the author's."""
    is_key = isinstance(error, KeyError) and any(isinstance(each, AbsentId) for each in error.args)
    is_operand = isinstance(error, TypeError | AttributeError | ValueError) and re.search(r"\bPlaceholder\b", str(error)) is not None
    is_of_base = isinstance(error, AttributeError) and isinstance(error.obj, AbsentBase)  # the author's own may have it
    return isinstance(error, ImportError) or is_key or is_operand or is_of_base
