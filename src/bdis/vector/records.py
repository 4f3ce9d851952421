"""Records: the arrays and numbers of one stage, declared once and read by name on both sides.

A record is declared like a dataclass.  Python makes it with keywords and hands it to a kernel, which reads the same
names::

    class Line(Record):
        values: Floats  # px
        count: int


    @kernel
    def total(line: Line) -> float:
        return line.values[0, line.count - 1]


    total(Line(values=array, count=3))

A name that does not exist does not compile, a value of the wrong kind is refused when the record is made, and a record
of another kind is refused when the kernel is called.  To a kernel a record is one address.  So handing over sixteen
arrays takes no longer than handing over a number, which matters because a coarse level is searched in microseconds; and
helpers that pass a record on compile much faster than with sixteen arrays each.
"""

import inspect
import struct
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar, dataclass_transform, get_type_hints

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, register_model, typeof_impl, unbox
from numba.np.arrayobj import populate_array
from numpy.typing import NDArray

from .cache import OPTIONS_FOR_BORROWED_ARRAYS, Kernel

_WORD = ir.IntType(64)


class ArrayKind(NamedTuple):
    """What an array in a record must be: two dimensions of ``dtype``; ``is_given``: read-only, any distance of rows."""

    dtype: np.dtype[Any]
    is_given: bool = False

    def accepts(self, value: Any) -> bool:
        """Is ``value`` such an array?"""
        if not isinstance(value, np.ndarray) or value.ndim != 2:
            return False
        if value.dtype is not self.dtype and value.dtype != self.dtype:  # mostly the same object, which is told faster
            return False
        flags = value.flags
        return (self.is_given or flags.writeable) and (
            flags.c_contiguous or (self.is_given and (value.shape[1] < 2 or value.strides[1] == value.itemsize))
        )

    def address(self, array: NDArray[Any]) -> int:
        """Where an accepted array begins."""
        kernel = _ADDRESS_KERNELS.get(self.dtype.char)
        return _address_by_numpy(array) if kernel is None else kernel.function(array)

    @property
    def numba_type(self) -> types.Array:
        """As kernels see it."""
        return types.Array(types.__dict__[self.dtype.name], 2, "A" if self.is_given else "C", readonly=self.is_given)


Floats = Annotated[NDArray[np.float32], ArrayKind(np.dtype("float32"))]
Shorts = Annotated[NDArray[np.int16], ArrayKind(np.dtype("int16"))]
Ints = Annotated[NDArray[np.int32], ArrayKind(np.dtype("int32"))]
Longs = Annotated[NDArray[np.int64], ArrayKind(np.dtype("int64"))]
Bytes = Annotated[NDArray[np.uint8], ArrayKind(np.dtype("uint8"))]
GivenBytes = Annotated[NDArray[np.uint8], ArrayKind(np.dtype("uint8"), is_given=True)]
GivenFloats = Annotated[NDArray[np.float32], ArrayKind(np.dtype("float32"), is_given=True)]


def _address_by_numpy(array: NDArray[Any]) -> int:
    return array.ctypes.data


class AddressKernel(Kernel):
    """Tells where arrays of one kind of elements begin, as their ``ctypes.data`` does, once it is loaded or compiled.

    NumPy makes Python objects to find that.  Where other work has filled the caches since the last match, that takes
    50 us for the arrays of a pair and its result, as long as searching the coarse levels; this takes 8 us.

    Attributes
    ----------
    function : callable
        The compiled function, which does not check its argument; as long as it is not there, one that asks NumPy.
    """

    options = OPTIONS_FOR_BORROWED_ARRAYS

    def __init__(self, function: Callable[[Any], Any]):
        self.function: Callable[[Any], int] = _address_by_numpy
        element = types.__dict__[function.__name__.removeprefix("address_of_")]
        super().__init__(function, types.uint64(types.Array(element, 2, "A", readonly=True)))

    def _finish(self, dispatcher: Any) -> None:
        super()._finish(dispatcher)
        self.function = self.machine_code()[0]


@AddressKernel
def address_of_uint8(array):
    """Where an array of uint8 with two dimensions begins."""
    return array.ctypes.data


@AddressKernel
def address_of_float32(array):
    """Where an array of float32 with two dimensions begins."""
    return array.ctypes.data


_ADDRESS_KERNELS = {"B": address_of_uint8, "f": address_of_float32}  # by NumPy's letter; others are made once
_WORDS = 4  # of 64 bits per field; an array has an address, rows, columns and the bytes from row to row
_SCALARS = {int: types.int64, float: types.float64, bool: types.boolean}
MAX_ARGUMENTS = 10  # of a kernel


class Field(NamedTuple):
    """One entry of a record."""

    kind: Any  # an ArrayKind, or int, float or bool
    word: int  # the first of its words in memory

    @property
    def numba_type(self) -> Any:
        """As kernels see it."""
        return self.kind.numba_type if isinstance(self.kind, ArrayKind) else _SCALARS[self.kind]


@dataclass_transform(kw_only_default=True)
class Record(int):
    """Base of all records; the integer is the address of its words.

    Parameters
    ----------
    **values : ndarray, int, float or bool
        A value for every declared field, by name.

    Raises
    ------
    TypeError
        A field is missing or unknown, or a value is not of the declared kind.

    Examples
    --------
    >>> class Line(Record):
    ...     values: Floats
    ...     count: int
    >>> Line(values=np.zeros((1, 3), np.float32), count=3).count
    3
    """

    fields: ClassVar[dict[str, Field]]
    array_words: ClassVar[list[tuple[str, int]]]  # the first word of each array
    numba_type: ClassVar["RecordType"]
    for_members: ClassVar[list[Any] | None] = None
    _words: memoryview

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        hints = get_type_hints(cls, include_extras=True)
        names = [name for name in hints if name not in Record.__annotations__]
        kinds = [getattr(hints[name], "__metadata__", [hints[name]])[0] for name in names]
        cls.fields = {name: Field(kind, _WORDS * k) for k, (name, kind) in enumerate(zip(names, kinds))}
        cls.array_words = [(name, field.word) for name, field in cls.fields.items() if type(field.kind) is ArrayKind]
        cls.numba_type = RecordType(cls)

    def __new__(cls, **values: Any) -> "Record":
        if wrong := sorted(cls.fields.keys() ^ values.keys()):
            raise TypeError(f"{cls.__name__} has the fields {', '.join(cls.fields)}; missing or unknown: {wrong}")
        words = np.zeros(_WORDS * len(cls.fields), np.int64)
        record = super().__new__(cls, words.ctypes.data)
        record._words = memoryview(words)  # keeps them alive, and is faster to write to one by one
        record.update(**values)
        return record

    def __init__(self, **values: Any) -> None:
        """All is done when the address is known, in ``__new__``."""

    def update(self, **values: Any) -> None:
        """Replace the values of some fields, for the next call of a kernel."""
        for name, value in values.items():
            kind, word = self.fields[name]
            words = self._words
            if type(kind) is not ArrayKind:
                words[word] = self._number(name, kind, value)
            elif kind.accepts(value):
                words[word] = kind.address(value)
                words[word + 1], words[word + 2] = value.shape
                words[word + 3] = value.strides[0]
            else:
                raise TypeError(
                    f"{type(self).__name__}.{name} must be a 2-D array of {kind.dtype}, packed and writable"
                )
            self.__dict__[name] = value  # keeps the array alive as well

    def aim(self, name: str, array: NDArray[Any], address: int) -> None:
        """As `update` for one array that is known to fit, and where it begins.

        With cold caches, checking an array takes ten microseconds.
        """
        words, word = self._words, self.fields[name].word
        words[word] = address
        words[word + 1], words[word + 2] = array.shape
        words[word + 3] = array.strides[0]
        self.__dict__[name] = array

    def release(self) -> None:
        """Let go of the arrays, until the next update: they live no longer than others keep them."""
        words, values = self._words, self.__dict__
        for name, word in self.array_words:
            words[word], values[name] = 0, None

    def _number(self, name: str, kind: type, value: Any) -> int:
        if not isinstance(value, kind) and not (kind is float and isinstance(value, int)):
            raise TypeError(f"{type(self).__name__}.{name} must be {kind.__name__}, but it is {value!r}")
        return struct.unpack("q", struct.pack("d", value))[0] if kind is float else int(value)


class RecordType(types.Type):
    """A record as Numba knows it: a pointer to its words."""

    def __init__(self, record: type[Record]):
        self.record = record
        super().__init__(name=f"{record.__module__}.{record.__qualname__}")


@register_model(RecordType)
class _RecordModel(models.PrimitiveModel):
    def __init__(self, manager, record_type):
        super().__init__(manager, record_type, _WORD.as_pointer())


@typeof_impl.register(Record)
def _type_of_record(record, context):
    return record.numba_type


@unbox(RecordType)
def _unbox_record(record_type, value, context):
    address = context.pyapi.long_as_longlong(value)
    return NativeValue(context.builder.inttoptr(address, _WORD.as_pointer()))


@infer_getattr
class _RecordFields(AttributeTemplate):
    key = RecordType

    def generic_resolve(self, record_type, name):
        field = record_type.record.fields.get(name)
        return None if field is None else field.numba_type


@lower_getattr_generic(RecordType)
def _lower_field(context, builder, record_type, words, name):
    field = record_type.record.fields[name]

    def word(offset):
        value = builder.load(builder.gep(words, [ir.Constant(_WORD, field.word + offset)]))
        # A record does not change while a kernel runs: LLVM need not read it again after every store to an array.
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value

    if field.kind is int:
        return word(0)
    if field.kind is bool:
        return builder.icmp_unsigned("!=", word(0), ir.Constant(_WORD, 0))
    if field.kind is float:
        return builder.bitcast(word(0), ir.DoubleType())
    kind = field.numba_type
    array = context.make_array(kind)(context, builder)
    itemsize = ir.Constant(_WORD, field.kind.dtype.itemsize)
    populate_array(
        array,
        data=builder.inttoptr(word(0), array.data.type),
        shape=[word(1), word(2)],
        strides=[word(3), itemsize],
        itemsize=itemsize,
        meminfo=None,
    )
    return array._getvalue()


_AnyRecord = TypeVar("_AnyRecord", bound=Record)


def for_members(records: list[_AnyRecord]) -> _AnyRecord:
    """The first of several records, which a kernel gets in the first thread; the others get the others.

    Parameters
    ----------
    records : list of Record
        One for each thread.

    Returns
    -------
    Record
    """
    first = records[0]
    first.__dict__["for_members"] = records
    return first


class RecordKernel(Kernel):
    """A kernel of records, whole numbers and switches, called without asking Numba which of several signatures fits.

    If its last argument is a :class:`bdis.vector.crew.Crew` of several threads, all of them run the kernel.
    """

    options = OPTIONS_FOR_BORROWED_ARRAYS  # the arrays belong to the records

    def __init__(self, function: Callable[..., Any]):
        hints = get_type_hints(function)
        result = _numba_type(hints.pop("return", type(None)))
        self._kinds = tuple(hints[name] for name in inspect.signature(function).parameters)
        if float in self._kinds or len(self._kinds) > MAX_ARGUMENTS:
            # Threads hand arguments on as 64-bit words, which is not how processors pass a float.
            raise TypeError(f"{function.__name__}: at most {MAX_ARGUMENTS} arguments, and floats belong in a record")
        self._has_crew = hasattr(self._kinds[-1], "call_others")
        self._function: Callable[..., Any] | None = None
        super().__init__(function, result(*map(_numba_type, self._kinds)))

    def __call__(self, *args: Any) -> Any:
        if tuple(map(type, args)) != self._kinds:
            expected, given = (", ".join(kind.__name__ for kind in kinds) for kinds in (self._kinds, map(type, args)))
            raise TypeError(f"{self.__name__} takes ({expected}), but got ({given})")
        function = self._function or self.compiled()
        if self._has_crew:
            crew = args[-1]
            if crew.noted is not None:
                crew.noted.append((self.address, args))
            if crew.count > 1:
                crew.call_others(self.address, args)
        return function(*args)

    def compiled(self) -> Callable[..., Any]:
        """The compiled function itself: it does not check its arguments, and runs in the calling thread only."""
        if self._function is None:
            function, self.address = self.machine_code()
            self._function = function  # the last: other threads may look
        return self._function


def _numba_type(kind: Any) -> Any:
    if kind is type(None):
        return types.void
    return kind.numba_type if issubclass(kind, Record) else _SCALARS[kind]


def kernel(function: Callable[..., Any]) -> RecordKernel:
    """Decorate an annotated function of records and numbers as a kernel, compiled at its first call.

    Examples
    --------
    >>> class Line(Record):
    ...     values: Floats
    >>> def total(line: Line, first: int) -> float:
    ...     return line.values[0, first:].sum()
    >>> kernel(total).__name__
    'total'
    """
    return RecordKernel(function)
