from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from platformdirs import user_cache_path

from tests.models.saved_by_transformers import (
    CASES,
    ENCODER_DECODER_CASES,
    OTHER_DECODERS,
    Saved,
    SavedEncoderDecoder,
    save,
    save_encoder_decoder,
)


@pytest.fixture(scope="session")
def saved_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Saved]:
    """One of the small decoders by its case's name, saved once per session."""
    return _kept(tmp_path_factory, [*CASES, *OTHER_DECODERS], save)


@pytest.fixture(scope="session")
def saved_encoder_decoder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], SavedEncoderDecoder]:
    """One of the small encoder–decoders by its case's name, saved once per session."""
    return _kept(tmp_path_factory, ENCODER_DECODER_CASES, save_encoder_decoder)


def _kept(tmp_path_factory: pytest.TempPathFactory, cases: list[Any], save: Callable[..., Any]) -> Callable[[str], Any]:
    kept: dict[str, Any] = {}
    by_name = {case.name: case for case in cases}

    def get(name: str) -> Any:
        if name not in kept:
            kept[name] = save(by_name[name], tmp_path_factory.mktemp("model"))
        return kept[name]

    return get


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder of the session's own, in which code that was compiled before is found."""
    folder, compiled = tmp_path_factory.mktemp("cache"), user_cache_path("headway") / "compiled"
    compiled.mkdir(parents=True, exist_ok=True)
    (folder / "compiled").symlink_to(compiled)
    return folder
