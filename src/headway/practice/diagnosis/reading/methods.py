"""Methods of classes that are parts of their own: those that need no state, and those that generate text."""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

from headway.practice.diagnosis.reading.trees import is_of_self, parameters_in
from headway.practice.names import fitting
from headway.practice.recipes.rotary_forms import COSINES, SINES
from headway.practice.roles import Roles

METHODS = r"generate(_text|_tokens)?|greedy_(decode|generate|search)"
"""Pattern of the names of methods that are judged as functions whose first operand, the instance, is the model."""

SETTINGS = (
    r"((src|trg|tgt|source|target)_)?pad(ding)?_?(id|idx|index|token|token_id|token_idx)|max_(seq_)?len(gth)?|device|(n|num)_heads?"
    r"|(sliding_|local_|att(entio)?n_)?window(_?(size|len(gth)?))?"
)
"""Pattern of the names of the settings of an instance that its method for a mask may read."""

FILL = r"(neg(ative)?|minus)_?inf(inity)?|(mask_?)?fill_?value"
"""Pattern of the name of the setting of an instance that its method for a mask adds at hidden positions, if the constructor has a default for it."""

CONFIG = r"_?(cfg|config|args|hparams)"
"""Pattern of the name of what holds the settings of an instance."""

WORDS = r"_?(vocab(ulary)?|words?|word_?(freq(uencie)?s?|counts?|splits?)|corpus|splits|tokens|ids)"
"""Pattern of the names of the state of a tokenizer whose pairs its methods count or merge."""

LISTED = r"_?(merges|merge_rules)"
"""Pattern of the names of the state of a tokenizer that its method for a merge extends."""

GIVEN_MERGES = r"(?!(n|num|max)_).*(merge|ranks|rules).*"
"""Pattern of the names of the parameters of a tokenizer's constructor that may be its merges."""

HELD_VOCAB = r"_?((inv(erse)?|rev(erse)?)_?)?(vocab(ulary)?|decoder|itos)|_?(id|idx|int|i)_?(to|2)_?\w+"
"""Pattern of the names of the state of a tokenizer that may be its tokens by id, or its ids by token."""

HELD_IDS = r"_?(vocab(ulary)?|encoder|stoi|(bytes?|tokens?|str(ing)?|pieces?)_?(to|2)_?(ids?|idx|int|index))"
"""Pattern of the names of the state of a tokenizer that may be the ids of its tokens, by token or as they are."""

HELD_REPEATS = r"_?((n|num)_?(reps?|repeats?|repetitions|kv_groups|key_value_groups|queries_per_kv(_head)?)|kv_?repeats?|rep(eats?)?)"
"""Pattern of the names of the setting of a grouped-query attention that is the number of its query heads for each key-value head."""

HELD_BY_PARTS: Mapping[str, Mapping[str, str]] = {
    "bpe_encode": {"merges": GIVEN_MERGES, "vocab": HELD_IDS},
    "bpe_decode": {"merges": GIVEN_MERGES, "vocab": HELD_VOCAB},
    "repeat_kv": {"n_rep": HELD_REPEATS},
}
"""Parts that may be methods of a tokenizer or an attention, and the patterns of the names of the state that is an operand of each."""

MASKS = (("padding_mask",), ("causal_mask",), ("sliding_window_mask",))
"""Parts that are masks, as the first that a name means."""

PAIRS = ("pair_counts", "merge_pair")
"""Parts of byte-pair encoding that are methods of their own."""

CALLED_OF_INSTANCES = r"__\w+__|forward|call|backward|get_\w+_embeddings|prepare_inputs\w*"
"""Pattern of the names of methods that are the call of their class, or give access to a part of it."""

TRAINING = (
    "train",
    "fit",
    "train_from_text",
    "learn",
    "train_bpe",
    "learn_bpe",
    "build_vocab",
    "train_tokenizer",
    "build",
    "from_text",
    "from_corpus",
)
ENCODING = ("encode", "tokenize", "transform", "encode_text", "encode_ordinary", "encoder", "__call__")
DECODING = ("decode", "detokenize", "inverse_transform", "decode_ids", "decode_text", "decoder")
"""Names of the methods of a tokenizer."""

BYTE_PAIRS = ("bpe_encode", "bpe_decode", "bpe_train", "bpe_tokenizer")
"""Parts of a tokenizer."""

OF_BYTE_PAIRS = r"merge|bpe|pair|byte|(?<!encoding=.)(?<!encoding = .)utf|\bb['\"]"
"""Pattern of a file in which encode and decode may be those of byte pairs, not of single characters; it may read a text of any encoding."""

CLASSIFIER = r"(?is)\A(?=.*\bdef __init__\([^)]*\b(out(put)?_?(size|dim|features)|d_out|(num|n)_?class(es)?)\b)(?=.*(relu|gelu|silu|tanh|sigmoid))(?=.*soft_?max)"
"""Pattern of the source of a feed-forward with an output of another width, whose softmax is not its activation: it returns probabilities of classes."""

OF_MODELS = ("encoder_stack", "encoder_decoder", "gpt2")
"""Parts whose name, a Transformer, may also be that of a classifier of texts."""

CLASSIFIER_OF_TEXTS = (
    r"(?is)\A(?=.*Embedding\([^)]*vocab)(?=.*Linear\([^)]*\b(num|n)_?(class(es)?|labels)\b)(?!.*Linear\([^)]*(vocab|tokens))"
)
"""Pattern of the source of a model that embeds tokens and returns the logits of classes."""

BY_CHARACTER = r"\A\w+ *= *lambda \w+: *\[\w+\[(\w+)\] for \1 in \w+\]"
"""Pattern of an expression that looks up each character, and merges nothing: it is no encoding with byte pairs."""

CALLS_GENERATE = r"(?<![.\w])(?!self\.)\w+\.generate\("
"""Pattern of the source of a function that lets a model generate by itself."""

OF_FACTORY = (
    r"\breturn (functools\.)?partial\(|(\breturn|\blambda \*[^:\n]*:) +\w+\.[A-Z]\w*\(\*\w+|\breturn +(\w+\.)*Module(Dict|List)\("
    r"|\A\w+ *= *lambda [^:\n]*: *(?:\w+\.)+(?!Tensor|Array)[A-Z]\w*[a-z]\w*\((?!.*\)\()"
    r"|== *['\"]\w+['\"]: *\n? +return +(\w+\.)*(?!Tensor|Value|Variable)[A-Z]\w*[a-z]\w*\("
    r"|\bdef (build|create|make|get)_\w+\((?s:.)*\breturn (?!\w*(Tensor|Array|Parameter|Variable|Value|Matrix|Counter|Merge)\b)[A-Z]\w*[a-z]\w*\("
    r"|-> *['\"]?(?:\w+\.)*(?!\w*(?:Tensor|Array|Parameter|Variable|Value|Matrix|Counter|Merge)\b)(?P<made>[A-Z]\w*[a-z]\w*)\b['\"]?:(?s:.)*\breturn (?:\w+\.)*(?P=made)\("
)
"""Pattern of the source of a function that returns another one, a layer of a library with its settings or of the kind that a text names, layers in a list or a dict, or an instance
that it makes: `build_attention(config)`, or of the class that it is annotated to return."""

OF_STEP = (
    r"(?is)(def \w+\(\s*(self,\s*)?(\w*(step|iter|epoch)\w*|it|t|i|n|idx|time)\b|def \w+\([^()]*\b((cur(rent)?|global)_)?(step|iter(ation)?|epoch)\b"
    r"|\bself\.\w*(step|iter|epoch)|\boptim)"
)
"""Pattern of the source of what has a number of a step."""

READ_BY = {
    "cosine_schedule": rf"{OF_STEP}.*\bcos\(",
    "linear_schedule": rf"{OF_STEP}.*/",
    "noam_schedule": rf"{OF_STEP}.*(\*\* *\(?-|sqrt|pow)",
    "gradient_clipping": r"(?i)norm|sqrt|\*\* *2|square|pow\(|vdot",
    "rotate_half": r"\[|chunk|split|unbind|rearrange|roll",
}
"""Parts whose names also mean others: patterns of what their sources compute, such as a norm, not a limit of each element."""

PLAIN_MASK = r"_?((build|make|create|get|generate|compute)_)?(square_|seq_|attention_|attn_)?mask"
"""Pattern of the names of methods that make a mask of a kind that the name does not say."""

OF_DEVICE = r"next\(self\.parameters\(\)\)\.device|self(\.\w+)+\.device"
"""Pattern of an expression for the device of a weight."""

OPERANDS = ("q", "k", "v")
"""First letters of the operands of an attention."""


def methods(definitions: Iterable[ast.stmt], inside: str = "") -> dict[str, ast.stmt]:
    """Return the classes in a file's classes, as Class.Inner, and the methods that are parts of their own, as Class.method.

    inside   what the names of the definitions begin with: `Class.`
    """
    found: dict[str, ast.stmt] = {}
    tree = [*definitions]
    for owner in tree:
        if not isinstance(owner, ast.ClassDef):
            continue
        inner = [node for node in owner.body if isinstance(node, ast.ClassDef)]
        prefix = f"{inside}{owner.name}."
        found |= {f"{prefix}{node.name}": node for node in inner} | methods(inner, prefix)
        own = {node.name: node for node in owner.body if isinstance(node, ast.FunctionDef)}
        stateless = _stateless(own) | called_of_class(owner, tree)
        for name, node in own.items():
            if re.fullmatch(METHODS, name) or (_is_static(node) and not name.startswith("__")) or name in stateless:
                found[f"{prefix}{name}"] = node
    return found


def parts_of_tokenizers(owner: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    """Return the methods of a class by the parts that they are if the class is a right tokenizer.

    One whose constructor may take merges need not be trained, so a verdict on it does not hold for its training.
    """
    own = {node.name: node for node in owner.body if isinstance(node, ast.FunctionDef) and not is_left_out(node)}
    may_be_given = "__init__" in own and any(re.fullmatch(GIVEN_MERGES, name) for name in parameters_in(own["__init__"]))
    names = {"bpe_encode": ENCODING, "bpe_decode": DECODING} | ({} if may_be_given else {"bpe_train": TRAINING})
    found = {part: next((own[name] for name in called if name in own), None) for part, called in names.items()}
    return {part: node for part, node in found.items() if node is not None}


def is_left_out(method: ast.FunctionDef) -> bool:
    """Return True for a method without a body: `def encode(self, text): ...`."""
    return all(isinstance(each, ast.Pass) or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)) for each in method.body)


def _stateless(own: Mapping[str, ast.FunctionDef]) -> set[str]:
    """Return the methods of a class that are named as parts and read nothing of their instance but other such methods, and settings.

    Methods of abstract classes, which raise or do nothing, and those of tokenizers, whose merges are state, are no parts, unless they count or
    merge the pairs of the words that the tokenizer holds, or encode by its merges or decode by its vocabulary alone: these are operands. So is the
    number of repeated heads.
    """
    constructor = ast.walk(own["__init__"]) if "__init__" in own else ()
    assigned = {node.attr for node in constructor if is_of_self(node) and isinstance(node.ctx, ast.Store)}
    read = {name: _read_of_self(node, WORDS if _is_of_pairs(name) else None) for name, node in own.items() if not node.decorator_list}
    free = {name for name, attributes in read.items() if attributes is not None}
    placed = {name for name, node in own.items() if _makes_mask(node) and _places(node)}  # their callers are steps of an attention
    while reading := {name for name in free if not _needed(own[name], read[name] or set(), assigned) <= free - placed}:
        free -= reading
    return {
        name
        for name in free
        if not re.fullmatch(CALLED_OF_INSTANCES, name)
        and ((likely := fitting(name)[0]) or _is_of_pairs(name) or _is_triangular(name, own[name]))
        and (not any(each.startswith("bpe_") for each in likely[:1]) or any(_held_as_operand(name, read[name] or set()).values()))
        and (_is_of_pairs(name) or any(each.value is not None for each in ast.walk(own[name]) if isinstance(each, ast.Return)))
    }


def _needed(method: ast.FunctionDef, attributes: set[str], assigned: set[str]) -> set[str]:
    """Return the attributes that a method reads: for one that makes a mask without settings, for an attention without what the constructor assigns."""
    if _attends(method.name, parameters_in(method)[1:]):
        return attributes - assigned - {"training"}
    if _is_of_pairs(method.name):
        return {each for each in attributes if not re.fullmatch(f"{WORDS}|{LISTED}", each)}
    if held := _held_as_operand(method.name, attributes):
        return attributes.difference(*held.values())
    makes_mask = _makes_mask(method)
    return {each for each in attributes if not (makes_mask and re.fullmatch(f"{SETTINGS}|{FILL}|{CONFIG}", each))}


def _makes_mask(method: ast.FunctionDef) -> bool:
    """Return True for a method that makes a mask of padding, of later positions or of a window."""
    return fitting(method.name)[0][:1] in MASKS or _is_triangular(method.name, method)


def _is_of_pairs(name: str) -> bool:
    """Return True for the name of a method that counts or merges the pairs of a tokenizer."""
    likely, possible = fitting(name)
    return next(iter(likely or possible), None) in PAIRS


def _held_as_operand(name: str, attributes: Iterable[str]) -> dict[str, list[str]]:
    """Return the attributes that are an operand of a method that encodes, decodes or repeats heads, by the operand; empty for another method."""
    part = next(iter(fitting(name)[0]), "")
    found = {
        operand: sorted(each for each in attributes if re.fullmatch(pattern, each))
        for operand, pattern in HELD_BY_PARTS.get(part, {}).items()
    }
    return {operand: names for operand, names in found.items() if names and (operand == "merges" or len(names) == 1)}


def _is_triangular(name: str, method: ast.AST) -> bool:
    """Return True for a method that makes a mask of a kind that its name does not say, and makes a triangle."""
    nodes = [*ast.walk(method)]
    named = {node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None) for node in nodes}
    orders = "arange" in named and any(isinstance(each, ast.Gt | ast.GtE | ast.Lt | ast.LtE) for each in nodes)
    return re.fullmatch(PLAIN_MASK, name) is not None and (orders or not named.isdisjoint(("tril", "triu")))


def _attends(name: str, parameters: list[str]) -> bool:
    """Return True for an attention that takes query, key and value, also under the name of their projections."""
    return (
        re.search("attention|qkv", " ".join(fitting(name)[0])) is not None and tuple(each[0].lower() for each in parameters[:3]) == OPERANDS
    )


def _read_of_self(method: ast.FunctionDef, written: str | None) -> set[str] | None:
    """Return the attributes that a method reads of its instance, a mask not only for a device; None if it uses the instance in another way.

    written   pattern of the names of attributes that it may assign
    """
    places = _places(method) if _makes_mask(method) else ()
    of_places = {id(node) for each in places for node in ast.walk(each)}
    nodes = [node for node in ast.walk(method) if id(node) not in of_places]
    shown = _shown_by(method)
    attributes = [node for node in nodes if is_of_self(node)]
    uses = [node for node in nodes if isinstance(node, ast.Name) and node.id == "self"]
    may_be = {node.attr for node in attributes if node.attr in shown or (written and re.fullmatch(written, node.attr))}
    is_read = all(isinstance(node.ctx, ast.Load) or node.attr in may_be for node in attributes)
    is_only_read = is_read and len(uses) == len(attributes)
    return {node.attr for node in attributes} - shown if is_only_read and parameters_in(method)[:1] == ["self"] else None


def _shown_by(method: ast.FunctionDef) -> set[str]:
    """Return the attributes that an attention assigns and never reads: what it shows of a call, such as its weights."""
    attributes = [node for node in ast.walk(method) if is_of_self(node)] if _attends(method.name, parameters_in(method)[1:]) else []
    return {each.attr for each in attributes} - {each.attr for each in attributes if isinstance(each.ctx, ast.Load)}


def _places(method: ast.AST) -> list[ast.Attribute]:
    """Return the expressions for the device of a weight or of all: `self.proj.weight.device`, `next(self.parameters()).device`."""
    devices = [node for node in ast.walk(method) if isinstance(node, ast.Attribute) and node.attr == "device"]
    return [node for node in devices if re.fullmatch(OF_DEVICE, ast.unparse(node))]


def _is_static(node: ast.FunctionDef) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in node.decorator_list)


def called_of_class(owner: ast.ClassDef, definitions: Iterable[ast.stmt]) -> set[str]:
    """Return the methods without an instance that lack `@staticmethod`: the file calls them as those of their class, `Softmax.forward(x)`.

    If it calls one of them so, and no method of the class takes an instance, all of them are such: the class only groups functions.
    """
    own = [node for node in owner.body if isinstance(node, ast.FunctionDef) and not node.decorator_list and parameters_in(node)]
    instances = {*INSTANCES, *(parameters_in(each)[0] for each in own if each.name.startswith("__"))}
    plain = {each.name for each in own if parameters_in(each)[0] not in instances}
    called = (node.func for each in definitions for node in ast.walk(each) if plain and isinstance(node, ast.Call))
    names = (
        each for each in called if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == owner.name
    )
    found = {each.attr for each in names} & plain
    return plain if found and all(each.name in plain for each in own) else found


INSTANCES = ("self", "cls", "this")
"""Names of the first parameter of a method that takes its instance or its class."""


def without_instance(method: Callable[..., Any], owner: Any) -> Callable[..., Any] | None:
    """Return a method that needs no state but settings as a function of its operands; None for one that needs other state.

    The settings of a mask and the words of a tokenizer are operands, too. The settings of an attention are what the constructor sets for the
    size of its operands. A method that returns nothing returns the words, which it changed.
    """
    signature = inspect.signature(method)
    operands = [*signature.parameters.values()][1:]
    attends = _attends(method.__name__, [each.name for each in operands])
    needed = {*method.__code__.co_names} & _attributes_of(owner.__init__, r"STORE_ATTR") if attends else set()
    if needed and not _are_settings(owner, needed):
        return None
    held = {name for name in _attributes_of(method) if not hasattr(owner, name) or inspect.ismemberdescriptor(getattr(owner, name))}
    is_of_pairs = _is_of_pairs(method.__name__)
    state = _held_as_operand(method.__name__, held)
    settings = [] if attends or state else sorted(name for name in held if re.fullmatch(WORDS if is_of_pairs else SETTINGS, name))
    configs = [name for name in held if settings and not is_of_pairs and re.fullmatch(CONFIG, name)]
    defaults = inspect.signature(owner.__init__).parameters
    fills = {name: getattr(defaults.get(name), "default", None) for name in held if not attends and re.fullmatch(FILL, name)}
    if not all(isinstance(each, int | float) for each in fills.values()):
        return None
    lists = [name for name in sorted(held) if is_of_pairs and re.fullmatch(LISTED, name)]
    placed = _placed(method)

    @functools.wraps(method)
    def called(*values: Any, **options: Any) -> Any:
        instance = _made(owner, [*values, *options.values()][0].shape[-1]) if needed else owner.__new__(owner)
        for name in placed if not needed else ():
            object.__setattr__(instance, name, Anywhere())
        for name in settings:
            object.__setattr__(instance, name, options.pop(name, None))
        for name, fill in fills.items():
            object.__setattr__(instance, name, fill)
        for name in configs:
            object.__setattr__(instance, name, instance)
        for name in lists:
            object.__setattr__(instance, name, [])
        for operand, names in state.items():
            value = options.pop(operand, None)
            for name in names:
                object.__setattr__(instance, name, value)
        answer = method(instance, *values, **options)
        return getattr(instance, settings[0]) if answer is None and is_of_pairs and settings else answer

    own = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in (*settings, *state)]
    called.__signature__ = signature.replace(parameters=[*operands, *own])  # type: ignore[attr-defined]
    return called


class Anywhere:
    """Stand-in for what a method reads a device of: a weight, a module of weights, or the method that returns all weights; the device is the default one."""

    device = None

    def __getattr__(self, name: str) -> Anywhere:
        return self

    def __call__(self) -> Iterator[Anywhere]:
        """Return all weights."""
        return iter((self,))


def _placed(method: Callable[..., Any]) -> set[str]:
    """Return the attributes of its instance that a method reads for a device alone."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    except (OSError, SyntaxError):
        return set()
    return {node.attr for each in _places(tree) for node in ast.walk(each) if is_of_self(node)}


def of_operands(owner: type) -> Callable[..., Any] | None:
    """Return a class whose constructor takes query, key and value, and whose call takes nothing, as a function of them; None for another class."""
    constructor, call = vars(owner).get("__init__"), vars(owner).get("forward") or vars(owner).get("__call__")
    if not inspect.isfunction(constructor) or not inspect.isfunction(call) or len(inspect.signature(call).parameters) != 1:
        return None
    signature = inspect.signature(constructor)
    operands = [*signature.parameters.values()][1:]
    if tuple(each.name[0].lower() for each in operands[:3]) != OPERANDS:
        return None

    @functools.wraps(call)
    def called(*values: Any, **options: Any) -> Any:
        return owner(*values, **options)()

    called.__signature__ = signature.replace(parameters=operands)  # type: ignore[attr-defined]
    return called


def with_tables(owner: type) -> type | None:
    """Return a class that only computes tables of cosines and sines in its constructor, with a call that returns them; None for another class."""
    own = {name: each for name, each in vars(owner).items() if inspect.isfunction(each)}
    if set(own) != {"__init__"} or owner.__bases__ != (object,):
        return None
    assigned = sorted(_attributes_of(own["__init__"], "STORE_ATTR"))
    found = [[name for name in assigned if re.fullmatch(pattern, name)] for pattern in (COSINES, SINES)]
    if [len(names) for names in found] != [1, 1]:
        return None

    def call(self: Any) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for (name,) in found)

    return type(owner.__name__, (owner,), {"__call__": call, "__module__": owner.__module__, "__init__": own["__init__"]})


def _attributes_of(method: Any, operation: str = r"(LOAD|STORE)_(ATTR|METHOD)") -> set[str]:
    """Return the names of the attributes that a method reads or assigns, its comprehensions and inner functions included."""
    if not inspect.isfunction(method):
        return set()
    codes = [*_codes_in(inspect.unwrap(method).__code__)]
    return {each.argval for code in codes for each in dis.get_instructions(code) if re.fullmatch(operation, each.opname)}


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes_in(each)


def _are_settings(owner: Any, names: Iterable[str]) -> bool:
    """Return True if attributes of an instance are numbers, texts, or functions and layers without weights."""
    try:
        instance = _made(owner, 4)
        return all(_is_setting(getattr(instance, name)) for name in names)
    except Exception:
        return False


def _is_setting(value: Any) -> bool:
    if hasattr(value, "parameters"):
        return not any(True for _ in value.parameters())
    return value is None or isinstance(value, bool | int | float | str) or inspect.isroutine(value)


def _made(owner: Any, head_dim: int) -> Any:
    """Return an instance of a class of attention for heads of this size; what is no number of its constructor is left at its default."""
    parameters = [each for each in inspect.signature(owner).parameters.values() if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    sizes = _Sizes(head_dim, 2 if any(each.name.lower() in NUM_HEADS for each in parameters) else 1)
    instance = owner(**{each.name: sizes.value(each.name, each.default) for each in parameters})
    return instance.eval() if hasattr(instance, "eval") else instance


_SIZES = Roles("projections")
NUM_HEADS = {"num_heads", *_SIZES.called("num_heads")}
HEAD_DIM = {"head_dim", "d_v", *_SIZES.called("head_dim")}
HIDDEN_SIZE = {"hidden_size", *_SIZES.called("hidden_size")}
PLACES = {"device": "cpu", "dtype": None}
DROPOUT = r"drop|^p$|^rate$|(^|_)prob"


@dataclass(frozen=True)
class _Sizes:
    """Sizes of an attention's constructor by their names."""

    head_dim: int
    num_heads: int

    def value(self, name: str, default: Any) -> Any:
        """Return the value of a parameter: one without a default that no name explains is a width."""
        plain = name.lower()
        if re.search(DROPOUT, plain):
            return 0.0
        if plain in PLACES:
            return PLACES[plain]
        if plain in HEAD_DIM:
            return self.head_dim
        if plain in NUM_HEADS:
            return self.num_heads
        is_width = plain in HIDDEN_SIZE or default is inspect.Parameter.empty
        return self.head_dim * self.num_heads if is_width else default


STORING = r"update|append|add|push|extend|put|insert|write|store|(?<!re)set|forward|call"
"""Pattern of the names of methods that may store keys and values in a cache."""
KEY_OR_VALUE = r"(?i)(^|_)(k|v|kv|keys?|values?|states?)(_|\d|$)"
"""Pattern of the names of parameters for keys and values."""


def only_allocates(node: ast.stmt) -> bool:
    """Return True for a cache whose keys and values others write, as a kernel of attention does: it has arrays, and no method that stores any."""
    if not isinstance(node, ast.ClassDef) or node.bases:
        return False
    methods = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name != "__init__"]
    taken = [each.arg for method in methods for each in (*method.args.posonlyargs, *method.args.args, *method.args.kwonlyargs)]
    is_stored = any(re.search(STORING, each.name) for each in methods) or any(re.search(KEY_OR_VALUE, name) for name in taken)
    return bool(methods) and not is_stored


OF_MERGES = r"((target|max|new)_)?vocab_size|(n|num|max)_(merges|iter(ation)?s)"
"""Pattern of the name of a number of merges."""


def learns_merges(node: ast.stmt) -> bool:
    """Return True for a function that takes a number of merges: it learns them, even under the name `merge`."""
    return isinstance(node, ast.FunctionDef) and any(re.fullmatch(OF_MERGES, name) for name in parameters_in(node))
