from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.engine.oracles import Oracle, make_oracle
from tests.models.saved_by_transformers import CASES, ENCODER_DECODER_CASES, OTHER_DECODERS


@pytest.fixture(scope="session")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Oracle]:
    """Small models by the name of their case, as a Headway folder and in transformers, created once per session."""
    made: dict[str, Oracle] = {}
    by_name = {case.name: case for case in [*CASES, *OTHER_DECODERS, *ENCODER_DECODER_CASES]}

    def get(name: str) -> Oracle:
        if name not in made:
            made[name] = make_oracle(by_name[name], tmp_path_factory.mktemp("model"))
        return made[name]

    return get
