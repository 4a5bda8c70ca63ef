"""Records by field name, and the indices that compiled code uses."""

from __future__ import annotations

import numpy
import pytest

from headway.errors import HeadwayError
from headway.kernels.cpu import fields, records
from headway.kernels.cpu.pass_plan import Rows
from tests.kernels.cpu.packed_models import model


def test_the_constants_are_those_of_the_records():
    path = records.Path(fields.__file__)
    assert path.read_text(encoding="utf-8") == records.constants(), f"run: python -m {records.__name__}"


@pytest.mark.parametrize("name", records.RECORDS)
def test_a_field_is_found_at_its_constant(name):
    kind = records.RECORDS[name]
    assert getattr(fields, f"{name.upper()}_SIZE") * 8 == kind.itemsize
    for field in kind.names:
        record = numpy.zeros(1, kind)
        inner = record[field].dtype.names
        value = record[field][inner[0]] if inner else record[field]
        value[...] = 1
        integers = record.view(numpy.int64)
        assert integers[getattr(fields, field.upper())] in (1, numpy.float64(1).view(numpy.int64))
        assert numpy.count_nonzero(integers) == 1


SET_IN_EVERY_PASS = (
    *("num_tokens", "num_wanted", "token_ids", "positions", "pages", "first_pages", "wanted", "logits"),
    *("num_tasks", "tasks", "first_partials", "partials", "row_updates"),
)


@pytest.mark.parametrize("field", [name for name in records.LAUNCH.names if name not in (*records.POOL, *SET_IN_EVERY_PASS)])
def test_a_pass_with_an_unset_field_is_not_launched(runtime, field, monkeypatch):
    decoder = model("qwen2", "int8", runtime).decoder
    decoder.allocate(1)
    decoder.run([Rows(0, [1], [0], 1)])
    decoder._launches.view(numpy.int64)[getattr(fields, field.upper())] = records.UNSET
    monkeypatch.setattr(decoder, "_pool", None)
    with pytest.raises(HeadwayError, match=f"got a record without {field}, expected every field to be set"):
        decoder.run([Rows(1, [1], [0], 1)])


def test_every_field_of_a_record_starts_unset():
    for kind in (records.LAUNCH, records.LAYER, records.PACK):
        with pytest.raises(HeadwayError, match="got a record without") as caught:
            records.check_set(records.unset(kind, 2))
        assert all(name in str(caught.value) for name in kind.names if name not in records.POOL)


def test_a_layer_with_an_unset_address_is_not_launched(runtime):
    decoder = model("gemma3", "int8", runtime).decoder
    decoder.allocate(1)
    decoder._model.layers["down"]["codes"][1] = records.UNSET
    with pytest.raises(HeadwayError, match="got a record without down, expected"):
        decoder.run([Rows(0, [1], [0], 1)])
