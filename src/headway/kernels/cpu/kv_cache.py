"""Keys and values of all sequences, in pages of 128 tokens that the compiled attention reads."""

from __future__ import annotations

from array import array

import numpy

from headway.errors import HeadwayError, ResourceError
from headway.kernels.cpu import layout
from headway.kernels.cpu.layout import KEYS_PER_BLOCK, NUM_ROWS
from headway.kernels.cpu.packing import aligned_zeros, round_up
from headway.memory_check import check_memory
from headway.models.spec import AttentionSpec, DecoderSpec

KINDS = {"float32": (layout.FLOAT32, 4), "bfloat16": (layout.BFLOAT16, 2), "int16": (layout.INT16, 2), "int8": (layout.INT8, 1)}
"""Number formats of keys and values, and the bytes per number; int16 and int8 have one scale per key and one per value."""

PAGE_SIZE = KEYS_PER_BLOCK
"""Number of tokens in a page. Attention reads one block of keys per page, so that pages change no bit of its result."""


def _layer_sizes(attention: AttentionSpec, kind: str) -> dict[str, int]:
    """Return the number of bytes that a page has in one layer, by the field of the layer's record."""
    tokens = attention.num_kv_heads * PAGE_SIZE
    is_integer = kind.startswith("int")
    key_size = round_up(attention.head_dim, 2) if is_integer else attention.head_dim  # as in kv_page.key_size
    key, value = (tokens * size * KINDS[kind][1] for size in (key_size, round_up(attention.head_dim, NUM_ROWS)))
    scale = 4 * tokens if is_integer else 0
    return {"keys": key, "values": value, "key_scales": scale, "value_scales": scale}


class PagedKVCache:
    """The KV cache of any number of sequences: pages with the keys and values of 128 tokens in all layers.

    Which page belongs to which sequence is up to the caller. A page is one piece of memory, so that more pages can be added without
    moving those that exist, and the memory of a page that no token has reached is not taken from the system.

    kind        number format: float32, bfloat16, int16 or int8
    page_bytes  size of a page
    num_pages   number of pages
    """

    def __init__(self, spec: DecoderSpec, kind: str) -> None:
        """Start without pages. All layers have the same number and size of key heads."""
        self.kind, self._sizes = kind, _layer_sizes(spec.layers[0].attention, kind)
        self._layer_bytes = sum(self._sizes.values())
        self.page_bytes = len(spec.layers) * self._layer_bytes
        self._pages: list[numpy.ndarray] = []
        self._addresses = [0]  # the last one is that of page -1

    @property
    def num_pages(self) -> int:
        """Number of pages."""
        return len(self._pages)

    def allocate(self, num_pages: int) -> None:
        """Provide the pages 0 to num_pages - 1, keeping those that exist with their content.

        Errors   ResourceError if there is not enough memory.
        """
        num_more = num_pages - self.num_pages
        if num_more <= 0:
            return
        what = f"keys and values of {num_more} pages of {PAGE_SIZE} tokens"
        check_memory(num_more * self.page_bytes, what)
        try:
            memory = aligned_zeros(num_more * self.page_bytes)
        except MemoryError as error:
            raise ResourceError(
                f"got {what}, expected a size that the system can provide", hint="use a shorter text or an int8 cache"
            ) from error
        self._pages += list(memory.reshape(num_more, self.page_bytes))
        first = memory.ctypes.data
        self._addresses[-1:] = [*range(first, first + len(memory), self.page_bytes), 0]

    def copy_page(self, source: int, target: int) -> None:
        """Copy the content of a page to another.

        Errors   HeadwayError for a page that does not exist.
        """
        if min(source, target) < 0 or max(source, target) >= self.num_pages:
            raise HeadwayError(f"got a copy of page {source} to page {target}, expected pages 0 to {self.num_pages - 1}")
        self._pages[target][:] = self._pages[source]

    def addresses(self, pages: list[int]) -> array[int]:
        """Return the addresses of pages that exist, int64, and 0 for page -1."""
        addresses = self._addresses
        return array("q", [addresses[page] for page in pages])

    def write_offsets(self, layers: numpy.ndarray) -> None:
        """Fill in the offsets of keys, values and scales in a page, which are fields of the layers' records."""
        offsets = self._layer_bytes * numpy.arange(len(layers))
        for field, size in self._sizes.items():
            layers[field] = offsets
            offsets = offsets + size
