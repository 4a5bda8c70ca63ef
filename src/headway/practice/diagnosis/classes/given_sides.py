"""An encoder–decoder that is given its encoder and its decoder, constructed with simple ones where its file has none."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from headway.practice.diagnosis.calls.wording import snake
from headway.practice.diagnosis.classes.slots import module_library
from headway.practice.diagnosis.classes.submodules import is_part
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.names import fitting
from headway.practice.recipes import stacks

SIDE = r"(transformer_?)?{}(_?(stack|model|module|net))?"
EMBEDDING = r"({})_?((tok(en)?|word)s?_?)?emb(ed(ding|der)?s?)?(_?layer)?"
PLACES = r"({})_?pos(ition(al)?(_?(enc|emb)\w*)?)?"
KINDS = (
    ("encoder", SIDE.format("enc(oder)?")),
    ("decoder", SIDE.format("dec(oder)?")),
    ("source_embedding", EMBEDDING.format("src|source|enc(oder)?|inp(ut)?")),
    ("target_embedding", EMBEDDING.format("tgt|trg|tar|target|dec(oder)?|out(put)?")),
    ("source_positions", PLACES.format("src|source|enc(oder)?|inp(ut)?")),
    ("target_positions", PLACES.format("tgt|trg|tar|target|dec(oder)?|out(put)?")),
    ("generator", r"generator|projector|(lm_?)?head|(out(put)?_?|final_?)?(proj(ection)?|linear|fc|out(put)?)(_?(layer|head|out))?"),
)
"""Kinds of the parts that such a model is given, and the patterns of their names."""

NEEDED = {"encoder", "decoder"}
PAIRS = ({"source_embedding", "target_embedding"}, {"source_positions", "target_positions"})

OWN_HEAD = r"self\.\w+ *= *(\w+\.)*Linear\("
"""Pattern of the source of a model that makes its output layer itself."""

UNPACKED = r"\w+ *, *\w+ *= *self\.\w*dec(oder)?\("
"""Pattern of the source of a model whose decoder returns its attention as well."""

SIZES = ("source_vocab_size", "target_vocab_size", "num_encoder_layers", "num_decoder_layers")


def of_given_sides(subject: Subject) -> Iterator[Subject]:
    """Yield a class that is given an encoder and a decoder as constructed with simple ones; none if its file has such a class.

    The simple decoder knows its masks by what they hide, so that the order of its operands may be any.
    """
    value: Any = subject.value
    kind_of = {each.name: _kind(each.name, subject) for each in subject.parameters}
    kinds = {kind for kind in kind_of.values() if kind}
    required = [each.name for each in subject.parameters if each.default is each.empty and kind_of[each.name] is None]
    is_whole = (
        kinds >= NEEDED and all(not pair & kinds or pair <= kinds for pair in PAIRS) and len(kinds) == sum(map(bool, kind_of.values()))
    )
    if not is_whole or module_library(value) != "torch" or any(is_part(name, subject, is_called=True) for name in required):
        return
    if _has_sides(subject):
        return
    made = _classes(sys.modules["torch"])
    returns_pair = re.search(UNPACKED, subject.code) is not None
    has_head = "generator" not in kinds and not re.search(OWN_HEAD, subject.code)

    def initialize(self: Any, *, num_encoder_layers: int, num_decoder_layers: int, **named: Any) -> None:
        vocab_sizes = {"source": named.pop(SIZES[0]), "target": named.pop(SIZES[1])}
        tables = {} if PAIRS[0] <= kinds else vocab_sizes
        is_placed = PAIRS[1] <= kinds
        encoder = made.Encoder(num_encoder_layers, tables.get("source"))
        decoder = made.Decoder(num_decoder_layers, tables.get("target"), encoder, vocab_sizes["target"] if has_head else None, returns_pair)
        parts = {
            "encoder": lambda: encoder,
            "decoder": lambda: decoder,
            "source_embedding": lambda: made.Embedding(vocab_sizes["source"], is_placed=not is_placed),
            "target_embedding": lambda: made.Embedding(vocab_sizes["target"], is_placed=not is_placed),
            "source_positions": made.Places,
            "target_positions": made.Places,
            "generator": lambda: made.Linear(stacks.WIDTH, vocab_sizes["target"]),
        }
        value.__init__(self, **{name: parts[kind]() for name, kind in kind_of.items() if kind}, **named)

    constructed: Any = type(value.__name__, (value,), {"__module__": value.__module__, "__init__": initialize, GIVEN: True})
    rest = [each.replace(kind=each.KEYWORD_ONLY) for each in subject.parameters if kind_of[each.name] is None]
    sizes = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in SIZES]
    constructed.__signature__ = inspect.Signature([*rest, *sizes])
    yield replace(subject, value=constructed)


GIVEN = "_has_given_sides"
"""Attribute of the classes that are constructed with simple sides, which add positions."""


def _kind(name: str, subject: Subject) -> str | None:
    """Return the kind of a constructor parameter that is kept as it is; None for any other."""
    is_kept = re.search(rf"^\s*self\.\w+[^=\n]*=[^=\n]*\b{re.escape(name)}\b", subject.code, re.MULTILINE) is not None
    return next((kind for kind, pattern in KINDS if is_kept and re.fullmatch(pattern, snake(name))), None)


def _has_sides(subject: Subject) -> bool:
    """Return True if the file has a class of its own whose name is that of a stack of layers."""
    held = list(vars(subject.module).values()) if subject.module is not None else []
    own = (each for each in held if inspect.isclass(each) and each.__module__ == subject.value.__module__ and each is not subject.value)
    stacked = {"encoder_stack", "decoder_stack"}
    return any(stacked & {*(name for group in fitting(each.__name__) for name in group)} for each in own)


def _classes(torch: Any) -> SimpleNamespace:
    """Return the classes of the parts."""
    nn = torch.nn
    width = stacks.WIDTH

    class Places(nn.Module):  # type: ignore[name-defined]
        """Adds a learned vector to each position."""

        def __init__(self) -> None:
            super().__init__()
            self.place_table = nn.Parameter(torch.tensor(stacks.waves(stacks.MOST_POSITIONS), dtype=torch.float32))

        def forward(self, x: Any) -> Any:
            return x + self.place_table[: x.shape[1]]

    class Embedding(nn.Module):  # type: ignore[name-defined]
        """The vectors of tokens, with their positions or without."""

        def __init__(self, vocab_size: int, *, is_placed: bool) -> None:
            super().__init__()
            self.embedding = nn.Embedding(vocab_size, width)
            self.added = Places() if is_placed else nn.Identity()

        def forward(self, ids: Any) -> Any:
            return self.added(self.embedding(ids))

    class DecoderLayer(nn.Module):  # type: ignore[name-defined]
        """A layer in which each position sees what its masks let it see."""

        def __init__(self) -> None:
            super().__init__()
            self.own = nn.Linear(width, width)

        def forward(self, x: Any, memory: Any, source_mask: Any, target_mask: Any) -> Any:
            total = self.own(x) + _mean(x, x, target_mask)
            return torch.tanh(total if memory is None else total + _mean(x, memory, source_mask))

    def _mean(x: Any, values: Any, visible: Any) -> Any:
        shares = torch.ones(x.shape[0], x.shape[1], values.shape[1], dtype=x.dtype)
        shares = shares if visible is None else shares * visible
        return shares / shares.sum(-1, keepdim=True).clamp(min=1) @ torch.tanh(values)

    class Side(nn.Module):  # type: ignore[name-defined]
        """Layers, after an embedding if the model has none."""

        def __init__(self, num_layers: int, vocab_size: int | None) -> None:
            super().__init__()
            self.embedding = None if vocab_size is None else Embedding(vocab_size, is_placed=True)
            self.layers = nn.ModuleList(DecoderLayer() for _ in range(num_layers))

        def embedded(self, x: Any) -> Any:
            """Return the vectors of what a side is given: of ids, if it embeds them itself."""
            if (self.embedding is None) == torch.is_floating_point(x):
                return x if self.embedding is None else self.embedding(x)
            raise TypeError("got ids in place of vectors, or vectors in place of ids")

        def split(self, given: tuple[Any, ...], named: dict[str, Any], memory: Any) -> tuple[list[Any], list[Any]]:
            """Return the sequences and the masks among the operands."""
            tensors = [each for each in (*given, *named.values()) if torch.is_tensor(each)]
            sequences = [each for each in tensors if each is memory or self._is_sequence(each)]
            return sequences, [_rows(each) for each in tensors if not any(each is one for one in sequences)]

        def _is_sequence(self, each: Any) -> bool:
            is_vectors = each.ndim == 3 and each.shape[-1] == width and torch.is_floating_point(each)
            return is_vectors if self.embedding is None else each.ndim == 2 and each.dtype == torch.int64

    class Encoder(Side):
        """The side of the source."""

        made: Any = None

        def forward(self, *given: Any, **named: Any) -> Any:
            (x,), masks = self.split(given, named, None)
            (mask,) = masks or [None]
            x = self.embedded(x)
            for layer in self.layers:
                x = layer(x, None, None, mask)
            object.__setattr__(self, "made", x)
            return x

    class Decoder(Side):
        """The side of the target, which sees the output of an encoder."""

        def __init__(self, num_layers: int, vocab_size: int | None, encoder: Any, num_outputs: int | None, returns_pair: bool) -> None:
            super().__init__(num_layers, vocab_size)
            object.__setattr__(self, "_encoder", encoder)
            self.head = nn.Identity() if num_outputs is None else nn.Linear(width, num_outputs)
            self.returns_pair = returns_pair

        def forward(self, *given: Any, **named: Any) -> Any:
            memory = self._encoder.made
            sequences, masks = self.split(given, named, memory)
            (x,) = (each for each in sequences if each is not memory)
            if len(sequences) != 2:
                raise ValueError("got no output of the encoder")
            source = [each for each in masks if (each == each[:, :1]).all()]
            target = [each for each in masks if not (each == each[:, :1]).all()]
            if len(source) > 1 or len(target) > 1:
                raise ValueError("got two masks of one kind")
            x = self.embedded(x)
            for layer in self.layers:
                x = layer(x, memory, *(source or [None]), *(target or [None]))
            return (self.head(x), None) if self.returns_pair else self.head(x)

    return SimpleNamespace(Embedding=Embedding, Places=Places, Encoder=Encoder, Decoder=Decoder, Linear=nn.Linear)


BATCH = 2
"""Number of sequences of all probes of stacks."""


def _rows(mask: Any) -> Any:
    """Return a mask with 1 for what is visible as (batch or 1, queries or 1, keys).

    Errors   ValueError for a mask of other numbers
    """
    rows = mask[:, 0] if mask.ndim == 4 else mask
    rows = rows if rows.ndim == 3 else rows[:, None] if rows.shape[0] == BATCH else rows[None]
    visible = rows != 0
    if not (visible == rows).all():
        raise ValueError("got a mask of other numbers than 0 and 1")
    return visible
