"""Answers as bytes: what is decoded is what was encoded, and other bytes raise MalformedError."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from headway.arrays import as_dtype
from headway.practice.judge import plain
from headway.practice.judge.shown import printable
from headway.practice.judge.static import facts_of
from headway.practice.outputs import Raised

VALUES = (None, True, False, 0, -(10**30), 2.5, "text", b"bytes", (1, ("a", [2])), {"a": 1, (1, 2): None}, np.int64(3), np.float32(2))


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_plain_values_keep_their_value_and_type(value):
    decoded = plain.decode(plain.encode(value))
    assert decoded == value
    assert type(decoded) is type(value)


@pytest.mark.parametrize("dtype", [*sorted(plain.DTYPES), plain.BFLOAT16])
def test_arrays_keep_shape_and_dtype(dtype):
    value = np.arange(6).reshape(2, 3).astype(as_dtype(dtype, np))
    decoded = plain.decode(plain.encode(value))
    assert decoded.dtype == value.dtype
    assert decoded.tobytes() == value.tobytes()
    assert decoded.shape == (2, 3)


def test_an_exception_keeps_its_kind_and_text_only():
    class OwnError(ValueError):
        pass

    decoded = plain.decode(plain.encode(Raised(OwnError("no"))))
    assert type(decoded.error) is ValueError
    assert str(decoded.error) == "no"


def test_objects_are_not_encoded():
    for value in (object(), np.array([object()]), np.datetime64("2020"), 1 << 5000):
        with pytest.raises(plain.MalformedError):
            plain.encode(value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x",
        b"nn",
        b"\x80\x04.",  # a pickle
        b"s" + struct.pack("<Q", 2**60),
        b"t" + struct.pack("<Q", 2**60),
        b"t" + struct.pack("<Q", 1),
        b"i" + struct.pack("<Q", 3) + b"1e9",
        b"d" + struct.pack("<Q", 1) + b"l" + struct.pack("<Q", 0) + b"n",
        b"a" + struct.pack("<Q", 6) + b"object" + b"\x00",
        b"a" + struct.pack("<Q", 7) + b"float64" + struct.pack("<B2Q", 2, 2**40, 2**40),
        b"a" + struct.pack("<Q", 7) + b"float64" + struct.pack("<B2Q", 2, 0, 2**62),
        b"l" + struct.pack("<Q", 1) + (b"l" + struct.pack("<Q", 1)) * 50 + b"n",
    ],
    ids=range(13),
)
def test_other_bytes_are_refused(data):
    with pytest.raises(plain.MalformedError):
        plain.decode(data)


def test_random_bytes_are_refused_or_decoded_without_another_exception():
    random = np.random.default_rng(0)
    tags = np.frombuffer(b"n01rifsyagtld\x00\x01", np.uint8)
    for _ in range(3000):
        data = random.choice(tags, int(random.integers(1, 60))).tobytes()
        try:
            plain.decode(data)
        except plain.MalformedError:
            continue


def test_control_characters_are_not_shown():
    shown = printable("a\x1b[2J\r✓ softmax\nb\u202ec\x07")
    assert shown == "a\\x1b[2J ✓ softmax b\\u202ec\\x07"
    assert printable("x" * 5000).endswith("…")


def test_a_name_that_is_bound_again_is_at_its_last_line():
    facts = facts_of("def softmax(x):\n    return x * 0\n\nfrom scipy.special import softmax\n")
    assert facts.lines == {"softmax": 4}
    assert facts.shadowed == {"softmax": (1,)}


def test_functions_that_borrow_from_headway_are_found_through_others():
    text = "import headway.functions as F\ndef helper(x):\n    return F.softmax(x)\ndef softmax(x):\n    return helper(x)\ndef relu(x):\n    return x\n"
    assert facts_of(text).borrowing == {"helper", "softmax"}
    assert facts_of("import sys\ndef softmax(x):\n    return x\n").borrowing == set()


@pytest.mark.parametrize("text", ["(" * 10_000, "-" * 100_000 + "1", "x = '\ud800'", "\0", "x" * 3_000_000])
def test_a_text_that_cannot_be_parsed_has_no_facts(text):
    assert facts_of(text).lines == {}
