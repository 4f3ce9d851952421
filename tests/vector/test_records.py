"""Records: read by name on both sides, and nothing can get into the wrong place."""

import pickle

import numpy as np
import pytest
from numba.core.errors import TypingError

from bdis.vector.cache import prepare
from bdis.vector.records import (
    Bytes,
    Floats,
    GivenBytes,
    Ints,
    Longs,
    Record,
    Shorts,
    address_of_float32,
    address_of_uint8,
    kernel,
)


class Everything(Record):
    floats: Floats
    shorts: Shorts
    flag: bool
    ints: Ints
    number: int
    longs: Longs
    factor: float
    octets: Bytes
    given: GivenBytes


class Other(Record):
    floats: Floats


@kernel
def last_element(record: Everything, which: int) -> float:
    """The last element of an array, or a number."""
    if which == 0:
        return record.floats[-1, -1]
    if which == 1:
        return record.shorts[-1, -1]
    if which == 2:
        return record.ints[-1, -1]
    if which == 3:
        return record.longs[-1, -1]
    if which == 4:
        return record.octets[-1, -1]
    if which == 5:
        return record.given[-1, -1]
    if which == 6:
        return record.number
    if which == 7:
        return record.factor
    return 1.0 if record.flag else 0.0


@kernel
def count_up(record: Everything) -> int:
    """Write to an array, and return its number of columns."""
    record.ints[0, 0] += record.number
    return record.ints.shape[1]


def everything(**changes):
    values = {
        "floats": np.full((2, 3), 1.5, np.float32),
        "shorts": np.full((3, 2), -2, np.int16),
        "flag": True,
        "ints": np.full((1, 4), 3, np.int32),
        "number": -(2**40),
        "longs": np.full((2, 2), 2**41, np.int64),
        "factor": 0.25,
        "octets": np.full((5, 1), 250, np.uint8),
        "given": np.full((4, 4), 7, np.uint8),
    }
    return Everything(**(values | changes))


def test_every_field_arrives():
    record = everything()
    assert [last_element(record, k) for k in range(9)] == [1.5, -2, 3, 2**41, 250, 7, -(2**40), 0.25, 1]
    record.update(flag=False, number=5, factor=-1e300, floats=np.full((1, 1), 9, np.float32))
    assert [last_element(record, k) for k in (8, 6, 7, 0)] == [0, 5, -1e300, 9]
    assert count_up(record) == 4
    assert record.ints[0, 0] == 8


def test_given_images_may_be_read_only_with_rows_apart():
    wide = np.arange(60, dtype=np.uint8).reshape(6, 10)
    view = wide[1:5, 2:7]
    view.flags.writeable = False
    assert last_element(everything(given=view), 5) == view[-1, -1]


def test_compiled_addresses_are_those_of_numpy():
    prepare([address_of_uint8, address_of_float32])
    bytes_, floats = np.zeros((6, 10), np.uint8)[1:5, 2:7], np.zeros((3, 5), np.float32)
    bytes_.flags.writeable = False
    assert address_of_uint8.function(bytes_) == bytes_.ctypes.data
    assert address_of_float32.function(floats) == floats.ctypes.data
    assert last_element(everything(floats=floats + 2, given=bytes_), 0) == 2


def test_an_array_whose_address_is_known_arrives_as_any_other():
    record, other, array = everything(), everything(), np.arange(12, dtype=np.uint8).reshape(4, 3)
    other.update(given=array)
    record.aim("given", array, array.ctypes.data)
    assert record.given is array
    assert last_element(record, 5) == last_element(other, 5) == 11
    assert [last_element(record, k) for k in (0, 4, 6)] == [last_element(other, k) for k in (0, 4, 6)]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"floats": np.zeros((2, 2))}, "floats"),
        ({"floats": np.zeros(4, np.float32)}, "floats"),
        ({"floats": np.zeros((4, 4), np.float32)[:, ::2]}, "floats"),
        ({"floats": None}, "floats"),
        ({"shorts": np.zeros((2, 2), np.uint16)}, "shorts"),
        ({"octets": np.frombuffer(b"1234", np.uint8).reshape(2, 2)}, "octets"),
        ({"given": np.zeros((4, 4), np.uint8)[:, ::2]}, "given"),
        ({"number": 1.0}, "number"),
        ({"flag": 1}, "flag"),
        ({"factor": "1"}, "factor"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_value_of_the_wrong_kind_is_refused(changes, field):
    with pytest.raises(TypeError, match=f"Everything.{field} must be"):
        everything(**changes)
    with pytest.raises(TypeError, match=f"Everything.{field} must be"):
        everything().update(**changes)


def test_missing_and_unknown_fields_are_refused():
    with pytest.raises(TypeError, match=r"missing or unknown: \['floats', 'flots'\]"):
        Other(flots=np.zeros((1, 1), np.float32))
    with pytest.raises(KeyError):
        everything().update(flots=1)


def test_a_record_of_another_kind_is_refused():
    with pytest.raises(TypeError, match=r"count_up takes \(Everything\), but got \(Other\)"):
        count_up(Other(floats=np.zeros((1, 1), np.float32)))
    with pytest.raises(TypeError, match="but got"):
        count_up(12345)
    with pytest.raises(TypeError, match="but got"):
        last_element(everything(), 1.0)


def test_a_name_that_does_not_exist_does_not_compile():
    @kernel
    def misspelt(record: Other) -> float:
        return record.flots[0, 0]

    with pytest.raises(TypingError, match="flots"):
        misspelt(Other(floats=np.zeros((1, 1), np.float32)))


def test_released_arrays_are_not_kept_alive():
    import weakref

    array = np.zeros((2, 2), np.float32)
    seen, record = weakref.ref(array), Other(floats=array)
    del array
    assert seen() is not None
    record.release()
    assert seen() is None


def test_types_of_records_survive_pickling():
    """The compile cache stores signatures."""
    assert pickle.loads(pickle.dumps(Everything.numba_type)) == Everything.numba_type
    assert Everything.numba_type != Other.numba_type
