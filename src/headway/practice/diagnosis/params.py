"""Functions that take their weights as one tree, as in JAX, treated as a class together with the function that initializes the tree."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from headway.practice.diagnosis.subject import Subject, parameters_of, source_in

PARAMS = ("params", "parameters", "weights", "p", "layer_params", "theta")
KEYS = ("key", "rng", "rng_key", "prng_key", "seed", "random_state")
INITIALIZERS = r"init|make|create|new"


def as_class(subject: Subject, library: str) -> Subject | None:
    """Return the function as a class that holds its tree; None for a class, and if it takes no tree or the file has no initializer."""
    if inspect.isclass(subject.value):
        return None
    tree_parameters = [each.name for each in subject.parameters if each.name.lower() in PARAMS]
    initializers = _initializers(subject, tree_parameters[0]) if tree_parameters else []
    if not initializers:
        return None
    read = _keys_read(subject, tree_parameters[0])
    params, initializer = tree_parameters[0], initializers[0]
    sizes_taken, function = [each for each in parameters_of(initializer) if each.name.lower() not in KEYS], subject.value
    keys = [each.name for each in parameters_of(initializer) if each.name.lower() in KEYS]

    class Holder:
        def __init__(self, **sizes: Any) -> None:
            made = initializer(**sizes, **{name: _key(name, library) for name in keys})
            self.params = next((each for each in _trees(made) if read <= each.keys()), made)

        def __call__(self, **given: Any) -> Any:
            return function(**{params: self.params}, **given)

    own = [each for each in subject.parameters if each.name != params]
    bound = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY), *_named(own)]
    Holder.__signature__ = inspect.Signature(_named(sizes_taken))  # type: ignore[attr-defined]
    Holder.__call__.__signature__ = inspect.Signature(bound)  # type: ignore[attr-defined]
    Holder.__module__ = function.__module__
    return replace(subject, value=Holder)


def _named(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    return [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]


def _keys_read(subject: Subject, params: str) -> set[str]:
    """Return the keys that a function reads from its tree."""
    return set(re.findall(rf"\b{re.escape(params)}\[['\"](\w+)['\"]\]", "\n".join(subject.source)))


def _trees(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield the dictionaries of a tree, outer ones first."""
    if isinstance(tree, dict):
        yield tree
    for each in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list | tuple) else ():
        yield from _trees(each)


def _names_all(source: str, keys: set[str]) -> bool:
    """Return True if a function's source names all keys."""
    return all(re.search(rf"\b{key}\b", source) for key in keys)


def _initializers(subject: Subject, params: str) -> list[Callable[..., Any]]:
    """Return the functions of the file that may initialize the tree: those that name the keys read from it first, then by similar names."""
    names = vars(subject.module) if subject.module is not None else {}
    initializers = [name for name, value in names.items() if inspect.isfunction(value) and re.search(INITIALIZERS, name, re.IGNORECASE)]
    words, read = set(re.findall("[a-z]+", subject.name.lower())), _keys_read(subject, params)
    initializers.sort(
        key=lambda name: (
            not _names_all(source_in(subject.file_source, name) or "", read),
            -len(words & set(re.findall("[a-z]+", name.lower()))),
        )
    )
    return [names[name] for name in initializers]


def _key(name: str, library: str) -> Any:
    """Return a random key, seed or generator."""
    if "seed" in name.lower():
        return 0
    if library == "jax":
        import jax

        return jax.random.PRNGKey(0)
    import numpy

    return numpy.random.default_rng(0)
