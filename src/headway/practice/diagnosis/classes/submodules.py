"""Ready-made submodules for constructors such as EncoderLayer(size, self_attn, feed_forward): correct ones in the learner's library."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy

from headway import functions
from headway.arrays import array_namespace, from_numpy, is_boolean, is_floating, to_numpy
from headway.errors import ShapeError
from headway.functions import FeedForwardWeights, LinearWeights, MultiHeadAttentionWeights
from headway.practice.diagnosis.calls.binding import OF_SOURCE
from headway.practice.diagnosis.calls.calling import DTYPES
from headway.practice.diagnosis.calls.wording import snake
from headway.practice.diagnosis.classes.chosen_texts import is_text
from headway.practice.diagnosis.reading.subject import Subject, source_in
from headway.practice.exercise import Inputs, Role

ATTENTION = "self_attn self_attention attn attention mha multi_head_attention self_attention_block attention_block self_attention_layer slf_attn self_mha mha1 mha_1 attn1 attention1"
CROSS = "src_attn cross_attn cross_attention enc_attn encoder_attention cross_attention_block enc_dec_attn encoder_decoder_attention memory_attn cross_mha mha2 mha_2 attn2 attention2 encoder_attn"
FEED_FORWARD = (
    "feed_forward ff ffn mlp feed_forward_block feedforward position_wise_feed_forward positionwise_feed_forward pos_ffn ffn_block"
)

LIBRARIES = ("numpy", "torch", "jax", "mlx")
"""Libraries that ready-made submodules compute with."""

OPERANDS = r"(?:[^\n]*|(?:[^()]|\([^()]*\))*)\)\s*"
"""Pattern of the operands of a call, in one line or several."""
WEIGHTS_RETURNED = rf"att\w*\({OPERANDS}\[0\]|,\s*\w+\s*=\s*self\.\w*att\w*\("
"""Pattern of source code in which the attention returns more than its output."""
ADDED = rf"\+ *self\.\w*att\w*\((?!{OPERANDS}\[0\])"
"""Pattern of source code in which the attention returns its output alone, as it may without the cache that another branch passes."""


Kind = Literal["attention", "feed_forward", "norm", "block"]

KINDS: tuple[tuple[Kind, str], ...] = (
    ("norm", r"norm|(^|_)ln"),
    ("attention", r"att(entio|e)?n|(^|_)(mh?s?a|sa|ca)(_|$)|multi_?heads?$"),
    ("feed_forward", r"(^|_)ff|ffn|mlp|feed_?(foo?r?ward|fwd)|moe|experts|glu(_|$)"),
)
"""Kinds of parts, and the words in their names; the first that matches counts."""

ACTIVATIONS = {"relu": functions.relu, "gelu_tanh": functions.gelu_tanh}
"""Activations of ready-made feed-forwards. The process that answers the judge keeps only functions that code names."""


SIZE_WORDS = (
    ("head_dim", r"head_?(dim|size)|^d_(k|v|head)$"),
    ("num_heads", r"head|^h$"),
    ("intermediate_size", r"ff|inner|inter|hidden_dim"),
    ("hidden_size", r"^(d_?)?model(_dim)?$|^(d|dim|size|width|features|hidden(_size)?|n_embd|embed(_dim|_size)?|emb_dim)$"),
)


@dataclass(frozen=True)
class Submodule:
    """Specification of a submodule.

    inner         inner width of a feed-forward
    num_returned  number of values that the attention returns: the output, and None for each of the others
    is_causal     True if the attention hides later positions by itself
    activation    name of the feed-forward's activation
    operands      names of the operands of the attention that it replaces, in their order
    is_stepwise   True for a block that gets one token at a time, with the number of those before it
    is_around     True for the parts of a layer that computes its attention itself, which is kept
    """

    width: int
    num_heads: int
    inner: int = 0
    kind: Kind = "attention"
    num_returned: int = 1
    is_causal: bool = False
    activation: str = "relu"
    operands: tuple[str, ...] = ()
    is_stepwise: bool = False
    is_around: bool = False

    def size(self, name: str) -> int | None:
        """Return the size that a name means; None if it means none of a part."""
        sizes = {
            "hidden_size": self.width,
            "num_heads": self.num_heads,
            "intermediate_size": self.inner,
            "head_dim": self.width // self.num_heads,
        }
        meant = next((each for each, pattern in SIZE_WORDS if re.search(pattern, snake(name))), None)
        return sizes[meant] if meant is not None else None

    def made(self, library: str) -> Any:
        """Return a new submodule."""
        return _classes(library)[self.kind](self)


HIDES = r"tri[ul]|causal"
"""Pattern of a file whose attentions hide later positions."""


def submodule_roles(prefixes: list[str], subject: Subject, *, is_block: bool = False) -> tuple[Role, ...]:
    """Return the roles of submodules for a layer with one attention per prefix.

    is_block   True for a block of a decoder: its attention hides later positions by itself if the file's does and the block mentions no mask
    """
    is_causal = is_block and "mask" not in subject.code and re.search(HIDES, subject.file_source) is not None
    source = "\n".join([subject.own_source, *_wrappers_of(subject)])
    num_returned = 1 + bool(re.search(WEIGHTS_RETURNED, source) and not re.search(ADDED, source))

    def attention(inputs: Inputs) -> Submodule:
        return Submodule(inputs["down_weight"].shape[0], inputs["num_heads"], num_returned=num_returned, is_causal=is_causal)

    def feed_forward(inputs: Inputs) -> Submodule:
        return Submodule(inputs["down_weight"].shape[0], inputs["num_heads"], inputs["up_weight"].shape[0], "feed_forward")

    kinds = [("attention", ATTENTION), ("cross_attention", CROSS)][: len(prefixes)]
    attentions = [
        Role(f"{prefix}attention_part", (*called.split(), *_taken_as(kind, subject)), size_of=attention, is_submodule=True)
        for prefix, (kind, called) in zip(prefixes, kinds, strict=True)
    ]
    called = (*FEED_FORWARD.split(), *_taken_as("feed_forward", subject))
    norms = [
        Role(
            f"norm_part_{place}",
            (name,),
            size_of=lambda inputs: Submodule(inputs["down_weight"].shape[0], 1, kind="norm"),
            is_submodule=True,
        )
        for place, name in enumerate(_taken_as("norm", subject))
    ]
    return (*attentions, Role("feed_forward_part", called, size_of=feed_forward, is_submodule=True), *norms)


def _wrappers_of(subject: Subject) -> list[str]:
    """Return the source of the classes of the file that a layer puts around the parts it is given: `self.attend = Attend(self_attn)`."""
    taken = {each.name for each in subject.parameters}
    made = re.findall(r"self\.\w+ *= *(\w+)\( *(?:\w+ *= *)?(\w+) *\)", subject.code)
    found = (source_in(subject.file_source, name) for name, given in made if given in taken)
    return [source for source in found if source is not None]


SIZES = r"dim|size|shape|num|hidden|drop|prob|bias|mult(?!i_?head)|ratio|(^|_)[dn]_|_p$|heads|type|eps"
"""Words of parameters that are no parts."""


def kind_of(name: str) -> Kind | None:
    """Return the kind of part that a name means, or None."""
    return next((kind for kind, pattern in KINDS if re.search(pattern, snake(name))), None)


def is_part(name: str, subject: Subject, *, is_called: bool = False) -> bool:
    """Return True for a constructor parameter that is stored as it is, and whose attribute is called or, if that is enough, passed on."""
    source = subject.code
    stored = re.search(rf"self\.(\w+)\s*=\s*{re.escape(name)}\s*$", source, re.MULTILINE)
    passed = "" if stored is None or is_called else rf"|\(.*[(,]\s*self\.{stored[1]}\s*[,)]"
    return stored is not None and bool(re.search(rf"self\.{stored[1]}\({passed}", source))


def is_called(name: str, subject: Subject) -> bool:
    """Return True for a constructor parameter that is called: a class or a function that makes the part."""
    return bool(re.search(rf"(?<![\w.]){re.escape(name)}\(", subject.own_source))


def _taken_as(kind: str, subject: Subject) -> list[str]:
    """Return the constructor parameters that take a part of a kind, by the words in their names."""
    needed = [each for each in subject.parameters if each.default is each.empty and not is_text(each)]
    required = [each.name for each in needed if not re.search(SIZES, snake(each.name))]
    unknown = [name for name in required if kind_of(name) is None and is_part(name, subject)]
    of_kind = [name for name in required if kind_of(name) == kind.removeprefix("cross_")]
    if kind == "feed_forward" and not of_kind:
        of_kind = unknown[:1]
    of_source = [name for name in of_kind if re.search(OF_SOURCE, snake(name))] or _next_to_masked(of_kind)
    return [snake(name) for name in of_kind if (name in of_source) == kind.startswith("cross_")]


def _next_to_masked(attentions: Sequence[str]) -> list[str]:
    """Return the one of two attentions that attends to the encoder because only the other's name says that it is masked, or a self-attention.

    Of two that only their numbers distinguish, it is the second.
    """
    others = [name for name in attentions if not re.search(r"mask|self|causal", snake(name))]
    if len(others) == 2 and kind_of(others[0]) == "attention" and len({name.rstrip("_0123456789") for name in others}) == 1:
        others = sorted(others)[1:]
    return others if len(attentions) == 2 and len(others) == 1 else []


def is_ready_made(part: Any) -> bool:
    """Return True for a ready-made submodule."""
    return isinstance(getattr(part, "spec", None), Submodule)


class ReadyLinear:
    """A linear layer with a weight of shape (out, in), for libraries that have none."""

    def __init__(self, library: str, inner: int, outer: int) -> None:
        self.weight = from_numpy(numpy.ones((outer, inner), DTYPES[library]), library)
        self.bias = from_numpy(numpy.zeros(outer, DTYPES[library]), library)


OF_LINEAR = r"(^|_)(fc|linear|lin|proj(ection)?)(_layer)?_?\d?$"
"""Pattern of the names of linear layers."""


class GivenLinear:
    """A linear layer of PyTorch that an attention is given: of its width, for each instance a new one."""

    def at(self, sizes: Mapping[str, Any]) -> Any:
        """Return the layer for the sizes of a probe."""
        return importlib.import_module("torch.nn").Linear(sizes["hidden_size"], sizes["hidden_size"])


def given_linears(subject: Subject) -> dict[str, GivenLinear]:
    """Return the constructor parameters for linear layers that a class stores as they are, or copies of them, with values."""
    needed = [
        each.name
        for each in subject.parameters
        if each.default is each.empty
        and re.search(OF_LINEAR, snake(each.name))
        and re.search(r"\b(int|float|bool|str)\b", str(each.annotation)) is None
    ]
    stored = r"self\.\w+ *= *(?:(?:copy\.)?deepcopy\(\s*)?"
    return {name: GivenLinear() for name in needed if re.search(rf"{stored}{re.escape(name)} *(\)|#|$)", subject.code, re.MULTILINE)}


@lru_cache
def _classes(library: str) -> dict[Kind, Any]:
    """Return the classes of submodules, derived from the library's Module if it has one."""
    names = {"torch": "torch.nn", "mlx": "mlx.nn"}
    nn = importlib.import_module(names[library]) if library in names else None
    base = object if nn is None else nn.Module

    def linear(inner: int, outer: int) -> Any:
        return ReadyLinear(library, inner, outer) if nn is None else nn.Linear(inner, outer)

    class Part(base):  # type: ignore[misc, valid-type]
        """A part whose sizes may be read under any name."""

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                size = None if name.startswith("_") or "spec" not in {*vars(self)} else self.spec.size(name)
                if size is None:
                    raise
                return size

        def train(self, mode: bool = True) -> Any:
            """Change nothing: there is no dropout."""
            return self if nn is None else super().train(mode)

        def eval(self) -> Any:
            """Change nothing, as `train`."""
            return self.train(False)

    class Attention(Part):
        def __init__(self, spec: Submodule) -> None:
            super().__init__()
            self.query, self.key, self.value, self.output = (linear(spec.width, spec.width) for _ in range(4))
            self.spec = spec

        def forward(self, *others: Any, **named: Any) -> Any:
            spec = self.spec
            is_causal = spec.is_causal or any(value is True and re.search("mask|causal", name) for name, value in named.items())
            query, *rest = _in_order(others, named, spec.operands)
            for name, each in named.items():
                if _place(name) in (3, 4) and hasattr(each, "shape") and not _is_sequence(each, query):
                    raise ShapeError(f"got {name} {tuple(each.shape)}, expected a sequence like the query {tuple(query.shape)}")
            key, value, mask = _operands(query, rest)
            weights = MultiHeadAttentionWeights(_weights(self.query), _weights(self.key), _weights(self.value), _weights(self.output))
            answer = functions.multi_head_attention(
                query, key, value, weights, num_heads=spec.num_heads, mask=_read(mask), is_causal=is_causal
            )
            return answer if spec.num_returned == 1 else (answer, *[None] * (spec.num_returned - 1))

    class FeedForward(Part):
        def __init__(self, spec: Submodule) -> None:
            super().__init__()
            self.up, self.down = linear(spec.width, spec.inner), linear(spec.inner, spec.width)
            self.spec = spec

        def forward(self, x: Any, *others: Any, **named: Any) -> Any:
            weights = FeedForwardWeights(_weights(self.up), _weights(self.down))
            return functions.feed_forward(x, weights, activation=ACTIVATIONS[self.spec.activation])

    class Norm(Part):
        def __init__(self, spec: Submodule) -> None:
            super().__init__()
            made = linear(1, spec.width)
            self.weight, self.bias = made.weight[:, 0], made.bias

        def forward(self, x: Any, *others: Any, **named: Any) -> Any:
            return functions.layer_norm(x, self.weight, self.bias)

    def norm(spec: Submodule) -> Any:
        return Norm(spec) if nn is None else nn.LayerNorm(spec.width)

    class Block(Part):
        """A block of GPT-2 that takes its input from any arguments, and returns what else the block that it replaces returned."""

        def __init__(self, spec: Submodule) -> None:
            super().__init__()
            self.norm_1, self.norm_2 = norm(spec), norm(spec)
            self.attention, self.feed_forward = Attention(replace(spec, is_causal=True)), FeedForward(spec)
            self.spec, self.extras, self.before = spec, None, None

        def forward(self, *others: Any, **named: Any) -> Any:
            arrays = [each for each in (*others, *named.values()) if getattr(each, "ndim", 0) > 1]
            x = next(each for each in arrays if is_floating(each) and each.shape[-1] == self.spec.width)
            length = x.shape[-2]
            if self.spec.is_stepwise:
                start = next((each for each in (*others, *named.values()) if type(each) is int), 0)
                x = x if self.before is None else array_namespace(x).concat([self.before[..., :start, :], x], axis=-2)
                self.before = x
            x = x + self.attention(self.norm_1(x))
            x = x + self.feed_forward(self.norm_2(x))
            x = x[..., -length:, :]
            return x if self.extras is None else (x, *self.extras)

    if library != "torch":
        for each in (Attention, FeedForward, Norm, Block):
            each.__call__ = each.forward
    return {
        "attention": Attention,
        "feed_forward": FeedForward,
        "block": Block,
        "norm": norm,
    }


def _in_order(others: Sequence[Any], named: Mapping[str, Any], operands: Sequence[str]) -> list[Any]:
    """Return the operands of an attention, the query first: in the order of the call, or by name if `operands` has the query at a later place.

    So has one with the input after the positions: `self_attn(positions, hidden_states)`.
    """
    is_late = any(_place(name) == 0 for name in operands[1:]) and _place(operands[0]) != 0
    is_late = is_late or (any(_place(name) <= 2 for name in operands[1:]) and re.match(BEFORE_INPUT, operands[0]) is not None)
    if is_late and len(others) <= len(operands):
        named = {**dict(zip(operands, others, strict=False)), **named}
        others = ()
    return [*others, *(named[name] for name in sorted(named, key=_place))]


BEFORE_INPUT = r"(?i)pos|freq|cos|sin|rot|layer_?(id|index|idx)"
"""Pattern of the names of operands of an attention that may be before its input."""


OF_PLACES = r"[a-z]_?pos(ition)?s?(_(ids?|idx|index|indices))?$|_len(gth)?s?$"
"""Pattern of the names of operands of an attention for the positions of its queries or keys, or for their number: `key_position_ids`."""


def _place(name: str) -> int:
    """Return the place of an operand among query, key and value, by its name; positions of queries and keys come after them."""
    if re.search(OF_PLACES, name.lower()):
        return 5
    return next((place for place, start in enumerate(("q", "x", "h", "k", "v")) if name.lower().startswith(start)), 5)


def _operands(query: Any, others: list[Any]) -> tuple[Any, Any, Any]:
    """Return key, value and mask of an attention that is called with any further arguments."""
    sequences = [each for each in others if _is_sequence(each, query)]
    key, value = (sequences * 2)[:2] if sequences else (query, query)
    masks = [each for each in others if _may_be_mask(each) and not any(each is one for one in sequences)]
    fitting = [each for each in masks if each.shape[-1] == key.shape[-2]] or (masks if len(masks) == 1 else [])
    return key, value, next(iter(fitting), None)


def _is_sequence(value: Any, query: Any) -> bool:
    is_alike = getattr(value, "ndim", 0) == query.ndim and is_floating(value)
    return is_alike and value.shape[-1] == query.shape[-1] and value.shape[:-2] == query.shape[:-2]


def _may_be_mask(value: Any) -> bool:
    """Return True for an array that is neither a table of rotary positions, complex or of pairs, nor the positions 0, 1, 2, …."""
    if getattr(value, "ndim", 0) < 2 or value.shape[-1] == 2:
        return False
    if "int" in str(value.dtype):
        return not (to_numpy(value) == numpy.arange(value.shape[-1])).all()
    return is_boolean(value) or is_floating(value)


def _weights(layer: Any) -> LinearWeights:
    return LinearWeights(layer.weight, layer.bias)


def _read(mask: Any) -> Any:
    """Convert a mask to the convention of headway.functions: 1 and 0 to booleans, with an axis for the heads."""
    if mask is None:
        return None
    if not is_boolean(mask) and numpy.isin(to_numpy(mask), (0, 1)).all():
        mask = mask != 0
    return array_namespace(mask).expand_dims(mask, axis=1) if mask.ndim == 3 else mask
