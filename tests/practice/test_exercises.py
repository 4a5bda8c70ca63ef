"""Properties of every exercise: the recipe equals the definition, the probes separate the mistakes, and the verdicts are correct."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy
import pytest

from headway.arrays import ARRAY_LIBRARIES
from headway.practice.diagnosis.calls.binding import bind
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercises import NAMES, exercise
from headway.practice.message import Message
from headway.practice.outputs import Raised, is_same, precision
from tests.practice.written import catalogued, is_written

every_exercise = pytest.mark.parametrize("name", NAMES)
WRITTEN_IN_JAX = {path.stem.removesuffix("__jax") for path in (Path(__file__).parent / "learners").glob("*__jax.py")}
"""Parts with hand-written functions for JAX; test_learners.py judges them, and JAX compiles every operation for every shape."""

OF_OTHER_PARTS = {"stacked_heads_attention", "next_token_loss", "transformer_block", "positioned_embedding"}
"""Parts whose definitions consist of, or are contained in, those of other parts that are judged with JAX."""

ANY_LIBRARY = [
    (name, library) for name in NAMES for library in ARRAY_LIBRARIES if library != "jax" or name not in WRITTEN_IN_JAX | OF_OTHER_PARTS
]


def functions_with_mistakes():
    """Yield the catalogued mistakes that no hand-written function makes: test_learners.py judges those more strictly."""
    for name, mistake, operands in catalogued():
        if not is_written(name, mistake, operands):
            yield pytest.param(name, mistake, operands, id="-".join((name, mistake.name, *operands[:1])))


@cache
def answers(name, mistake=None):
    """Return the recipe's outputs for all probes, with one mistake or none."""
    chosen = exercise(name)
    made = tuple(each for each in chosen.mistakes if each.name == mistake)
    found = []
    for probe in chosen.probes():
        try:
            with numpy.errstate(all="ignore"):
                found.append(chosen.answer(probe.inputs, made))
        except Exception as error:
            found.append(Raised(error))
    return found


def are_same(first, second):
    return all(is_same(a, b, precision(b)) for a, b in zip(first, second, strict=True))


@every_exercise
def test_the_recipe_is_the_definition(name):
    chosen = exercise(name)
    for probe in chosen.probes():
        expected = chosen.definition(**probe.inputs)
        assert is_same(chosen.answer(probe.inputs), expected, precision(expected)), probe.name


@every_exercise
def test_every_mistake_shows_on_some_probe_and_differs_from_every_other(name):
    names, found = [each.name for each in exercise(name).mistakes], []
    for index, mistake in enumerate(names):
        given = answers(name, mistake)
        if are_same(given, answers(name)):
            found.append(f"no probe shows {mistake}")
        found += [f"no probe tells {mistake} from {other}" for other in names[:index] if are_same(given, answers(name, other))]
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mistake", "left_out"), list(functions_with_mistakes()))
def test_a_function_with_a_mistake_is_wrong_and_the_mistake_is_named(name, mistake, left_out, record_property):
    chosen = exercise(name)
    verdict = diagnose(_function(chosen, (mistake,), left_out), chosen)
    assert verdict.status == "wrong"
    named = [cause.name for cause in verdict.causes]
    expected = mistake.said_as or mistake.name
    record_property("is_named_first", named[0] == expected)
    assert expected in named[:3]


@every_exercise
def test_the_definition_is_correct_and_the_stub_is_not(name):
    chosen = exercise(name)
    assert diagnose(_function(chosen, ()), chosen).is_correct

    def stub(**inputs):
        raise NotImplementedError

    stub.__signature__ = _signature(chosen)
    assert diagnose(Subject(stub, name), chosen).status == "could not run"


@pytest.mark.parametrize(("name", "library"), ANY_LIBRARY)
def test_the_definition_is_correct_as_a_function_of_any_array_library(name, library):
    chosen, seen = exercise(name), set()

    def definition(**inputs):
        seen.update(library_of(value) for value in inputs.values() if hasattr(value, "dtype"))
        return chosen.definition(**inputs)

    definition.__signature__ = _signature(chosen)
    verdict = diagnose(Subject(definition, name, imports=(library,)), chosen)
    assert verdict.is_correct, verdict
    assert seen <= {library}, "it was judged in another library"


def library_of(array):
    return next(library for library in ("torch", "jax", "mlx", "numpy") if type(array).__module__.startswith(library))


@every_exercise
def test_every_message_exists_in_both_languages(name):
    chosen = exercise(name)
    words = [chosen.title, *chosen.hints]
    for each in (*chosen.mistakes, *chosen.recoveries):
        words += [each.says, each.fix, *([each.hides] if each.hides and each.hides.en else [])]
    for each in words:
        assert isinstance(each, Message)
        assert each.en.strip(), name
        assert any("一" <= character <= "鿿" for character in each.zh) or each.zh == each.en, each
    assert len(chosen.hints) == 3
    assert len({mistake.name for mistake in chosen.mistakes}) == len(chosen.mistakes)


@every_exercise
def test_every_probe_matches_the_roles(name):
    chosen = exercise(name)
    subject = _function(chosen, ())
    binding = bind(subject, chosen.roles)
    names = [probe.name for probe in chosen.probes()]
    assert len(set(names)) == len(names)
    for probe in chosen.probes():
        assert not isinstance(Call(subject, binding, "numpy")(probe.inputs), Raised), probe.name


def _function(chosen, mistakes, left_out=()):
    def made(**inputs):
        return chosen.answer(inputs, mistakes)

    made.__signature__ = _signature(chosen, left_out)
    return Subject(made, chosen.name, imports=("numpy",))


def _signature(chosen, left_out=()):
    import inspect

    from headway.practice.exercise import MISSING

    given = [set(probe.inputs) for probe in chosen.probes()]
    given_always, given_ever = set.intersection(*given), set.union(*given)
    parameters = [
        inspect.Parameter(
            role.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if role.name in given_always else None if role.neutral is MISSING else role.neutral,
        )
        for role in chosen.roles
        if role.name
        in given_ever - set(left_out)  # the others are only for functions that take what follows from these, or that use another signature
    ]
    return inspect.Signature(parameters)
