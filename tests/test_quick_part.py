"""The part of the tests that `make quick` runs."""

from __future__ import annotations

import pytest

from tests.conftest import pytest_collection_modifyitems


class Item:
    """A collected test, as far as the hook reads it."""

    def __init__(self, nodeid: str, *marks: pytest.Mark) -> None:
        self.nodeid, self.marks, self.is_slow = nodeid, {mark.name: mark for mark in marks}, False

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.marks.get(name)

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.is_slow = mark.name == "slow"


def test_the_first_of_each_three_cases_of_a_function_is_quick():
    sampled = pytest.mark.sampled(3).mark
    items = [Item(f"test_{function}[{case}]", sampled) for function in "ab" for case in range(5)] + [Item("test_c[0]"), Item("test_c[1]")]
    pytest_collection_modifyitems(items)
    quick = [item.nodeid for item in items if not item.is_slow]
    assert quick == ["test_a[0]", "test_a[3]", "test_b[0]", "test_b[3]", "test_c[0]", "test_c[1]"]
