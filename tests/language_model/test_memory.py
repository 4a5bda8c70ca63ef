"""Estimates of the memory of models, against the memory of the loaded ones."""

from __future__ import annotations

import numpy
import pytest

import headway
from headway.checkpoints import open_checkpoint
from headway.errors import OptionError
from headway.kernels.cpu.layout import CACHE_LINE
from headway.kernels.cpu.packing import round_up
from headway.language_model.decoders import compiled_decoder
from headway.language_model.memory import estimate_bytes
from headway.trees import leaves
from tests.fuzz.models import write_model


@pytest.mark.parametrize("weights", ["int8", "int4", "float32"])
@pytest.mark.parametrize("name", ["gpt2", "qwen3_moe"])
def test_estimates_count_unpacked_matrices_as_float32(tmp_path, name, weights):
    folder = write_model(tmp_path, name)
    decoder = compiled_decoder(open_checkpoint(folder, dtype=None), folder, weights)
    stored = {id(leaf): leaf for _, leaf in leaves(decoder.weights)}.values()
    sizes = [round_up(leaf.nbytes, CACHE_LINE) if leaf.dtype == numpy.float16 else leaf.nbytes for leaf in stored]  # scales are padded
    assert estimate_bytes(folder, weights=weights) == sum(sizes)


def test_estimates_refuse_the_dtypes_that_load_refuses():
    with pytest.raises(OptionError) as loading:
        headway.load("stories", dtype="float31")
    with pytest.raises(OptionError) as estimating:
        estimate_bytes("stories", dtype="float31")
    assert str(estimating.value) == str(loading.value)
