"""Parts that a class may be, from what it holds and takes; its name alone does not tell an attention with projections from one without."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from headway.practice.diagnosis.calls.calling import libraries_for
from headway.practice.diagnosis.classes.configs import CONFIG_NAMES
from headway.practice.diagnosis.reading.methods import ENCODING, OPERANDS
from headway.practice.diagnosis.reading.subject import Subject, defines, first_method, without_comments
from headway.practice.exercise import Exercise
from headway.practice.exercises.transformer_block import SEES_ALL
from headway.practice.message import Message
from headway.practice.texts import Texts

TEXTS = Texts("diagnosis")

BARE = "scaled_dot_product_attention"
PROJECTED = "multi_head_attention"
CAUSAL_MASK = r"tri[ul]|subsequent|look_?ahead|is_causal"
"""Pattern of the source of a causal attention that makes a mask, where an infinity alone may belong to the caller's mask."""
MADE_MASK = r"def \w*(causal|subsequent|look_?ahead)_?mask"
"""Pattern of the definition of a causal mask, which the file's attention is given."""
CAUSAL = r"tri[ul]|causal|subsequent|look_?ahead|-?inf"
"""Pattern of the source of an attention that masks later positions by itself."""

OF_WIDTH = r"_?(dim|width|size|features|channels|emb)"
"""Pattern of what follows `kv` in the name of a width, which may be that of another sequence and says nothing of groups of heads."""

SHIFTS = (
    r"^shift|(?<!already )(?<!already_)(?<!pre-)(?<!pre)\bshift(s|ed)? (the |them|both|by|logits|labels|targets|inside|internally|token)"
)
"""Pattern of the name or documentation of a loss that shifts its targets by itself."""


def likely_parts(subject: Subject, exercise: Exercise) -> list[str]:
    """Return the names of the exercises that a subject may be, likeliest first; one for most subjects."""
    if exercise.name == "next_token_loss":
        return _losses(subject)
    if exercise.name == "cross_entropy":
        slices = (r"\[:, *1:", r"\[:, *:-1\b") if _takes_targets(subject) else (r"\b1:", r":-1\b")
        is_shifting = all(re.search(pattern, subject.own_source) for pattern in slices)
        return ["cross_entropy", *(["next_token_loss"] if is_shifting else [])]
    if not inspect.isclass(subject.value) or exercise.name not in FAMILIES:
        return [exercise.name]
    return FAMILIES[exercise.name](subject)


def name_note(named: Exercise, part: str) -> tuple[Message, ...]:
    """Return a note for a loss over tokens by name that leaves the shift to its caller."""
    return (TEXTS["caller_shifts"],) if (named.name, part) == ("next_token_loss", "cross_entropy") else ()


def _losses(subject: Subject) -> list[str]:
    """Return plain cross-entropy too for a loss that takes targets, which its caller may shift; not if its documentation says that it does."""
    takes_targets = _takes_targets(subject)
    promise = re.search(SHIFTS, f"{subject.name} {inspect.getdoc(subject.value) or ''}", re.IGNORECASE)
    return ["next_token_loss", *(["cross_entropy"] if takes_targets and not promise else [])]


def _takes_targets(subject: Subject) -> bool:
    return any(re.search(r"^(y|y_true|targets?)$", each.name.lower()) for each in subject.parameters)


def _attentions(subject: Subject) -> list[str]:
    """Return the attentions with projections for a class that holds matrices, and the bare one otherwise."""
    if not _holds_matrices(subject):
        return _causal(subject) if "causal" in subject.name.lower() else [BARE]
    words = " ".join(each.name.lower() for each in subject.parameters)
    text = subject.code
    if re.search(rf"kv(?!{OF_WIDTH})|group", words) or re.search(r"kv_?heads?|kv_?groups?", text, re.IGNORECASE):
        return ["grouped_query_attention", "causal_self_attention", PROJECTED]
    if _num_sequences(subject) >= 2:
        return [PROJECTED, "cross_attention", "self_attention"]
    if re.search(CAUSAL, text, re.IGNORECASE):
        return ["causal_self_attention", "self_attention", PROJECTED, "grouped_query_attention"]
    return ["self_attention", "causal_self_attention", PROJECTED, "grouped_query_attention"]


def call_operands(subject: Subject) -> list[inspect.Parameter]:
    """Return the parameters of the call method."""
    forward: Any = getattr(subject.value, "forward", None) or vars(subject.value).get("__call__", subject.value)
    return list(inspect.signature(forward).parameters.values())[1:]


def _num_sequences(subject: Subject) -> int:
    """Return the number of sequences that the call method needs."""
    needed = [each for each in call_operands(subject) if each.default is each.empty]
    return sum(not re.search(r"mask|cache|pos|freq|cos|sin|len|flag|return|is_", each.name.lower()) for each in needed)


def _holds_matrices(subject: Subject) -> bool:
    from headway.practice.diagnosis.classes.instance_calls import instance_calls
    from headway.practice.diagnosis.classes.slots import slots_of
    from headway.practice.exercises import exercise

    part = exercise(PROJECTED)
    for library in libraries_for(subject):
        for call in instance_calls(subject, part, library)[:1]:
            _, instance = call.sample(part)
            if instance is not None:
                return any(len(slot.shape) > 1 for slot in slots_of(instance, subject.value.__module__))
    return bool(re.search(r"Linear\(|Parameter\(|Dense\(|DenseGeneral\(", subject.own_source))


def _heads(subject: Subject) -> list[str]:
    """Return causal attention for a head whose source hides later positions, or prepares to, and plain attention otherwise.

    A head that does so only in calls that ask for it sees all positions. One that is given queries, keys and values and holds no matrices
    is the bare attention.
    """
    if tuple(each.name[0].lower() for each in call_operands(subject)[:3]) == OPERANDS and not _holds_matrices(subject):
        return [BARE]
    text = subject.code
    is_causal = subject.name.lower().endswith("head") and re.search(r"tri[ul]|causal|subsequent|look_?ahead", text, re.IGNORECASE)
    is_asked = any(each.default is False and re.search(r"mask|causal", each.name.lower()) for each in call_operands(subject))
    return ["causal_self_attention" if is_causal and not is_asked else "self_attention"]


STACKS = r"(for \w+ in range\(|(clones?|copy|copies)\().*\n?.*(layers|blocks|depth|层|\bN\b)"
"""Pattern of the source of a class that holds several layers."""


OF_LANGUAGE_MODEL = r"(?i)\A(?![\s\S]*decoder_?(layer|block)?$)[\s\S]*(gpt|llama|language_?model)"
"""Pattern of the names of a file, one per line, with a model that continues texts, and without a decoder."""


def _encoder_layers(subject: Subject) -> list[str]:
    """Return the stack of encoder layers, too, for a class that holds several, and a block first for a causal one of a model like GPT."""
    names = "\n".join(vars(subject.module)) if subject.module is not None else ""
    if re.search(OF_LANGUAGE_MODEL, names, re.MULTILINE) and re.search(CAUSAL_MASK, without_comments(subject.used_source), re.IGNORECASE):
        return ["transformer_block", "encoder_layer"]
    return ["encoder_layer", *(["encoder_stack"] if re.search(STACKS, subject.own_source) else [])]


GATED = r"gate|glu\b|\bw_?3\b|(silu|swish|sigmoid)\([^\n]*\) *\*"
"""Pattern of the source of a feed-forward with a gate."""


def _feed_forwards(subject: Subject) -> list[str]:
    """Return the gated feed-forward first for a class that has a gate."""
    return ["gated_feed_forward", "feed_forward"] if re.search(GATED, subject.code, re.IGNORECASE) else ["feed_forward"]


def _decoder_layers(subject: Subject) -> list[str]:
    """Return the layers without cross-attention for one that takes a single sequence, as in decoder-only models."""
    if re.search(STACKS, subject.own_source):
        return ["decoder_layer", "decoder_stack"]
    if _num_sequences(subject) > 1:
        return ["decoder_layer"]
    return ["transformer_block", "encoder_layer", "decoder_layer"]


OF_DECODERS = r"tri[ul]|causal|mask|generate|language|decoder|gpt|target|logits|vocab"
"""Pattern of a file in which a head hides later positions, or should."""


JOINS_HEADS = r"\b(cat|concat|concatenate)\(\s*[\[(]\s*(\w+)\([^()]*\) for \2 in self\.\w*heads?\w*\s*[\])]"
"""Pattern of the source of a class that joins the outputs of the heads which it holds."""


def _causal(subject: Subject) -> list[str]:
    """Return causal attention, and the attention whose mask the caller passes for a class without a mask of its own.

    A class that holds matrices must require the mask, or another part of its file must make a causal one: it may be for padding.
    """
    is_head = subject.name.lower() in ("head", "heads")
    if not is_head and re.search(JOINS_HEADS, subject.own_source):
        return ["stacked_heads_attention", "causal_self_attention"]
    if is_head and not re.search(OF_DECODERS, without_comments(subject.file_source), re.IGNORECASE):
        return ["self_attention"]
    text = subject.code.partition("\n")[2]
    masks = [each for each in call_operands(subject) if "mask" in each.name.lower()]
    if is_head and any(each.default is None for each in masks) and not re.search(CAUSAL_MASK, text, re.IGNORECASE):
        return ["self_attention", PROJECTED]  # it hides what its caller wants, if anything
    if not masks or re.search(CAUSAL_MASK, text, re.IGNORECASE):
        return ["causal_self_attention"]
    if not _holds_matrices(subject):
        return ["causal_self_attention", BARE]
    is_required = any(each.default is each.empty for each in masks)
    is_made = re.search(MADE_MASK, without_comments(subject.file_source.replace(subject.own_source, ""))) is not None
    return ["causal_self_attention", *(["self_attention", PROJECTED] if is_required or is_made else [])]


OVER_LAYERS = r"for \w+ in self\.\w+:"
"""Pattern of the source of a class that calls one layer after the other."""


def _blocks(subject: Subject) -> list[str]:
    """Return the encoder layer, too, for a block in whose file nothing says that it hides later positions, or whose constructor may be given a mask.

    A class that makes several layers and calls one after the other is a stack, and one that attends to a second sequence a decoder layer.
    """
    if _num_sequences(subject) > 1 and re.search(r"(?i)\bself\.\w*(cross|enc(oder)?_?(dec(oder)?_?)?att)\w*\(", subject.code):
        return ["decoder_layer"]
    if re.search(STACKS, subject.own_source) and re.search(OVER_LAYERS, subject.code):
        return ["encoder_stack", "decoder_stack"] if _num_sequences(subject) > 1 else ["encoder_stack"]
    text, names = subject.own_source, "\n".join(vars(subject.module)) if subject.module is not None else ""
    patterns = ((SEES_ALL[1].called, subject.name), (SEES_ALL[1].source, text), (SEES_ALL[1].file_names, names))
    is_open = all(re.search(pattern or "", each, re.IGNORECASE) for pattern, each in patterns)
    is_open |= any("mask" in each.name and each.default is None for each in subject.parameters)
    return ["transformer_block", *(["encoder_layer"] if is_open else [])]


def computes_waves(subject: Subject) -> bool:
    """Return True for a table of positions that is computed: written over with other numbers, it may be right as a learned one."""
    return re.search(r"(?<!a)(sin|cos)\(", without_comments(subject.used_source)) is not None


def _is_library_table(value: Any) -> bool:
    """Return True for a class that leaves the whole computation to a library's table, its base."""
    rows = next((base for base in value.__mro__ if base.__name__ in ("Embedding", "Embed")), None)
    return rows is not None and rows is not value and not {"forward", "__call__"} & vars(value).keys()


def _embeddings(first: str) -> Callable[[Subject], list[str]]:
    """Return a function that gives the embeddings that a class may be: of tokens, of positions, or of both."""

    def parts(subject: Subject) -> list[str]:
        if _is_library_table(subject.value):
            return ["embed"]
        text = without_comments(subject.used_source).replace(subject.name, "")
        names = " ".join(each.name.lower() for each in subject.parameters)
        has_tokens = bool(re.search(r"vocab|token|num_embeddings|(src|trg|tgt|source|target)_size", names))
        has_tokens |= any(re.search(CONFIG_NAMES, each.name.lower()) for each in subject.parameters)
        has_tokens |= not names and re.search(r"(?i)Embed(ding)?\( *(num_embeddings *= *)?\w*vocab", text) is not None
        has_waves = bool(re.search(r"(?<!a)sin\(|sinusoid|positional_?enc", text, re.IGNORECASE))
        tables = len(re.findall(r"Embedding\(|Embed\(|Parameter\((?:torch\.\w+\()?|randn\(|normal\(", text))
        if has_waves and has_tokens:
            is_computed = computes_waves(subject)
            of_library = len(re.findall(r"(?<![A-Za-z])(?:Embedding|Embed|Parameter|randn|normal)\(", text))
            learned = ["learned_positions"] if (of_library if is_computed else tables) > 1 else []
            named = [] if is_computed and first == "learned_positions" else [first]
            return list(dict.fromkeys(["positioned_embedding", *learned, *named]))
        if has_waves or not tables:
            return [first]
        is_of_both = has_tokens and (tables > 1 or "pos" in text.lower())
        return list(dict.fromkeys(["learned_positions", first])) if first != "embed" or is_of_both else [first]

    return parts


def _tokenizers(subject: Subject) -> list[str]:
    """Return the training alone for a class that does not decode, or leaves out the body of its encoding."""
    is_left_out = any(defines(subject.value, name) for name in ENCODING) and not first_method(subject.value, ENCODING)
    decodes = re.search(r"def _*(de(code|tokeni[sz]e)|inverse)", subject.used_source) is not None
    return ["bpe_tokenizer" if decodes and not is_left_out else "bpe_train"]


def _activations(name: str) -> Callable[[Subject], list[str]]:
    """Return the parts of a class that has the name of an activation: a feed-forward with it, if it is made for an inner width."""
    return lambda subject: ["feed_forward"] if re.search(r"\bd_?ff\b|hidden|inner|intermediate", " ".join(_names(subject))) else [name]


OF_TWO_LAYERS = r"(?is)\A(?!.*(att|soft_?max|conv|recurrent|lstm))(?=.*(Linear|Dense)\(.*(Linear|Dense)\()(?=.*[gr]elu|silu|swish)"
"""Pattern of the source of a class with two linear layers and an activation."""


def _linears(subject: Subject) -> list[str]:
    """Return the feed-forward for a class that is named as a fully connected layer and has two of them."""
    return ["feed_forward" if re.search(OF_TWO_LAYERS, subject.own_source) else "linear"]


def _names(subject: Subject) -> list[str]:
    return [each.name.lower() for each in subject.parameters]


TAKES_A_STEP = r"def (step|update|apply_grad)"
"""Pattern of the source of a class that takes one step at a time, with gradients of its caller."""

FAMILIES = {
    "adam_step": lambda subject: ["adam_optimizer"],
    "gradient_descent": lambda subject: ["sgd_optimizer" if re.search(TAKES_A_STEP, subject.used_source) else "gradient_descent"],
    BARE: _attentions,
    "self_attention": _heads,
    "causal_self_attention": _causal,
    "encoder_layer": _encoder_layers,
    "decoder_layer": _decoder_layers,
    "transformer_block": _blocks,
    "embed": _embeddings("embed"),
    "sinusoidal_positions": _embeddings("sinusoidal_positions"),
    "learned_positions": _embeddings("learned_positions"),
    "positioned_embedding": _embeddings("positioned_embedding"),
    "bpe_tokenizer": _tokenizers,
    "bpe_encode": _tokenizers,
    "feed_forward": _feed_forwards,
    "linear": _linears,
    "relu": _activations("relu"),
    "gelu": _activations("gelu"),
    "silu": _activations("silu"),
}
"""Exercises whose name a class of several parts may have. What these functions return is in names.PARTS_OF_CLASSES, too."""
