"""Functions and classes in a learner's file, and the exercise that each one belongs to."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import ModuleType

from headway.practice.diagnosis.calls.timeout import time_limit
from headway.practice.diagnosis.calls.wording import NOTHING, value_of_setting
from headway.practice.diagnosis.classes.flax_modules import subjects_in
from headway.practice.diagnosis.explain.failure import FILE_TITLE, how_to_add
from headway.practice.diagnosis.explain.impossible import like_in_module
from headway.practice.diagnosis.reading.absent_texts import absent_texts
from headway.practice.diagnosis.reading.abstract import left_to_subclasses
from headway.practice.diagnosis.reading.deferring import FLEXIBLE, import_meta_kernels, prepare_flexible_attention
from headway.practice.diagnosis.reading.devices import RANGES, mark_no_ranges, on_processor
from headway.practice.diagnosis.reading.errors import last_line
from headway.practice.diagnosis.reading.missing import Broken, Placeholder, broken, broken_imports, imported
from headway.practice.diagnosis.reading.own_heads import with_heads_as_parameters
from headway.practice.diagnosis.reading.packages import prepare_imports
from headway.practice.diagnosis.reading.removed import restore_removed
from headway.practice.diagnosis.reading.subject import Subject, definitions
from headway.practice.diagnosis.reading.trees import in_branches, stored_in
from headway.practice.exercise import Exercise
from headway.practice.exercises import NAMES, exercise
from headway.practice.message import EMPTY, Message, PracticeError, describe_error, joined, unknown_name
from headway.practice.names import means
from headway.practice.nested_strings import parsed
from headway.practice.source import read
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Verdict

TEXTS = Texts("diagnosis")

ASSIGNMENT_SECONDS = 0.5
"""CPU seconds for one assignment when only a file's definitions are run."""

META_DEVICE = r"[\"']meta[\"']|init_empty_weights"
"""Pattern of the text of a file that makes tensors without numbers."""

ABSENT_LENGTH = 61
"""Length of data that a file reads and that is absent."""


def read_source(path: Path) -> str:
    """Return the Python text of a .py file, or of the code cells of a notebook.

    Errors   OptionError for a missing file, or one that is neither.
    """
    return read(path).text


def load_module(path: Path, text: str) -> ModuleType | Verdict:
    """Run a file as a module that is not __main__; return a verdict if it raises."""
    return _loaded(path, text, lambda module, tree: exec(compile(tree, str(path), "exec"), module.__dict__))


def _loaded(path: Path, text: str, run: Callable[[ModuleType, ast.Module], object]) -> ModuleType | Verdict:
    module = _empty_module(path, text)
    try:
        tree = with_heads_as_parameters(on_processor(parsed(text)))
        prepare_imports(module, path, tree, _run_definitions)
        restore_removed({*sys.modules, *imported(ast.walk(tree))}, text)
        if RANGES in text:
            mark_no_ranges()
        if re.search(META_DEVICE, text):
            import_meta_kernels()
        if FLEXIBLE in imported(ast.walk(tree)):
            prepare_flexible_attention()
        run(module, tree)
        _set_absent_sizes(module, tree)
        _reset_precision()
        _compile_nothing()
        _import_compiler(module)
    except (Exception, SystemExit) as error:
        return _does_not_run(path, text, error)
    _set_as_main(module, tree)
    return module


def _set_absent_sizes(module: ModuleType, tree: ast.Module) -> None:
    """Set the variables that a file takes from a package that is missing, and that are sizes by their names, such as `VOCAB = tokenizer.n_vocab`."""
    known = {name: value for name, value in vars(module).items() if not isinstance(value, Placeholder)}
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and not known.keys() >= {*stored_in(statement)}:
            vars(module).update(_settings(statement, known))


def _reset_precision() -> None:
    """Set torch's default dtype to float32 again, which a file may have changed to half precision."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_default_dtype() is not torch.float32:
        torch.set_default_dtype(torch.float32)


def _compile_nothing() -> None:
    """Let functions that `mlx.core.compile` decorates run as they are: the draws and outputs of a compiled one have no values while it is traced."""
    mlx = sys.modules.get("mlx.core")
    if mlx is not None:
        mlx.disable_compile()


def _import_compiler(module: ModuleType) -> None:
    """Import the compiler of PyTorch for a file with an optimizer, whose constructor would import it within the time limit of a call."""
    torch = sys.modules.get("torch")
    own = [each for each in vars(module).values() if inspect.isclass(each) and each.__module__ == module.__name__]
    if torch is not None and any(issubclass(each, torch.optim.Optimizer) for each in own):
        import_module("torch._dynamo")


def _empty_module(path: Path, text: str) -> ModuleType:
    """Return a module for a file, under its name, or under another one if the file imports a module of its name, such as regex."""
    imports_its_name = re.search(rf"^\s*(import|from)\s+{re.escape(path.stem)}\b", text, re.MULTILINE)
    module = ModuleType(f"_{path.stem}" if imports_its_name else path.stem)
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and pickle look the module up by name
    return module


def load_definitions(path: Path, text: str) -> ModuleType | Verdict:
    """Run only the imports and definitions of a file; return a verdict if one of the definitions raises.

    Assignments run as well, but are skipped if they raise or exceed ASSIGNMENT_SECONDS, and so are the definitions that need what they assign.
    A length of absent data, such as vocab_size = len(characters), is ABSENT_LENGTH, and so is a size that a file reads from absent settings.
    An absent text has as many characters.
    """
    return _loaded(path, text, _run_definitions)


def _run_definitions(module: ModuleType, tree: ast.Module) -> set[str]:
    """Run the imports, definitions and assignments of a file one by one; return the names that those which raise would have defined."""
    with absent_texts(ABSENT_LENGTH):
        return _run_statements(module, tree)


def _run_statements(module: ModuleType, tree: ast.Module) -> set[str]:
    unset: set[str] = set()
    for statement in tree.body:
        code = compile(ast.Module([statement], []), str(module.__file__), "exec")
        if isinstance(statement, ast.Import | ast.ImportFrom):
            try:
                exec(code, module.__dict__)
            except Exception as error:  # a module of the learner that raises; what does without it can be judged
                vars(module).update(broken_imports(statement, error))
        elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
            try:
                exec(code, module.__dict__)
            except (
                NameError,
                ImportError,
                AttributeError,
            ) as error:  # a decorator or base class of a missing package, or a learner's mistake
                if isinstance(error, NameError) and error.name not in unset:
                    vars(module)[statement.name] = broken(statement.name, error)
                else:
                    unset.add(statement.name)
        elif _is_choice(statement) or ast.unparse(statement).startswith("sys.path."):
            with suppress(Exception, SystemExit), time_limit(ASSIGNMENT_SECONDS):
                exec(code, module.__dict__)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            unset |= {*stored_in(statement)}
            with suppress(Exception, SystemExit), time_limit(ASSIGNMENT_SECONDS):
                exec(code, module.__dict__)
            vars(module).update(_settings(statement, vars(module)))
    return unset - set(vars(module))


def _set_as_main(module: ModuleType, tree: ast.Module) -> None:
    """Set what a file sets only when it is run as a program: variables with plain values, such as sizes that its classes read, and Python's own modules."""
    bodies = [each.body for each in tree.body if isinstance(each, ast.If) and "__main__" in ast.dump(each.test)]
    for imported_here in (each for body in bodies for each in body if isinstance(each, ast.Import | ast.ImportFrom)):
        _import_as_main(module, imported_here)
    for statement in (each for body in bodies for each in body if isinstance(each, ast.Assign)):
        names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
        with suppress(ValueError, TypeError, SyntaxError):
            value = ast.literal_eval(statement.value)
            vars(module).update({name: value for name in names if name not in vars(module)})
        vars(module).update(_settings(statement, vars(module)))


def _import_as_main(module: ModuleType, statement: ast.Import | ast.ImportFrom) -> None:
    """Import modules of Python's own under names that are free, such as `time`."""
    paths = [each.name for each in statement.names] if isinstance(statement, ast.Import) else [statement.module or ""]
    if not all(path.partition(".")[0] in sys.stdlib_module_names for path in paths):
        return
    names: dict[str, object] = {}
    with suppress(ImportError):
        exec(compile(ast.Module([statement], []), str(module.__file__), "exec"), names)
    vars(module).update({name: value for name, value in names.items() if name not in vars(module)})


def _is_choice(statement: ast.stmt) -> bool:
    """Return True for an `if` or `try` that only chooses values: no branch has more than assignments, imports and definitions."""
    if not isinstance(statement, ast.If | ast.Try):
        return False
    return all(isinstance(each, SETTING) or _is_choice(each) for each in in_branches(statement))


SETTING = (ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.Pass, ast.FunctionDef, ast.ClassDef)
"""Statements that set names."""


def _settings(statement: ast.Assign | ast.AnnAssign, known: Mapping[str, object]) -> dict[str, object]:
    """Return values for the settings that an assignment takes from what is absent, such as `config["width"]`, and that are not known."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = [target.id for target in targets if isinstance(target, ast.Name) and target.id not in known]
    match statement.value:
        case ast.Call(func=ast.Name(id="len")):
            return dict.fromkeys(names, ABSENT_LENGTH)
    if statement.value is None or not all(isinstance(node, PLAIN) or _is_conversion(node) for node in ast.walk(statement.value)):
        return {}
    values = {name: value_of_setting(name, ABSENT_LENGTH) for name in names}
    return {name: value for name, value in values.items() if value is not NOTHING}


PLAIN = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.BinOp, ast.operator, ast.expr_context)
"""Nodes of an expression that reads a setting."""


def _is_conversion(node: ast.AST) -> bool:
    """Return True for a call that reads a setting or converts it to a number."""
    match node:
        case ast.Call(func=ast.Name(id="int" | "float" | "len") | ast.Attribute(attr="get")):
            return True
    return False


def with_exercises(
    module: ModuleType, text: str, named: str | None = None, skipped: Collection[str] = (), begin: Callable[[Subject], None] | None = None
) -> Iterator[tuple[Subject, Exercise]]:
    """Yield a file's functions and classes with their exercises, found by name or by outputs; with `named`, always that exercise.

    skipped   names to leave out
    begin     called before the exercise of a subject is looked for, which may take time

    Errors   OptionError for an unknown exercise.
    """
    from headway.practice.diagnosis.recognising import recognised  # the judge's process reads files without a diagnosis

    subjects = subjects_in(module, text)
    if named is not None:
        chosen = exercise(check_name(named))
        matching = [subject for subject in subjects if means(subject.short_name, chosen.name)]
        found = matching or [each for each in subjects if not each.is_private][:1] or subjects[:1]
        yield from ((subject, chosen) for subject in found if subject.name not in skipped)
        return
    for subject in _candidates(subjects, skipped):
        if begin is not None:
            begin(subject)
        part = recognised(subject)
        if part is not None:
            yield subject, part


def unjudged(
    module: ModuleType, text: str, judged: Collection[str], skipped: Collection[str], *, with_methods: bool = False
) -> list[Subject]:
    """Return the functions and classes of a file, and maybe the methods, that are not among `judged`, without base classes and tests."""
    candidates = _candidates(subjects_in(module, text), skipped)
    return [subject for subject in candidates if subject.name not in judged and (with_methods or "." not in subject.name)]


def _candidates(subjects: Sequence[Subject], skipped: Collection[str]) -> list[Subject]:
    defined = [each for each in subjects if not isinstance(each.value, Broken)]  # the verdict on the file says what its definition raises
    return [each for each in defined if not (each.name in skipped or _is_base(each, subjects) or _is_test(each) or _is_record(each.value))]


LEFT_OPEN = r"def [a-z]\w*\(.*\).*:\s*raise NotImplementedError"
"""Pattern of a method that a class leaves to others; of several, nothing is to be filled in unless a comment says so."""
TO_DO = r"(?i)to_?do|your (own )?(code|implementation)|fill in|implement (this|me|here)"


def _is_base(subject: Subject, subjects: Sequence[Subject]) -> bool:
    """Return True for an abstract class that another class of the file implements, and for one that leaves several methods to other files."""
    if not inspect.isclass(subject.value):
        return False
    if subject.name in left_to_subclasses(definitions(parsed(subject.text))):
        return True
    if not re.search(r"NotImplementedError|@abstractmethod|^ +(pass|\.\.\.)$", subject.own_source, re.MULTILINE):
        return False
    if len(re.findall(LEFT_OPEN, subject.code)) > 1 and not re.search(TO_DO, subject.own_source):
        return True
    others = [each.value for each in subjects if each is not subject and inspect.isclass(each.value)]
    return inspect.isabstract(subject.value) or any(issubclass(other, subject.value) for other in others)


def _is_record(value: object) -> bool:
    """Return True for an enumeration, and for a named tuple or a dataclass without methods: it holds weights or settings."""
    if inspect.isclass(value) and issubclass(value, Enum):
        return True
    if not inspect.isclass(value) or not (hasattr(value, "_fields") or hasattr(value, "__dataclass_fields__")):
        return False
    return not any(inspect.isfunction(each) for name, each in vars(value).items() if not name.startswith("_") or name == "__call__")


def _is_test(subject: Subject) -> bool:
    """Return True for a test function, and for a class of unittest."""
    if not inspect.isclass(subject.value):
        return subject.name.startswith("test_") or subject.name.endswith("_test")
    return "unittest" in sys.modules and issubclass(subject.value, sys.modules["unittest"].TestCase)


def check_name(name: str) -> str:
    """Return the name if it is an exercise's.

    Errors   OptionError with the closest names otherwise.
    """
    if name in NAMES:
        return name
    raise unknown_name(name, NAMES)


def nothing_found(path: Path) -> PracticeError:
    """Return the error for a file without a function that belongs to an exercise."""
    names = ", ".join(definitions(ast.parse(read_source(path))))
    if not names:
        return PracticeError(TEXTS["nothing_defined"].format(path=path), hint=TEXTS["define_something"])
    return PracticeError(TEXTS["nothing_to_check"].format(path=path, names=names), hint=TEXTS["select_a_part"].format(parts=joined(NAMES)))


def _does_not_run(path: Path, text: str, error: BaseException) -> Verdict:
    line = error.lineno if isinstance(error, SyntaxError) else last_line(error, str(path))
    written = text.splitlines()[line - 1].strip() if line and line <= len(text.splitlines()) else ""
    place = TEXTS["at_line"].format(written=written) if written else EMPTY
    says = TEXTS["importing_raises"].format(error=describe_error(error), place=place)
    cause = Cause(f"raises_{type(error).__name__}", says, _advice(error), EMPTY, line=line)
    return Verdict(path.name, "file", line or 1, "could not run", (cause,), title=FILE_TITLE)


OF_REGEX = r"bad escape \p"
"""Start of the message of Python's own `re` for the properties of characters that only the package regex knows."""


def _advice(error: BaseException) -> Message:
    if isinstance(error, ModuleNotFoundError):
        return how_to_add(error.name or "")
    if isinstance(error, SyntaxError) and "default" in str(error.msg):
        return TEXTS["defaults_last"]
    if isinstance(error, SyntaxError):
        return TEXTS["correct_the_syntax"]
    if isinstance(error, NameError):
        return TEXTS["define_name"]
    if isinstance(error, re.error) and error.msg.startswith(OF_REGEX):
        return TEXTS["import_regex"]
    lacking = re.fullmatch(r"module '([\w.]+)' has no attribute '(\w+)'", str(error))
    module = sys.modules.get(lacking[1]) if lacking is not None else None
    if lacking is not None and module is not None and (near := like_in_module(module, lacking[2])) is not None:
        return TEXTS["write_instead"].format(written=f"{lacking[1].rpartition('.')[2]}.{near}")
    return TEXTS["guard_imports"]
