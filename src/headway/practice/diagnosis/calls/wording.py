"""Meaning of parameter, field and variable names that no role lists, from the words in them."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy

from headway.practice.chinese_names import in_english
from headway.practice.diagnosis.calls.rotation import UNROTATED
from headway.practice.exercise import Role

DROPOUT = r"dro(p|[a-z]?out)(?!_?path)|pdrop|(^|_)p$"

LENGTH = (
    r"^(?!.*(factor|ratio|scal|interpol)).*((max|context|block|ctx|position|window).*(len|seq|size|pos|ctx|tok|window)"
    r"|^n_?(pos|ctx)|(seq|sequence|text|data|sent(ence)?)s?_?len|maxlen|max_(t|l|n)$|^(t|l|n|len(gth)?|seq|pos(itions)?)_max$)"
)
"""Pattern of the names of a length of sequences."""

WORDS: tuple[tuple[str, str], ...] = (
    ("has_bias", r"bias"),
    ("eps", r"(^|_)eps|epsilon"),
    ("device", r"^dev(ice)?$"),
    ("num_kv_heads", r"(kv|groups?|key_value).*head|head.*(kv|group)|n(um)?_?(kv|groups|query_groups)|kv_groups"),
    ("head_dim", r"head.*(dim|size|width|features)|^(rotary|rope|rot)_(n?dims?|size)$|(dim|size|d|width|features)(_per)?_head|per_head|(^|_)d_?[kq](ey)?$|(^|_)(qk|key)_(dim|size)"),
    ("value_dim", r"(^|_)(d_?v|(v|value)s?_(dim|size|width|depth)|(dim|d|depth)_(v|value)s?)$"),
    ("num_heads", r"head"),
    ("source_vocab_size", r"(src|source|inp|enc)\w*voc|voc\w*(src|source|inp|enc)"),
    ("target_vocab_size", r"(tgt|trg|tar|out|dec)\w*voc|voc\w*(tgt|trg|tar|out|dec)"),
    ("num_encoder_layers", r"enc\w*(layer|block)s?|(layer|block)s?\w*enc"),
    ("num_decoder_layers", r"dec\w*(layer|block)s?|(layer|block)s?\w*dec"),
    ("vocab_size", r"vocab|num_embeddings|n(um)?_classes|num_tokens|n_tokens|dictionary|(src|trg|tgt|source|target)_(size|dim)$"),
    *((role, LENGTH) for role in ("max_seq_len", "context_length", "seq_len")),
    ("num_layers", r"layers?$|depth|^((n|num)_)?stacks$|(?<![a-z])(n|num|number)_?(of_)?(\w+_)?(layers?|blocks?)|(layers?|blocks?)_?(num|count|number)"),
    ("batch_size", r"batch|^bsz?$"),
    ("expansion", r"expan(?!\w*_(size|dim|width|channels|features|units)$)|ratio|mult(?!iple)|factor"),
    ("intermediate_size", r"ff|feed|inner|inter|mlp|hid|proj|filter|expan|^f$"),
    ("d_in", r"(^|_)in(put)?(_|$)|src"),
    ("d_out", r"(^|_)out(put)?s?(_|$)"),
    ("hidden_size", r"emb|model|hid|dim|width|channel|feature|shape|units|size|^d$|^c$|^n$"),
)  # fmt: skip
"""Role names, and the words that stand for them; the first that matches counts."""


HIDDEN_SCORE = -1e9
"""Score of what a mask hides; finite, so that its product with 0 is 0."""


def initial_values(key: Any, shape: Sequence[int], dtype: Any = numpy.float32) -> numpy.ndarray:
    """Return the initial values of a weight, as an initializer of JAX does; they are replaced by those of a probe."""
    return numpy.full(shape, 0.1, dtype)


def array_of_shape(*shape: Any) -> numpy.ndarray:
    """Return the initial values of a weight, as a function of NumPy does that takes a shape, or its lengths one by one."""
    return numpy.full(shape[0] if len(shape) == 1 else shape, 0.1, numpy.float32)


NEUTRAL: tuple[tuple[str, Any], ...] = (
    (r"(^|_)init(ializer)?_?(func(tion)?|fn)$", array_of_shape),
    (r"^(kernel|weight|embed(ding)?|bias)_init(ializer)?$", initial_values),
    (r"multiple_of", 32),
    (r"^max_(batch|bsz)", 16),
    (r"^(ro_?pe|rotary|rotary_?(pos(itional)?_?)?emb(ed(ding)?s?)?|rotary_encoding|pos_?emb(ed(ding)?)?_?fn)(_?(layer|module|fn|func))?$", UNROTATED),
    (r"^(device|dev)$", "cpu"),
    (r"dtype|_type$", None),
    (r"(^|_)eps|epsilon", 1e-5),
    (r"layer_?(idx|id|index|num|no)|(^|_)(idx|index|id)$", 0),
    (r"deterministic", True),
    (r"multiplier", None),
    (r"theta|(^|_)base$", 10000.0),
    (r"(neg(ative)?|minus)_inf(inity)?$|mask(ing|ed)?_?(fill|value)|fill_value$", HIDDEN_SCORE),
    (r"^lr$|learning_rate$", 0.01),
    (r"(^|_)std$|init(ializer)?_range", 0.02),
    (r"(^|_)rank$", 2),
    (r"(^|_)alpha$", 1.0),
    (r"(^|_)(bias|attn|attention)_masks?$", None),
    (r"^(is|use|return|need|output(?=$|_(att|hid|weight|score|state|all))|with|log|add|do|enable|debug|verbose|training|train|inference|flash|bias|causal|masked?)(_|$)|_?bias$", False),
    (r"^(np_?)?rng$|^random_state$", numpy.random.default_rng(0)),
    (r"^(random_?)?seed$", 0),
    (r"cache|past|history|prev(ious)?_state|layer_state", None),
    (r"start_?(pos|index)?$|offset|input_pos|(^|_)pos(ition)?$", 0),
    (r"^(n|num)_?(hidden_)?(layers?|blocks?)$", 1),
    (r"^(n|num)_?(\w+_)?experts?$", 0),
)  # fmt: skip
"""Values that have no effect, by words in the name of a parameter."""

OF_DATA = ("context_length", "batch_size")
"""Sizes of the data, which are no widths even where a part does not take them: `block_size`."""

NO_SIZE = r"^(no|tied?|share)_|_masks?$|(^|_)act(ivation)?(_|$)|type|name|path|norm|init|_id$|std"
"""Words of settings that are no sizes."""

NOTHING: Any = object()


WIDTH_OF_WORDS = r"d_(word|token)_(vec|emb)\w*"
"""Pattern of the name of a width that is that of the whole model."""

WIDTH = rf"(d_)?(emb(ed(ding)?)?|model|in(put)?)s?(_(dim|size|width|features))?|n_emb(ed|d)?|{WIDTH_OF_WORDS}"
"""Pattern of the name of a width, next to which `hidden` is an inner one."""

INNER = r"ff|feed|inner|inter|mlp|filter"
"""Words of an inner width; `hidden` alone may be either width."""


@cache
def snake(name: str) -> str:
    """Return a name in lower case with underscores: `numHeads` and `NUM_HEADS` → `num_heads`, `model_d` → `model_dim`."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", in_english(name)).lower().strip("_")
    return re.sub(r"dim(ension)?s?_size|dimensions?|(?<=[a-z]{2}_)d$", "dim", plain)


@cache
def is_dropout(name: str) -> bool:
    """Return True for the name of a dropout rate."""
    return bool(re.search(DROPOUT, snake(name)))


UNCAPPED = 1e5
"""Cap of the scores, cap · tanh(scores / cap), that changes none of them by more than their rounding."""


@cache
def is_cap(name: str) -> bool:
    """Return True for the name of a cap of the scores of an attention: `attn_logit_softcap`."""
    return re.fullmatch(r"(att(entio)?n_)?((logits?|scores?)_)?soft_?cap(ping)?", snake(name)) is not None


def neutral_value(name: str) -> Any:
    """Return a value without effect for a parameter, or NOTHING if its name suggests none."""
    found = next((value for pattern, value in NEUTRAL if re.search(pattern, snake(name))), NOTHING)
    return copy.deepcopy(found) if isinstance(found, numpy.random.Generator) else found  # draws do not depend on earlier calls


def value_of_setting(name: str, size: int) -> Any:
    """Return a value for a setting of a file whose own value is not known: `size` for a size; NOTHING if its name suggests none."""
    if is_dropout(name):
        return 0.0
    value = neutral_value(name)
    return size if value is NOTHING and _meanings(name) else value


def is_named(name: str, role: Role) -> bool:
    """Return True if a role lists the name."""
    plain = snake(name)
    return plain == role.name or plain in role.called or plain.replace("_", "") in role.called


def roles_of_names(names: Sequence[str], roles: Sequence[Role], *, is_shared: bool = False) -> dict[str, Role]:
    """Return the roles of names: those that list the name, then those whose words are in it.

    is_shared   True if several names may stand for one role, as in a config
    """
    found: dict[str, Role] = {}
    for is_alike in (_is_listed, _is_worded):
        for name in names:
            if name in found:
                continue
            free = [role for role in roles if is_shared or role not in found.values()]
            role = is_alike(name, free, roles)
            if role is not None:
                found[name] = role
        found |= _of_languages([name for name in names if name not in found], roles)
    return _with_inner(found, roles, names)


def _of_languages(names: Sequence[str], roles: Sequence[Role]) -> dict[str, Role]:
    """Return the roles of two vocabularies named after their languages, as in (en_vocab_size, de_vocab_size): source and target."""
    two = [role for name in ("source_vocab_size", "target_vocab_size") for role in roles if role.name == name]
    vocabularies = [name for name in names if _meanings(name)[:1] == ("vocab_size",)]
    return dict(zip(vocabularies, two, strict=True)) if len(vocabularies) == len(two) == 2 else {}


def _is_listed(name: str, free: Sequence[Role], roles: Sequence[Role]) -> Role | None:
    return next((role for role in free if is_named(name, role)), None)


@cache
def _meanings(name: str) -> tuple[str, ...]:
    """Return the names of the roles that the words of a name may stand for."""
    if is_dropout(name) or re.search(NO_SIZE, snake(name)):
        return ()
    return tuple(role for role, pattern in WORDS if re.search(pattern, snake(name)))


def _is_worded(name: str, free: Sequence[Role], roles: Sequence[Role]) -> Role | None:
    """Return the free role that the words of a name indicate; None if they indicate another role."""
    known = {role.name for role in roles}
    meant = next((role for role in _meanings(name) if role in known or role in OF_DATA), None)
    if meant == "context_length" and meant not in known:
        meant = "seq_len"
    return next((role for role in free if role.name == meant), None)


def _with_inner(found: Mapping[str, Role], roles: Sequence[Role], names: Sequence[str]) -> dict[str, Role]:
    """Return the roles after separating the width from the inner width: of `hidden` and `d_model`, `hidden` is the inner width."""
    width = next((role for role in roles if role.name == "hidden_size"), None)
    inner = next((role for role in roles if role.name == "intermediate_size"), None)
    of_inner = [name for name, role in found.items() if role is inner]
    of_width = [name for name, role in found.items() if role is width]
    result = dict(found)
    if width is None or inner is None:
        return result
    if not of_width and len({snake(name) for name in of_inner}) > 1:  # lm_hidden_dim, lm_inter_dim
        plain = [name for name in of_inner if not re.search(INNER, snake(name))]
        if 0 < len(plain) < len(of_inner):
            return result | dict.fromkeys(plain, width)
    if not of_width and len(of_inner) > 1:  # hidden, feed_forward_hidden
        plain = [name for name in of_inner if not re.search(INNER, snake(name))]
        result |= dict.fromkeys(plain, width)
    elif not of_inner and len(of_width) > 1:  # dim, hidden_dim
        hidden = [name for name in of_width if "hid" in snake(name)]
        is_width_named = any(re.search(r"emb|model|dim|width|^[dc]$", snake(name)) for name in of_width if name not in hidden)
        result |= dict.fromkeys(hidden, inner) if is_width_named else {}
    elif not of_inner and len(of_width) == 1 and "hid" in snake(of_width[0]):  # embedding_size, hidden_size
        left = [name for name in names if name not in found and re.fullmatch(WIDTH, snake(name))]
        result |= {left[0]: width, of_width[0]: inner} if left else {}
    elif not of_width and len(of_inner) == 1:  # hidden, feed_forward
        left = [name for name in names if name not in found and re.search(r"hid|emb|model|dim", snake(name))]
        result |= dict.fromkeys(left[:1], width)
        if not left and re.search(r"^(?!.*(ff|feed|inner|mlp)).*hid", snake(of_inner[0])):
            others = [name for name in names if name not in found and re.search(INNER, snake(name))]
            result |= {of_inner[0]: width, **dict.fromkeys(others[:1], inner)} if others else {}
    return result
