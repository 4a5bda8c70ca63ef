"""The exception tree: messages, hints and pickling."""

from __future__ import annotations

import pickle
import traceback

import pytest

from headway import errors

CLASSES = [each for each in vars(errors).values() if isinstance(each, type)]


@pytest.mark.parametrize("cls", CLASSES)
def test_the_message_and_the_hint_are_kept_apart(cls):
    error = cls("got 0, expected at least 1", hint="leave it out")
    assert str(error) == "got 0, expected at least 1"
    assert error.hint == "leave it out"
    assert "hint: leave it out" in "".join(traceback.format_exception(error))


@pytest.mark.parametrize("cls", CLASSES)
def test_pickling_keeps_the_hint(cls):
    error = pickle.loads(pickle.dumps(cls("got 0, expected at least 1", hint="leave it out")))
    assert (type(error), str(error), error.hint) == (cls, "got 0, expected at least 1", "leave it out")
    assert error.__notes__ == ["hint: leave it out"]


def test_a_hint_is_optional():
    error = errors.ShapeError("got (2, 3), expected (3, 2)")
    assert error.hint is None
    assert not hasattr(error, "__notes__")


def test_the_module_docstring_draws_every_class():
    assert all(each.__name__ in (errors.__doc__ or "") for each in CLASSES)


def test_a_quantity_has_the_singular_for_one_only():
    assert [errors.quantity(number, "wrong line") for number in (0, 1, 2000)] == ["0 wrong lines", "1 wrong line", "2,000 wrong lines"]
