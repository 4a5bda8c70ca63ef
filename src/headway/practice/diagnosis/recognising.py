"""The exercise that a learner's function or class belongs to, found by its name and by its outputs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy

from headway.practice.diagnosis.adapters import calls_of
from headway.practice.diagnosis.calls.binding import fits_name
from headway.practice.diagnosis.calls.calling import libraries_for, returns_value
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.checks.trials import trials_of, trials_that_begin_right
from headway.practice.diagnosis.classes.made import copies_layer
from headway.practice.diagnosis.classes.parts import OF_TWO_LAYERS, STACKS, call_operands
from headway.practice.diagnosis.classes.slots import module_library
from headway.practice.diagnosis.diagnose import correct_as_is, diagnose
from headway.practice.diagnosis.explain.impossible import raises_in_call
from headway.practice.diagnosis.explain.undefined import raises_when_made
from headway.practice.diagnosis.reading.methods import (
    BY_CHARACTER,
    BYTE_PAIRS,
    CALLS_GENERATE,
    CLASSIFIER,
    CLASSIFIER_OF_TEXTS,
    DECODING,
    ENCODING,
    OF_BYTE_PAIRS,
    OF_FACTORY,
    OF_MODELS,
    READ_BY,
    learns_merges,
    only_allocates,
)
from headway.practice.diagnosis.reading.other_layers import is_other_layer
from headway.practice.diagnosis.reading.subject import DOCSTRING, Subject, first_method, is_of_byte_pairs, parsed
from headway.practice.diagnosis.structures import GIVEN_LAYER, OF_ORDER, as_mask, as_structure, first_correct
from headway.practice.exercise import Exercise, Inputs
from headway.practice.exercises import exercise, exercises
from headway.practice.names import NO_FUNCTION, PARTS_OF_CLASSES, fitting, parts_of_block
from headway.practice.outputs import Raised
from headway.practice.recipes.rotation import ROPE

UNDERSTOOD = 0.2
"""Closeness from which the first exercise that a name fits is not doubted."""

GROUPED = "grouped_query_attention"
OF_GROUPS = r"\b(n|num)_?(kv|key_value)_?heads?"
"""Pattern of the source of an attention with a number of key-value heads."""

LAYERS = ("encoder_layer", "decoder_layer")
"""Parts of which a class holds one, not several, if its name may mean a stack of them as well."""

STACK_OF = {"encoder_layer": "encoder_stack", "decoder_layer": "decoder_stack"}
"""The stack of each of these layers, which a class that copies a given one is even under the name of a layer, EncoderBlock."""

WHOLE = ("encoder_stack", "encoder_decoder")
"""Parts whose name, a Transformer, may also be that of a decoder-only model, with or without its output head."""

MODELS = ("model", "llm", "lm")
OF_HEADS, HIDING = r"\b(n|num)_?heads?\b", r"tri[ul]|causal"
"""Patterns of the source of a function of several heads, and of one that hides later positions."""

ENCODES = r"(?is)\A(?!.*(tri[ul]|causal|subsequent|decod))(?=.*\bself\.\w*encoder)(?=.*(\bpad|!= *0))"
"""Pattern of the source of a model of an encoder that hides padding, and no later positions: it is no GPT."""

SPLITS = r"(?i)heads?\b|shape\(|view\(|split|chunk|rearrange|einsum|linear|weight|proj|\bw_?[qkvo]"
"""Pattern of the body of an attention that splits into heads, or projects."""

TILED = r"(?s)\bfor \w+ in range\(.*(block|tile)"
"""Pattern of the source of an attention that computes one tile after another, whose size no other part of its name takes."""

ROTATING = rf"(?i)cos|sin|freq|theta|angle|polar|table|cis|{ROPE}|rot\w*\("
"""Pattern of the body of a function that rotates by angles."""

SCHEDULES = ("linear_schedule", "noam_schedule", "cosine_schedule")
OF_RATES = r"(?i)^(get_|compute_|calc(ulate)?_)?(lr|learning_?rate)(_?(at|for|schedule|from|by|with)\w*)?$|warm_?up|noam|(lr|learning_?rate)\w*sched|^schedul\w*_?optim|^(my|custom)?_?scheduler$"
"""Schedules of the learning rate, and the pattern of the names of what may be one of them."""

SCHEDULER = r"(?i)sched"
OF_WIDTH = r"(?is)\A(?=.*warm_?up)(?=.*\b(d_?model|dim_embed|model_size|hidden_size|embed_dim)\b)(?=.*(\*\* *\(?-|sqrt|pow))"
"""Patterns of the name of any schedule, and of the source of the one of the original Transformer, which depends on the model's width."""

LOSSES = ("cross_entropy", "next_token_loss")
SQUARED = r"\*\* *2\b|\bsquare\(|\.pow\(2\)|\bmse"
OF_CLASSES = r"(?i)log|softmax|entropy|prob|one_?hot|class(?! \w+[(:])|sigmoid|vocab|token"
"""Patterns of the source of a squared error, and of a file that predicts classes."""

NORMS = ("layer_norm", "rms_norm")
T5_NORM = r"(?i)t5_?layer_?norm"
"""Pattern of the name of a norm without a bias: T5's, which subtracts no mean, or a layer norm."""
OF_T5 = r"(?i)(?<![a-z0-9])t5(?![a-z0-9])|relative_position_?bucket|relative_attention_(bias|embedding|num_buckets)"
"""Pattern of the source of a file with a model like T5, whose layer norms subtract no mean."""

AROUND_A_LAYER = (
    rf"(?s)def __init__\([^)]*\b{GIVEN_LAYER}\b[^)]*\).*\bself\.\w+ *= *\1\b.*\w+\.\w+\("
    rf"|\n +{GIVEN_LAYER} *:.*(?<![\w.])(self\.)?\2\("
    rf"|\Adef \w+\([^)]*\b{GIVEN_LAYER}\b.*(?<![\w.])\4\("
)
"""Pattern of the source of what is given a layer, in its constructor, as a field or as an operand, and calls it: a norm before or after it is a
part of what it does."""

SINUSOIDAL = r"(?s)\bsin\(.*\bcos\("
"""Pattern of the source of a table of positions that is computed, not learned."""


OF_SCHEDULE = ("step", "max_rate", "warmup_steps", "total_steps")
"""Operands of a schedule with a warmup and a fall."""


def _linear_schedule(subject: Subject) -> Exercise | None:
    """Return the exercise of a function whose name says that it is a linear schedule, and that takes the operands of one by name; else None."""
    found = exercise("linear_schedule")
    if found.name not in fitting(subject.short_name)[0] or not inspect.isfunction(subject.value):
        return None
    roles = [role for role in found.roles if role.name in OF_SCHEDULE]
    taken = {role.name for role in roles for each in subject.parameters if fits_name(each.name, role)}
    return found if taken == {*OF_SCHEDULE} else None


def recognised(subject: Subject) -> Exercise | None:
    """Return the exercise of a subject, or None.

    A name that fits several exercises is tried as each of them, likeliest first. A private function, which may serve any purpose,
    counts only if it can be called as its exercise.
    """
    if subject.is_method:
        return None if _sees_one_token(subject) else exercise("generate")
    means = next(iter(fitting(subject.short_name)[0]), "")
    if means in READ_BY and re.search(READ_BY[means], subject.used_source):
        return _if_callable(subject, exercise(means))
    if re.search(OF_RATES, subject.short_name) or (re.search(SCHEDULER, subject.short_name) and re.search(OF_WIDTH, subject.own_source)):
        return first_correct(subject, SCHEDULES) or _linear_schedule(subject)
    if means in READ_BY:
        return None
    if means == "bpe_encode" and inspect.isfunction(subject.value) and re.search(BY_CHARACTER, subject.code):
        return None
    if means == "generate" and inspect.isfunction(subject.value) and re.search(CALLS_GENERATE, subject.code):
        return first_correct(subject, ("generate",))
    if means == "merge_pair" and any(map(learns_merges, parsed(subject.own_source).body)):
        return first_correct(subject, ("bpe_train",))
    if means == "kv_cache" and any(map(only_allocates, parsed(subject.own_source).body)):
        return None
    makes_other = means not in BYTE_PAIRS and re.search(OF_FACTORY, subject.code)  # a training returns what it learned
    is_other = re.match(NO_FUNCTION, subject.short_name, re.IGNORECASE) or makes_other
    if inspect.isfunction(subject.value) and (is_other or _only_shows(subject)):
        return None
    likely, possible = ([exercise(each) for each in group] for group in fitting(subject.short_name))
    if likely and likely[0].name in LAYERS and copies_layer(subject):
        likely, possible = [exercise(STACK_OF[likely[0].name])], []
    if re.search(STACKS, subject.own_source):
        possible = [each for each in possible if each.name not in LAYERS]
    if likely and likely[0].name == "bpe_decode" and any(each.name in MODELS for each in subject.parameters):  # decode(model, prompt)
        likely = [exercise("generate")]
    if likely and likely[0].name == "sample" and _samples_in_a_loop(subject):
        likely = [exercise("generate")]
    if likely and likely[0].name in BYTE_PAIRS and subject.file_source and not is_of_byte_pairs(subject.file_source):
        return None
    if not likely and _is_of_numbers(subject):
        possible = [each for each in possible if each.name not in LOSSES]
    if not likely and re.search(ENCODES, subject.own_source):
        possible = [each for each in possible if each.name != "gpt2"]
    if is_of_codes(subject):
        return first_correct(subject, [each.name for each in likely])
    possible = [each for each in possible if each.name != "bpe_train" or "merge" in subject.own_source]
    bases = subject.value.__mro__[1:] if inspect.isclass(subject.value) else ()
    if any(re.match(r"(torch|mlx)\.\S* (Adam|SGD)", f"{base.__module__} {base.__name__}") for base in bases):
        return None  # a library's optimizer with additions
    if _is_grouped(subject, {each.name for each in (*likely, *possible)}):
        return exercise(GROUPED)
    if likely and likely[0].name == "cross_attention" and _is_switched(subject, likely[0]):
        return likely[0]
    if not inspect.isclass(subject.value):
        likely = [each for each in likely if each.name != "sgd_optimizer"]
    is_tiled = _takes_three(subject) and re.search(TILED, subject.code) is not None
    if is_tiled:
        likely, possible = ([each for each in group if each.name == "scaled_dot_product_attention"] for group in (likely, possible))
    named = [each.name for each in (*likely, *possible)]
    is_split = any(re.fullmatch(r"d_?k|head_dim", each.name) for each in subject.parameters) or not re.search(SPLITS, _body(subject))
    of_one_head = named[:1] == ["multi_head_attention"] and is_split
    if _takes_three(subject) and (of_one_head or named[:1] == ["self_attention"]):
        likely = [exercise("scaled_dot_product_attention"), *likely]
    elif named[:1] == ["scaled_dot_product_attention"] and _splits_three(subject):
        likely = [exercise("multi_head_attention"), *likely]
    elif inspect.isfunction(subject.value) and re.search(OF_HEADS, subject.code, re.IGNORECASE):
        if likely and likely[0].name == "self_attention":
            return exercise("causal_self_attention" if re.search(HIDING, subject.code, re.IGNORECASE) else "multi_head_attention")
        possible.sort(key=lambda each: each.name == "self_attention")  # one head would hide what it does with several
    if likely and likely[0].name in ("learned_positions", "embed") and re.search(SINUSOIDAL, _source_of_positions(subject)):
        likely = [exercise("sinusoidal_positions"), *(each for each in likely if each.name != "embed")]
    if inspect.isfunction(subject.value) and not re.search(ROTATING, _body(subject)):  # the exchange of the halves is a step of rotary
        likely, possible = ([each for each in group if each.name not in ("rotary", "rotary_tables")] for group in (likely, possible))
    if inspect.isclass(subject.value) and raises_when_made(subject) is not None:  # each attempt would make it as far as that
        return next(iter(likely), None)
    if likely and raises_in_call(subject) is not None:
        return likely[0]
    block = as_form(subject) if inspect.isclass(subject.value) and parts_of_block(subject.short_name) else None
    if block is not None:
        return block
    likely, possible = ([each for each in group if not is_more_than(subject, each.name)] for group in (likely, possible))
    if likely and likely[0].name == "qkv_projection" and _takes_three(subject):
        likely = [exercise("scaled_dot_product_attention"), *likely]
    if likely and likely[0].name == "causal_mask" and not re.search(OF_ORDER, subject.used_source):
        likely = [exercise("padding_mask"), *likely]
    is_of_t5 = bool(likely) and likely[0].name == "layer_norm" and re.search(OF_T5, subject.file_source) is not None
    if (is_of_t5 or re.search(T5_NORM, subject.name)) and (either := first_correct(subject, NORMS)) is not None:
        return either
    if len(likely) == 1 and not (possible or subject.is_private):
        return likely[0]
    found = most_plausible(subject, likely, possible)
    if found is not None and not likely and found.name in WHOLE and correct_as_is(subject, found) is None:
        return first_correct(subject, ("gpt2",)) or found
    if found is not None or likely:
        return found
    if subject.is_private:
        return as_mask(subject)
    if is_tiled:
        return None
    return (
        as_form(subject) or as_correct(subject) or as_tokenizer(subject) or as_mask(subject) or as_structure(subject) or by_outputs(subject)
    )


def _only_shows(subject: Subject) -> bool:
    """Return True for a function without operands and output that prints or asserts: an example of a part, or its test."""
    is_called_alone = inspect.isfunction(subject.value) and not inspect.signature(subject.value).parameters
    return is_called_alone and not returns_value(subject) and re.search(r"(?m)^\s+(print\(|assert\b)", subject.code) is not None


def _is_of_numbers(subject: Subject) -> bool:
    """Return True for a squared error in a file that predicts no classes, as of a linear regression."""
    return re.search(SQUARED, _body(subject)) is not None and re.search(OF_CLASSES, subject.file_source) is None


def _if_callable(subject: Subject, exercise: Exercise) -> Exercise | None:
    """Return the exercise if a subject can be called as it is; None for others."""
    return exercise if any(calls_of(subject, exercise, library) for library in libraries_for(subject)) else None


def is_of_codes(subject: Subject) -> bool:
    """Return True for a method of a tokenizer that encodes or decodes by the state of its instance, whose form may be any: it is right or nothing."""
    is_method = "." in subject.name and hasattr(subject.value, "__wrapped__")
    return is_method and fitting(subject.short_name)[0][:1] in (("bpe_encode",), ("bpe_decode",))


def is_more_than(subject: Subject, name: str) -> bool:
    """Return True for a subject of a part's name that contains the part: a norm around a layer, one of several layers, a classifier with a feed-forward."""
    if any(map(is_other_layer, parsed(subject.own_source).body)):
        return True
    if name in NORMS:
        return re.search(AROUND_A_LAYER, subject.code) is not None
    if name in OF_MODELS and inspect.isclass(subject.value):
        return re.search(CLASSIFIER_OF_TEXTS, subject.own_source) is not None
    is_classifier = name == "feed_forward" and re.search(CLASSIFIER, subject.own_source) is not None
    return is_classifier and correct_as_is(subject, exercise(name)) is None


def _source_of_positions(subject: Subject) -> str:
    """Return the source that computes positions: for a function with that of the functions it calls."""
    return subject.used_source if inspect.isfunction(subject.value) else subject.code


def _body(subject: Subject) -> str:
    """Return the code of a function without its head and its docstring."""
    return re.sub(rf"^\s*[rf]?({DOCSTRING})", "", subject.code.partition(":\n")[2], count=1)


def _takes_three(subject: Subject) -> bool:
    """Return True for a function of a query, a key and a value, which are projected elsewhere."""
    names = " ".join(each.name.lower() for each in subject.parameters if each.default is each.empty)
    return (
        inspect.isfunction(subject.value)
        and re.fullmatch(r"q\w* k\w* v\w*( (\w+_)?mask(_[a-z]{2,4})?)?( d_?k| dim| head_dim)?", names) is not None
    )


def _splits_three(subject: Subject) -> bool:
    """Return True for a function of a query, a key and a value of all heads together, and of the number of heads."""
    needed = " ".join(each.name.lower() for each in subject.parameters if each.default is each.empty)
    return inspect.isfunction(subject.value) and re.match(r"q\w* k\w* v\w* (\w+_)?((n|num)_?)?heads?\b", needed) is not None


def _samples_in_a_loop(subject: Subject) -> bool:
    """Return True for a function that takes a model and a number of tokens, and calls the model as often: `sample(model, x, steps)`."""
    names = [each.name for each in subject.parameters]
    counts = re.findall(r"\bfor \w+ in (?:\w+\()?range\((\w+)\)", subject.code)
    return inspect.isfunction(subject.value) and any(each in MODELS for each in names) and any(each in names for each in counts)


def _sees_one_token(subject: Subject) -> bool:
    """Return True for the generation of a bigram model, which gives its model the last token alone, as it may."""
    is_of_pairs = re.search("bigram", subject.name, re.IGNORECASE) is not None
    return is_of_pairs and {cause.name for cause in diagnose(subject, exercise("generate")).causes} == {"only_last_token_given"}


def _is_switched(subject: Subject, cross: Exercise) -> bool:
    """Return True for a class with a flag for cross-attention that is off by default: without it, it is another part."""
    flag = next(role for role in cross.roles if role.name == "is_cross")
    taken = (*subject.parameters, *call_operands(subject)) if inspect.isclass(subject.value) else ()
    return any(each.default is False and fits_name(each.name, flag) for each in taken)


def _is_grouped(subject: Subject, names: Collection[str]) -> bool:
    """Return True for a class with a number of key-value heads that is judged as grouped-query attention: as another part it has no groups.

    names   exercises that its name means
    """
    may_be = {*names, *(other for name in names for other in PARTS_OF_CLASSES.get(name, ()))}
    if not (inspect.isclass(subject.value) and GROUPED in may_be and re.search(OF_GROUPS, subject.own_source, re.IGNORECASE)):
        return False
    grouped = exercise(GROUPED)
    return diagnose(subject, grouped).status in ("correct", "wrong") or closeness(subject, grouped) >= UNDERSTOOD


def most_plausible(subject: Subject, likely: Sequence[Exercise], possible: Sequence[Exercise]) -> Exercise | None:
    """Return the first exercise that the name means and whose outputs are close; else the one that is correct; else the closest.

    A mistake in one exercise may be correct as another: a causal attention without its mask is a plain one. Hence the others count
    only if the subject cannot be understood as the first.
    """
    best, most = None if subject.is_private or not likely else _likeliest(subject, likely), 0.0
    for each in (*likely, *possible):
        try:
            close = closeness(subject, each)
        except Exception:  # reported when the subject is judged
            close = 0.0
        if (each in likely and close >= UNDERSTOOD) or (close > 0 and correct_as_is(subject, each) is not None):
            return each
        if close > most and (close >= UNDERSTOOD or (each in likely and not subject.is_private)):
            best, most = each, close
    if best is not None and best in likely and not most and not trials_of(subject, best):
        return next((each for each in possible if _is_explained(subject, each)), best)
    return best


def _is_explained(subject: Subject, exercise: Exercise) -> bool:
    """Return True if a known mistake explains the outputs of a subject, where the part that its name means cannot even be called."""
    try:
        verdict = diagnose(subject, exercise)
    except Exception:  # reported when the subject is judged
        return False
    return verdict.status == "wrong" and bool(verdict.causes)


def _likeliest(subject: Subject, likely: Sequence[Exercise]) -> Exercise:
    """Return the first part, or for a class with sublayers the first that has weights."""
    is_module = inspect.isclass(subject.value) and module_library(subject.value) is not None
    has_layers = is_module and re.search(r"self\.\w+ = .*\(", subject.own_source) is not None
    return next((each for each in likely if has_layers and any(role.is_weight for role in each.roles)), likely[0])


def closeness(subject: Subject, exercise: Exercise) -> float:
    """Return the similarity of a subject's outputs to an exercise's: 1 for equal outputs, near 0 for other shapes, 0 for none.

    Of a subject that is right under some convention, the others are not looked at if that one is close enough.
    """
    found = trials_of(subject, exercise)
    most = max((len(trial.probes) for trial in found), default=0)
    for right in filter(Trial.matches_without_refused, found):
        share = _share(right.without_refused(), most)
        if share >= UNDERSTOOD:
            return share
    trials = [trial.without_refused() for trial in found]
    most = max((len(trial.probes) for trial in trials), default=0)
    return max((_share(trial, most) for trial in trials), default=0.0)


def _share(trial: Trial, most: int) -> float:
    """Return the similarity of a trial's outputs to the exercise's, as a share of that of `most` right ones."""
    returned = [pair for pair in zip(trial.probes, trial.answers, strict=True) if not isinstance(pair[1], Raised)]
    shaped = sum(getattr(answer, "shape", None) == getattr(trial.expected(probe), "shape", None) for probe, answer in returned)
    return (trial.num_matching() + 0.3 * shaped + 0.1 * len(returned)) / (1.4 * (most or 1))


OF_ATTENTION = (
    r"(?is)\A(?=.*self\.\w*(?<![a-z])w?_?q(uer(y|ies))?(_\w+)? *[=,])(?=.*self\.\w*(?<![a-z])w?_?k(eys?)?(_\w+)? *[=,])"
    r"(?=.*self\.\w*(?<![a-z])w?_?v(alues?)?(_\w+)? *[=,]).*softmax\("
)
"""Pattern of the source of a class with a layer each for queries, keys and values, and a softmax."""

FORMS = (
    (r"(?i)embed|(?<![a-z])(emb|wte)(?![a-z])", ("learned_positions", "positioned_embedding", "gpt2")),
    (
        r"(?is)\A(?=.*self\.(\w*(att|mh?sa|mha)\w*|sa(\w|_\w+)?) *=)(?=.*self\.\w*(ff|mlp|feed|moe|experts|intermediate)\w* *=)",
        ("transformer_block", "encoder_layer", "decoder_layer"),
    ),
    (
        r"(?is)\A(?!.*(decoder|generat|causal|language|gpt|lm\b|lm_|Linear\([^)]*vocab))(?=.*self\.\w*embed\w* *=)(?=.*self\.\w*encoder *=)",
        ("encoder_stack",),
    ),
    (OF_TWO_LAYERS, ("feed_forward", "gated_feed_forward")),
    (OF_ATTENTION, ("causal_self_attention", "multi_head_attention", "self_attention")),
)
"""Patterns of the source of classes of any name, and the parts that they may be: what embeds token ids; what has an attention and a
feed-forward; what has embeddings and an encoder, and no output layer of a language model; what has two linear layers and an activation;
what projects to queries, keys and values."""

JOINS_A_PAIR = r"(?s)\Adef \w+\([^)]*pair[^)]*\).*\bappend\(.*\+= *2\b"
"""Pattern of the source of a function that joins a pair in a list."""

FORMS_OF_FUNCTIONS = (
    (r"(?is)\A(?=.*\b(params|weights|p|w)\b)(?=.*\b\w*(emb|wte)\w*(['\"]\])?\[)", ("gpt2",)),
    (r"(?is)\A(?=.*\b\w*(att|mh?sa|mha)\w*\()(?=.*\b\w*(ff|mlp|feed)\w*\()", ("transformer_block", "encoder_layer")),
    (JOINS_A_PAIR, ("merge_pair",)),
    (r"zip\((\w+)(\[0?:(-1)?\])?, *\1\[1:\]\)", ("pair_counts",)),
    (r"(?s)\bfor (\w+) in .*\b\1(\.data)? *-= [^\n]*\b\1\.grad\b", ("sgd_optimizer",)),
)
"""The same for functions: what looks rows up in a table of its weights; what calls an attention and a feed-forward; what joins a pair in a list;
what goes through adjacent tokens; what subtracts from all parameters what they hold as their gradients."""


def as_form(subject: Subject) -> Exercise | None:
    """Return the exercise of a subject of any name whose source has the form of a part, if it is correct: a name that says nothing accuses nobody."""
    forms = FORMS if inspect.isclass(subject.value) else FORMS_OF_FUNCTIONS
    names = [name for pattern, group in forms if re.search(pattern, subject.own_source) for name in group]
    return first_correct(subject, names)


OF_LINEAR = r"(?i)generator|linear_?norm|conv_?1d|un_?embed(ding)?|lm_?head|(output_?)?projection(_?layer)?|output_?(layer|head)"
"""Pattern of the names of classes that may be linear layers: GPT-2's `Conv1D`, and `LinearNorm`, whose norm is that of its initial weights."""

OF_RESIDUAL = r"(?i)(with_?)?residual(_?wrapper)?"
"""Pattern of the names of classes that may add their input to the output of a layer that they are given."""


OF_FLASH = r"(?i)(causal_?|my_?)?flash_?((multi_?)?head_?|self_?|causal_?)*att(entio)?n(_?v?\d)?"
"""Pattern of the names of classes of attention that computes one block of keys after another."""

OF_EXPERT = r"(?i)\w*expert(_?(ffn|mlp|layer|net(work)?))?\d*"
"""Pattern of the names of classes of one expert of a mixture."""

OF_DESCENT = r"(?i)(vanilla|stochastic|((full|mini)_?)?batch)_?gd(_?optimi[sz]er)?"
"""Pattern of the names of optimizers that may be plain gradient descent."""

OF_KEYS_AND_VALUES = r"\w*KV|\w*KV(Store|Buffer|Memory|State)"
"""Pattern of the names of classes that may keep the keys and values of earlier positions."""

OF_SMOOTHING = r"(?i)label_?smooth(ing|ed)?(_?(cross_?entropy|ce|loss|criterion))*|smooth(ed)?_?(label_?)?(cross_?entropy|ce)(_?loss)?"
"""Pattern of the names of losses whose targets are smoothed."""

OF_LOOP = r"(?i)((mini_?batch|stochastic|batch)_?)?(sgd|gd|gradient_?descent)(_?(optimi[sz]er|loop))?"
"""Pattern of the names of functions that may run gradient descent."""

LOSS_IF_CORRECT = ((OF_SMOOTHING, ("cross_entropy",)),)
FUNCTIONS_IF_CORRECT = (*LOSS_IF_CORRECT, (OF_LOOP, ("gradient_descent",)))
MEANT_IF_CORRECT = (
    *LOSS_IF_CORRECT,
    (OF_LINEAR, ("linear",)),
    (OF_RESIDUAL, ("residual",)),
    (OF_FLASH, ("causal_self_attention", "multi_head_attention")),
    (OF_EXPERT, ("gated_feed_forward", "feed_forward")),
    (OF_DESCENT, ("sgd_optimizer",)),
    (OF_KEYS_AND_VALUES, ("kv_cache",)),
)


def as_correct(subject: Subject) -> Exercise | None:
    """Return the first exercise that the name of a class may mean as which it is correct, such as linear layers, residual connections, experts.

    The name of a function may mean a loss, or a descent.
    """
    meant = MEANT_IF_CORRECT if inspect.isclass(subject.value) else FUNCTIONS_IF_CORRECT
    return first_correct(subject, [part for pattern, parts in meant if re.fullmatch(pattern, subject.short_name) for part in parts])


def as_tokenizer(subject: Subject) -> Exercise | None:
    """Return the exercise of tokenizers for a class of any name that encodes and decodes by merges, or byte pairs if it is correct."""
    if not inspect.isclass(subject.value) or not re.search(OF_BYTE_PAIRS, subject.own_source, re.IGNORECASE):
        return None
    if not (first_method(subject.value, ENCODING) and first_method(subject.value, DECODING)):
        return None
    return exercise("bpe_tokenizer") if "merge" in subject.own_source else first_correct(subject, ("bpe_tokenizer",))


def parts_if_correct(subject: Subject) -> list[str]:
    """Return the parts that a subject is taken for, by its name or by the name and its source, only if it is correct as one of them.

    Those of which many variants have the same name, such as masks and losses, are left out.
    """
    name = subject.short_name
    if re.search(SCHEDULER, name) and re.search(OF_WIDTH, subject.own_source):
        return ["noam_schedule"]
    if re.search(OF_RATES, name):
        return ["cosine_schedule" if re.search(r"\bcos\(", subject.own_source) else "linear_schedule"]
    if is_of_codes(subject):
        return [*fitting(name)[0][:1]]
    return ["residual"] if inspect.isclass(subject.value) and re.fullmatch(OF_RESIDUAL, name) else []


def by_outputs(subject: Subject) -> Exercise | None:
    """Return the exercise whose operand names match the parameters and whose outputs are correct, or None."""
    names = [parameter.name.lower().strip("_") for parameter in subject.parameters]
    for each in exercises() if len(names) > 1 else ():
        called = {*(role.name for role in each.roles), *(name for role in each.roles for name in role.called)}
        if not (called.issuperset(names) and any(trials_that_begin_right(subject, each))):
            continue
        verdict = diagnose(subject, each)
        if verdict.is_correct and not (verdict.trial is not None and _changes_nothing(verdict.trial)):
            return each
    return None


def _changes_nothing(trial: Trial) -> bool:
    """Return True if every output is an operand: as a distribution that is not changed, or as a mask of what it is given, it would be right under any name."""

    def is_given(inputs: Inputs, returned: Any) -> bool:
        if isinstance(returned, Raised):  # it takes its operands in another form
            return False
        try:
            shape = numpy.shape(returned)
        except ValueError:  # several results of different shapes
            return False
        same = [each for each in inputs.values() if numpy.shape(each) == shape]
        return any(numpy.allclose(each, returned, atol=1e-5) for each in same)

    return all(is_given(probe.inputs, trial.call(probe.inputs)) for probe in trial.probes)
