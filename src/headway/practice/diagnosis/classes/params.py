"""Functions that take their weights as one tree, as in JAX, treated as a class together with the function that initializes the tree."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any

import numpy

from headway.arrays import from_numpy
from headway.practice.diagnosis.calls.calling import DTYPES, mapped
from headway.practice.diagnosis.calls.quick_draws import quick_draws
from headway.practice.diagnosis.classes.configs import CONFIG_NAMES, Config
from headway.practice.diagnosis.classes.flax_modules import random_key
from headway.practice.diagnosis.classes.param_trees import LAYER, PLAIN, Node, arrays_of, formed, sizes_of, tree_read
from headway.practice.diagnosis.reading.subject import Subject, parameters_of, source_in

PARAMS = r"(\w+_)?(params|parameters)|weights|p|theta|pytree|layer|block"
"""Pattern of the name of a tree of weights."""

OF_ATTENTION = r"(self_?|causal_?)?att(entio)?n|mha"
SUBLAYER = rf"{OF_ATTENTION}|mlp|ffn?|feed_?forward"
"""Patterns of the names of the trees of an attention, and of any sublayer, as GPT-2's blocks have them."""

OF_LAYER = r"weights?|bias|kernel|gamma|beta|gain|scale|shift|offset"
"""Pattern of the keys of a layer's arrays."""

KEYS = ("key", "rng", "rng_key", "prng_key", "seed", "random_state")
INITIALIZERS = r"init|make|create|new"
OF_WEIGHTS = r"random|randn|normal|uniform|zeros|ones|glorot|xavier|key|param|weight"
"""Pattern of the name and the source of a function that makes weights."""

OF_JAX = r"\b(jax|jnp|random)\."
"""Pattern of the source of a function that makes arrays of JAX."""

OTHER_SIZE = 2
"""Size of what else a tree holds than the weights of the part, such as the number of layers."""

NUMBER_OF_LAYER = r"^(layer|block)?_?(i|idx|index|id|num(ber)?|layer|block)$"
"""Pattern of the name of the number of a layer."""

MANY = 64
POSITIONS = r"max|len|ctx|context|block|position"
"""Pattern of the names of sizes that limit the number of positions, which are then MANY."""


def as_class(subject: Subject, library: str, *, is_linear: bool = False) -> Subject | None:
    """Return the function as a class that holds its trees; None for a class, for lists, and if it takes no tree whose arrays are known.

    The tree is the one that a function of the file initializes; without such a function, it has the keys that the function reads, and
    arrays of the sizes that their names mean. A linear layer has one matrix and a bias at most, under any keys: the tree of a whole model
    has them in the sizes of the model.
    """
    if inspect.isclass(subject.value) or library == "list":
        return None
    if is_linear and (found := _linear_read(subject)):
        return _made_up(subject, found, None, library)
    tree_parameters = [each.name for each in subject.parameters if re.fullmatch(PARAMS, each.name.lower())]
    initializers = _initializers(subject, tree_parameters[0]) if tree_parameters else []
    if initializers:
        if (
            library == "numpy"
            and "jax" in subject.imports
            and re.search(OF_JAX, source_in(subject.file_source, initializers[0].__name__) or "")
        ):
            return None  # it was called as a function of JAX already
        return _initialized(subject, tree_parameters[0], initializers[0], library)
    config = next(
        (each for each in subject.parameters if re.search(CONFIG_NAMES, each.name.lower()) and each.name not in tree_parameters), None
    )
    trees = _trees_read(subject, config)
    return _made_up(subject, trees, config, library) if trees else None


@dataclass(frozen=True)
class Read:
    """A tree that a function reads from a parameter, and the words that say whose weights it holds if its keys do not.

    keys   values of the parameters that keys of the tree are made of
    """

    tree: Node
    owner: tuple[str, ...] = ()
    keys: Mapping[str, object] = field(default_factory=dict)

    def sizes(self) -> list[str] | None:
        """Return the names of all sizes of the tree; None if those of an array are unknown."""
        return sizes_of(self.tree, self.owner)


def _trees_read(subject: Subject, config: inspect.Parameter | None) -> dict[str, Read]:
    """Return the trees that a function reads from its required parameters, if the sizes of all their arrays follow from their names."""
    found: dict[str, Read] = {}
    attention = ("attention",) if re.search(r"(att(entio)?n|mha)$", subject.name.lower()) else ()
    is_sublayer = re.search(SUBLAYER, subject.name.lower()) is not None  # a block takes the trees of several
    for each in subject.parameters:
        if each.default is each.empty and each is not config:
            keys = _keys_taken(subject, each.name)
            tree = tree_read(subject.value, each.name, subject.module, keys)
            if tree.children and (re.fullmatch(PARAMS, each.name.lower()) or each.name.lower() == "w" or inspect.isclass(tree.form)):
                found[each.name] = _of_class(Read(tree, attention, keys))
            elif tree.children and tree.form == "dict" and is_sublayer and re.fullmatch(SUBLAYER, each.name.lower()):
                found[each.name] = Read(tree, ("attention",) if re.fullmatch(OF_ATTENTION, each.name.lower()) else (), keys)
            elif tree.children and tree.form == "dict" and all(re.fullmatch(OF_LAYER, path[-1].lower()) for path, _ in tree.leaves()):
                found[each.name] = Read(tree, (*attention, each.name))
    return found if all(read.sizes() is not None for read in found.values()) else {}


def _of_class(read: Read) -> Read:
    """Return a tree whose keys say nothing with the name of its class as its owner: `weight` of an RMSNorm, of an Embedding."""
    form = read.tree.form
    return replace(read, owner=(*read.owner, form.__name__)) if inspect.isclass(form) and read.sizes() is None else read


def _linear_read(subject: Subject) -> dict[str, Read]:
    """Return the tree of one or two arrays with plain keys, or that is unpacked, which a linear layer reads from a required parameter."""
    for each in subject.parameters:
        keys = _keys_taken(subject, each.name)
        tree = tree_read(subject.value, each.name, subject.module, keys) if each.default is each.empty else Node()
        plain = [key.rpartition(".")[2] if keys else key for key in tree.children]
        is_plain = all(re.fullmatch(PLAIN, key.lower()) for key in plain) and not any(child.children for child in tree.children.values())
        if 0 < len(tree.children) < 3 and is_plain:
            return {each.name: Read(tree, (LAYER,), keys)}
    return {}


def _keys_taken(subject: Subject, tree: str) -> dict[str, object]:
    """Return values of the required parameters that a function makes keys of a tree from: `weights[f"h.{layer}.{prefix}.bias"]`, `weights[name]`.

    A text is the name of the function, which says whose weights they are, and a number is 0.
    """
    source = subject.own_source
    called = (getattr(subject.module, name, None) for name in re.findall(rf"\b(\w+)\([^()]*\b{tree}\b", source))
    if subject.module is None or any(inspect.isfunction(each) and each.__globals__ is not vars(subject.module) for each in called):
        return {}  # what functions of other files read in turn is not followed
    texts = " ".join(text for _, text in re.findall(r"\bf(['\"])(\S*?)\1", source))  # messages have spaces
    found: dict[str, object] = {}
    for each in subject.parameters:
        is_in_text = re.search(rf"\{{{each.name}\}}", texts) is not None
        is_key = re.search(rf"\b{tree}\[{each.name}\]", source) is not None and (
            each.annotation in (str, "str") or re.search(r"(name|key|prefix)$", each.name)
        )
        if each.name != tree and each.default is each.empty and (is_in_text or is_key):
            is_number = each.annotation in (int, "int") or re.search(NUMBER_OF_LAYER, each.name) is not None
            found[each.name] = 0 if is_number else subject.name
    return found


def _made_up(subject: Subject, trees: Mapping[str, Read], config: inspect.Parameter | None, library: str) -> Subject:
    """Return a function as a class that holds trees of zeros; a config is passed to the function, too."""
    function, keys = subject.value, {name: value for read in trees.values() for name, value in read.keys.items()}
    kept = [each for each in subject.parameters if each.name not in {*trees, *keys} and each is not config]
    sizes = dict.fromkeys(size for read in trees.values() for size in read.sizes() or ())
    sizes_taken = [*([config] if config else []), *(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in sizes)]

    class Holder:
        def __init__(self, **given: Any) -> None:
            self._shared = {config.name: given[config.name]} if config else {}
            arrays = {name: arrays_of(read.tree, given, read.owner) for name, read in trees.items()}
            self.params = mapped(
                lambda leaf: leaf if isinstance(leaf, int | float) else from_numpy(leaf.astype(DTYPES[library]), library), arrays
            )

        def __call__(self, **given: Any) -> Any:
            return function(**{name: formed(read.tree, self.params[name]) for name, read in trees.items()}, **keys, **self._shared, **given)

    return with_parameters(subject, Holder, sizes_taken, kept)


def with_parameters(subject: Subject, holder: type, constructor: list[inspect.Parameter], called: list[inspect.Parameter]) -> Subject:
    """Return the subject with a class in place of its function, with these parameters."""
    bound = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY), *_named(called)]
    changed: Any = holder
    changed.__signature__ = inspect.Signature(_named(constructor))
    changed.__call__.__signature__ = inspect.Signature(bound)
    changed.__call__.__wrapped__ = subject.value  # whose code shows the variables that it reads
    changed.__module__ = subject.value.__module__
    return replace(subject, value=holder)


def _initialized(subject: Subject, params: str, initializer: Callable[..., Any], library: str) -> Subject:
    """Return a function as a class that holds what an initializer returns.

    What both the function and the initializer take, such as a config, is passed to both.
    """
    read, function = _keys_read(subject, params), subject.value
    sizes_taken = [each for each in parameters_of(initializer) if each.name.lower() not in KEYS]
    keys = [each.name for each in parameters_of(initializer) if each.name.lower() in KEYS]
    is_read_here = bool(read) and not re.search(rf"\b{params}\b(?! *[:=]|\[['\"]|\.)", subject.own_source.partition(":\n")[2])
    shared = {each.name for each in sizes_taken} & {each.name for each in subject.parameters}

    class Holder:
        def __init__(self, **sizes: Any) -> None:
            given = {name: _size(name) if value is None else value for name, value in sizes.items()}
            given = {name: _Filled(value) if isinstance(value, Config) else value for name, value in given.items()}
            with quick_draws():
                made = initializer(**given, **{name: _key(name, library) for name in keys})
            tree = next((each for each in _trees(made) if read <= _fields(each).keys()), made)
            self._closed = partial(_closed, tree, library=library)  # the tree itself is no attribute, in which arrays would be found twice
            self._shared = {name: given[name] for name in shared if name in given}
            self.params = _opened({name: each for name, each in _fields(tree).items() if name in read} if is_read_here else tree)

        def __call__(self, **given: Any) -> Any:
            return function(**{params: self._closed(self.params)}, **self._shared, **given)

    own = [each for each in subject.parameters if each.name != params and each.name not in shared]
    return with_parameters(subject, Holder, sizes_taken, own)


def _size(name: str) -> int:
    """Return a size of a whole model's tree that the part does not have."""
    return MANY if re.search(POSITIONS, name) else OTHER_SIZE


class _Filled:
    """A config in which every size has a value: the tree of a whole model has more of them than the part that is judged."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def __getattr__(self, name: str) -> Any:
        value = self._config.get(name)
        return _size(name) if value is None else value

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)


def _fields(tree: Any) -> dict[str, Any]:
    """Return what a tree holds by name: the items of a dict, the fields of a named tuple or of a dataclass; nothing for other values."""
    if isinstance(tree, dict):
        return tree
    if isinstance(tree, tuple) and hasattr(tree, "_asdict"):
        return dict(tree._asdict())
    if is_dataclass(tree) and not inspect.isclass(tree):
        return {each.name: getattr(tree, each.name) for each in fields(tree)}
    return {}


def _opened(tree: Any) -> Any:
    """Return a tree as dicts and lists, in which arrays can be replaced."""
    if named := _fields(tree):
        return {name: _opened(each) for name, each in named.items()}
    return [_opened(each) for each in tree] if isinstance(tree, list | tuple) else tree


def _closed(tree: Any, opened: Any, library: str) -> Any:
    """Return dicts and lists in the form of the tree that they were made from, with the arrays of a library."""
    if named := _fields(tree):
        closed = {name: _closed(each, opened[name], library) if name in opened else each for name, each in named.items()}
        return closed if isinstance(tree, dict) else type(tree)(**closed)
    if isinstance(tree, list | tuple):
        return type(tree)(_closed(each, other, library) for each, other in zip(tree, opened, strict=True))
    return from_numpy(opened, library) if isinstance(opened, numpy.ndarray) else opened


def _named(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    return [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]


def _keys_read(subject: Subject, params: str) -> set[str]:
    """Return the keys and fields that a function reads from its tree."""
    found = re.findall(rf"\b{re.escape(params)}(?:\[['\"](\w+)['\"]\]|\.([A-Za-z]\w*)\b(?!\())", subject.own_source)
    return {key or field for key, field in found}


def _trees(tree: Any) -> Iterator[Any]:
    """Yield the trees with names in a tree, outer ones first."""
    named = _fields(tree)
    if named:
        yield tree
    for each in named.values() or (tree if isinstance(tree, list | tuple) else ()):
        yield from _trees(each)


def _names_all(source: str, keys: set[str]) -> bool:
    """Return True if a function's source names all keys."""
    return all(re.search(rf"\b{key}\b", source) for key in keys)


def _initializers(subject: Subject, params: str) -> list[Callable[..., Any]]:
    """Return the functions of the file that may initialize the tree: those that name the keys read from it first, then by similar names."""
    names = vars(subject.module) if subject.module is not None else {}
    initializers = [name for name, value in names.items() if inspect.isfunction(value) and re.search(INITIALIZERS, name, re.IGNORECASE)]
    sources = {name: source_in(subject.file_source, name) or "" for name in initializers}
    initializers = [name for name in initializers if re.search(OF_WEIGHTS, f"{name}\n{sources[name]}", re.IGNORECASE)]
    words, read = set(re.findall("[a-z]+", subject.name.lower())), _keys_read(subject, params)
    initializers.sort(
        key=lambda name: (
            not _names_all(sources[name], read),
            -len(words & set(re.findall("[a-z]+", name.lower()))),
        )
    )
    return [names[name] for name in initializers]


def _key(name: str, library: str) -> Any:
    """Return a random key, seed or generator."""
    if "seed" in name.lower():
        return 0
    return random_key(name) if library == "jax" else numpy.random.default_rng(0)
