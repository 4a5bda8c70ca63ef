from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.models.saved_by_transformers import CASES, Saved, save


@pytest.fixture(scope="session")
def saved_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Saved]:
    """One of the small models by its case's name, saved once per session."""
    kept: dict[str, Saved] = {}
    by_name = {case.name: case for case in CASES}

    def get(name: str) -> Saved:
        if name not in kept:
            folder: Path = tmp_path_factory.mktemp("model")
            kept[name] = save(by_name[name], folder)
        return kept[name]

    return get
