"""From the finest level to the size of the image."""

import numpy as np

from ..common.arrays import Array
from ..vector.cache import Kernel
from ..vector.crew import Crew
from ..vector.records import address_of_float32
from . import kernels
from .fusion import empty_maps
from .kernels.law import Law
from .kernels.layout import Map, Maps, map_stride
from .kernels.pyramid import Seen
from .levels import halved
from .memory import Arena, ResultMemory


class Enlarge:
    """Doubles maps until they have the size of the image; those of level 0 have it and are copied.

    Parameters
    ----------
    maps : Maps
        Disparity and probability of the finest level.
    variance : Map or None
        Its variance, if asked for.
    judged : Map or None
        A variance that takes the place of the probability in the result, until the law is applied.
    wants_variance : bool
        The result has a variance.
    law : Law or None
        What the judged variance becomes here; None: nothing, or something later.
    number : int
        The finest level.
    size : tuple of int
        Height and width of the image, px.
    seen : Seen or None
        What the left camera did not see becomes unknown; None: it is filled as well.
    arena : Arena
        Where buffers come from.

    Attributes
    ----------
    result : Maps
        Disparity and probability at the size of the image.
    result_variance : Map
        Its variance, px^2.
    wants_variance : bool
        There is one.
    """

    def __init__(
        self, maps: Maps, variance: Map | None, judged: Map | None, wants_variance: bool, law: Law | None,
        number: int, size: tuple[int, int], seen: Seen | None, arena: Arena,
    ):  # fmt: skip
        self._seen = seen
        self._fill_maps = kernels.enlarge_maps if number > 0 else kernels.copy_maps
        self._fill_map = kernels.enlarge_map if number > 0 else kernels.copy_map
        between = [halved(*size, n) for n in range(number - 1, 0, -1)]
        nothing = np.zeros((1, 1), np.float32)  # until there is a result to fill
        self.result = Maps(disparity=nothing, probability=nothing, width=size[1])
        self.result_variance = Map(values=nothing, width=size[1])
        self._disparity = Map(values=nothing, width=size[1])
        self._in_place_of_probability = Map(values=nothing, width=size[1])
        self._memory = ResultMemory(*size)
        # Where the arrays of the result are filled in: a record, its field, and which of them it is.
        self._fields: list[tuple[Maps | Map, str, int]] = []
        self._fields += [(self.result, "disparity", 0), (self.result, "probability", 1)]
        if judged is not None:
            self._fields += [(self._disparity, "values", 0), (self._in_place_of_probability, "values", 1)]
        if wants_variance:
            self._fields.append((self.result_variance, "values", 2))
        self._records = list(dict.fromkeys(record for record, _, _ in self._fields))
        streams = [False] * len(between) + [self._memory.streaming]
        # Disparity and probability, from the finest level to the result: from, to, and whether past the caches.
        self._maps: list[tuple[Maps, Maps, bool]] = []
        self._chain: list[tuple[Map, Map, int, bool]] = []  # single maps likewise, with the factor on their values
        chains = [(variance, self.result_variance, 4)]
        if judged is None:
            all_maps = [maps, *(empty_maps(h, w, arena) for h, w in between), self.result]
            self._maps = list(zip(all_maps, all_maps[1:], streams))
        else:  # the probability would be overwritten
            found = Map(values=maps.disparity, width=maps.width)
            chains += [(found, self._disparity, 2), (judged, self._in_place_of_probability, 4)]
        for source, target, factor in chains:
            if source is not None:
                maps_between = [Map(values=arena.zeros((h, map_stride(w)), np.float32), width=w) for h, w in between]
                chain = [source, *maps_between, target]
                self._chain += zip(chain, chain[1:], [factor] * len(streams), streams)
        self.wants_variance, self._law = wants_variance, law

    def new_result(self) -> list[Array]:
        """Arrays that the next `run` fills: disparity, probability and, if asked for, variance."""
        arrays, addresses = self._memory.arrays(3 if self.wants_variance else 2)
        for record, name, k in self._fields:
            record.aim(name, arrays[k], addresses[k])
        return arrays

    def release(self) -> None:
        """Let go of the result: its memory can be used again as soon as the caller lets go of it, too."""
        for record in self._records:
            record.release()

    def run(self, has_hidden: bool, crew: Crew) -> None:
        """Fill the result."""
        for maps, larger, streaming in self._maps:
            self._fill_maps(maps, larger, streaming, crew)
        for source, target, factor, streaming in self._chain:
            self._fill_map(source, target, factor, streaming, crew)
        if self._law is not None:
            kernels.apply_law(self.result, self.result_variance, self._law, crew)
        if has_hidden and self._seen is not None:
            kernels.hide_unseen(self._seen, self.result, crew)
            if self.wants_variance:
                kernels.hide_unseen_variance(self._seen, self.result_variance, crew)

    def kernels(self) -> list[Kernel]:
        """The kernels that `new_result` and `run` call."""
        law = [kernels.apply_law] if self._law is not None else []
        maps, chains = [self._fill_maps] * bool(self._maps), [self._fill_map] * bool(self._chain)
        return [address_of_float32, *maps, *chains, *law]
