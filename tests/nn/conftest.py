from __future__ import annotations

import pytest
import torch


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Draw the same weights and inputs in every run, in any order of the tests."""
    torch.manual_seed(0)
