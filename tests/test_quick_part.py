"""The part of the tests that `make quick` runs."""

from __future__ import annotations

import pytest

from tests.conftest import MOST_CASES, pytest_collection_modifyitems


class Item:
    """A collected test, as far as the hook reads it."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid, self.is_slow = nodeid, False

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.is_slow = mark.name == "slow"


def test_a_few_cases_of_each_function_are_quick():
    items = [Item(f"test_{function}[{case}]") for function, count in (("a", 10), ("b", MOST_CASES)) for case in range(count)]
    items.append(Item("test_c"))
    pytest_collection_modifyitems(items)
    quick = [item.nodeid for item in items if not item.is_slow]
    assert quick == ["test_a[0]", "test_a[5]", *(f"test_b[{case}]" for case in range(MOST_CASES)), "test_c"]
