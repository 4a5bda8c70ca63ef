"""Functions that take their weights as one tree, as in JAX, treated as a class together with the function that initializes the tree."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headway.practice.diagnosis.subject import Subject, parameters_of

PARAMS = ("params", "parameters", "weights", "p", "layer_params", "theta")
KEYS = ("key", "rng", "rng_key", "prng_key", "seed", "random_state")
INITIALIZERS = r"init|make|create|new"


def as_class(subject: Subject, library: str) -> Subject | None:
    """Return the function as a class that holds its tree; None for a class, and if it takes no tree or the file has no initializer."""
    if inspect.isclass(subject.value):
        return None
    tree_parameters = [each.name for each in subject.parameters if each.name.lower() in PARAMS]
    initializers = _initializers(subject) if tree_parameters else []
    if not initializers:
        return None
    params, initializer = tree_parameters[0], initializers[0]
    sizes_taken, function = [each for each in parameters_of(initializer) if each.name.lower() not in KEYS], subject.value
    keys = [each.name for each in parameters_of(initializer) if each.name.lower() in KEYS]

    class Holder:
        def __init__(self, **sizes: Any) -> None:
            self.params = initializer(**sizes, **{name: _key(name, library) for name in keys})

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


def _initializers(subject: Subject) -> list[Callable[..., Any]]:
    """Return the functions of the file that may initialize the tree, those with the most similar name first."""
    names = vars(subject.module) if subject.module is not None else {}
    initializers = [name for name, value in names.items() if inspect.isfunction(value) and re.search(INITIALIZERS, name, re.IGNORECASE)]
    words = set(re.findall("[a-z]+", subject.name.lower()))
    initializers.sort(key=lambda name: -len(words & set(re.findall("[a-z]+", name.lower()))))
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
