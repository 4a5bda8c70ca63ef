"""Stop strings: the naive definition, and linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.language_model.stop_strings import StopMatcher

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # other processes may use the processor
LETTERS = st.text("ab", min_size=1, max_size=5)


def naive(text, stops):
    """The text before the stop string that is complete first, the longest of several, and True if there is one."""
    for end in range(1, len(text) + 1):
        complete = [stop for stop in stops if text[:end].endswith(stop)]
        if complete:
            return text[: end - max(map(len, complete))], True
    return text, False


def naive_kept(text, stops):
    """The number of characters at the end that may be the start of a stop string."""
    return max((n for stop in stops for n in range(1, len(stop)) if text.endswith(stop[:n])), default=0)


def run(pieces, stops):
    matcher, final = StopMatcher(stops), ""
    for piece in pieces:
        text, is_stopped = matcher.add(piece)
        final += text
        if is_stopped:
            return final, True
    return final + matcher.flush(), False


@unhurried
@given(st.lists(st.text("ab", max_size=6), max_size=12), st.lists(LETTERS, max_size=4))
def test_the_result_is_that_of_the_naive_definition_however_the_text_is_divided(pieces, stops):
    expected = naive("".join(pieces), stops)
    assert run(pieces, stops) == expected
    assert run("".join(pieces), stops) == expected


@unhurried
@given(st.text("ab", max_size=20), st.lists(LETTERS, max_size=4))
def test_only_what_may_be_the_start_of_a_stop_string_is_kept_back(text, stops):
    _, is_stopped = naive(text, stops)
    matcher = StopMatcher(stops)
    final, stopped = matcher.add(text)
    assert stopped == is_stopped
    if not is_stopped:
        assert final == text[: len(text) - naive_kept(text, stops)]
        assert final + matcher.flush() == text


def test_a_copy_starts_with_its_own_text():
    matcher = StopMatcher(["ab"])
    matcher.add("a")
    assert matcher.copy().add("b") == ("b", False)
    assert matcher.add("b") == ("", True)


def test_without_stop_strings_text_passes_through():
    assert StopMatcher([]).add("abc") == ("abc", False)


@pytest.mark.parametrize("stop", ["a" * 200_000 + "b", "ab" * 100_000, "a" * 200_000])
def test_time_is_linear_in_the_length_of_stop_string_and_text(stop):
    started = time.process_time()
    matcher = StopMatcher([stop])
    for _ in range(20_000):
        matcher.add("aaaaa")
    assert time.process_time() - started < 60  # a second; hours if it were quadratic
