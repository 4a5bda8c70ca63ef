"""Prefix cache: a trie of pages, keyed by their tokens, so that a prompt that begins like an earlier one is not computed again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

MAX_CANDIDATES = 64
"""Number of children, newest first, that are compared with the rest of a prompt to find a page that matches in part."""


@dataclass(eq=False, slots=True)
class Node:
    """One page of the trie: its tokens, which follow those of its parent.

    num_users  number of sequences that hold the page
    cache_key  of a root: its key among the roots
    """

    token_ids: tuple[int, ...]
    page: int
    parent: Node | None
    children: dict[tuple[int, ...], Node] = field(default_factory=dict)
    num_users: int = 0
    cache_key: Hashable = None


class PrefixCache:
    """A trie of pages. A node's page holds the keys and values of its tokens, given those of its ancestors.

    The tokens themselves are the keys, so two prefixes never collide. Each cache key has a root of its own: requests with
    different keys never share a page. A node that no sequence uses can be evicted, least recently used first; its descendants
    are unused too, and are evicted before it.
    """

    def __init__(self, page_size: int) -> None:
        """Start with an empty trie."""
        self.page_size = page_size
        self._roots: dict[Hashable, Node] = {}
        self._nodes: dict[int, Node] = {}
        self._unused: OrderedDict[int, Node] = OrderedDict()

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, page: int) -> bool:
        return page in self._nodes

    @property
    def num_unused(self) -> int:
        """Number of pages that can be evicted."""
        return len(self._unused)

    def pages(self) -> Iterator[tuple[int, int]]:
        """Yield each page with its number of users."""
        return ((page, node.num_users) for page, node in self._nodes.items())

    def match(self, token_ids: Sequence[int], cache_key: Hashable) -> tuple[list[int], int, int]:
        """Return the full pages that hold a prefix of the tokens, a page that holds more of them in part, and how many; -1 and 0 for none."""
        node, pages, start = self._roots.get(cache_key), list[int](), 0
        while node is not None:
            child = node.children.get(tuple(token_ids[start : start + self.page_size]))
            if child is None or len(child.token_ids) < self.page_size:
                return pages, *_longest_common(node, token_ids[start : start + self.page_size])
            pages.append(child.page)
            node, start = child, start + self.page_size
        return pages, -1, 0

    def insert(self, token_ids: Sequence[int], pages: Sequence[int], first: int, cache_key: Hashable) -> list[int]:
        """Add the pages of a sequence from number `first` on, with one user each; those before it are in the trie.

        Returns the pages that hold these tokens in the trie: the given ones, or those of another sequence with the same tokens,
        which have the same content. It ends before a page that is full in part only and already in the trie.
        """
        node = self._nodes[pages[first - 1]] if first else self._roots.setdefault(cache_key, Node((), -1, None, cache_key=cache_key))
        result = []
        for index in range(first, len(pages)):
            key = tuple(token_ids[index * self.page_size : (index + 1) * self.page_size])
            child = node.children.get(key)
            if child is None:
                child = node.children[key] = self._nodes[pages[index]] = Node(key, pages[index], node, num_users=1)
            elif len(key) == self.page_size:
                self.use(child.page)
            else:
                break
            result.append(child.page)
            node = child
        return result

    def use(self, page: int) -> None:
        """Count one more sequence that holds a page of the trie."""
        node = self._nodes[page]
        node.num_users += 1
        self._unused.pop(page, None)

    def release(self, page: int) -> None:
        """Count one less; release the pages of a sequence last first."""
        node = self._nodes[page]
        node.num_users -= 1
        if not node.num_users:
            self._unused[page] = node

    def evict(self) -> int:
        """Remove the least recently used page from the trie and return it.

        Errors   KeyError if every page is in use.
        """
        page, node = self._unused.popitem(last=False)
        assert node.parent is not None
        assert not node.children
        del node.parent.children[node.token_ids], self._nodes[page]
        if node.parent.parent is None and not node.parent.children:
            del self._roots[node.parent.cache_key]
        return page

    def remove(self, is_removed: Callable[[Hashable], bool]) -> list[int]:
        """Remove all pages of the cache keys for which is_removed is true and return them. No sequence may use them."""
        pages, nodes = list[int](), [self._roots.pop(key) for key in list(self._roots) if is_removed(key)]
        while nodes:
            children = nodes.pop().children.values()
            pages += [child.page for child in children]
            nodes += children
        for page in pages:
            del self._nodes[page], self._unused[page]
        return pages


def _longest_common(node: Node, token_ids: Sequence[int]) -> tuple[int, int]:
    """Return the page of the child that begins with the most of the tokens, and their number."""
    best, length = -1, 0
    for child in islice(reversed(node.children.values()), MAX_CANDIDATES):
        if length < len(token_ids) and child.token_ids[: length + 1] == tuple(token_ids[: length + 1]):
            common = next((i for i, (a, b) in enumerate(zip(child.token_ids, token_ids, strict=False)) if a != b), None)
            best, length = child.page, min(len(child.token_ids), len(token_ids)) if common is None else common
    return best, length
