"""Fixtures of the tests of practice."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis import diagnose
from headway.practice.diagnosis.repair import search


@pytest.fixture
def without_pairs(monkeypatch):
    """Leave out the search for two mistakes, which explains a verdict and does not change whether it is correct."""
    monkeypatch.setattr(diagnose, "pairs", lambda *given: iter(()))


@pytest.fixture
def with_few_repairs(monkeypatch):
    """Allow a tenth of the work of repairs, which explain a verdict and do not change whether it is correct."""
    monkeypatch.setattr(search, "WORK", {library: work / 10 for library, work in search.WORK.items()})
    monkeypatch.setattr(search, "WORK_OF_OTHERS", search.WORK_OF_OTHERS / 10)
