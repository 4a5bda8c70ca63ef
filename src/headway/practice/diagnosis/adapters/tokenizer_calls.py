"""Calls of a learner's BPE tokenizer: a class that is trained, or constructed from a vocabulary and merges, and encodes and decodes."""

from __future__ import annotations

import inspect
import itertools
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from headway import files
from headway.practice.diagnosis.calls.binding import Binding, bind_parameters, fits_name
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.reading.methods import DECODING, ENCODING, TRAINING
from headway.practice.diagnosis.reading.subject import Subject, first_method, is_learners, parameters_of
from headway.practice.exercise import Exercise, Inputs, Role
from headway.practice.message import CallError
from headway.practice.recipes.byte_pairs import in_ids, ranks, to_alphabet, vocabulary
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("diagnosis")

CORPUS = Role(
    "corpus",
    ("text", "texts", "data", "training_text", "docs", "documents", "lines", "input_text", "train_text", "string", "text_corpus", "s"),
)
WORDS = Role("words", ("word_list",))
PATH = Role("path", ("input_path", *Roles("bpe_train").called("input_path")))
VOCAB_SIZE = Role("vocab_size", ("size", "target_vocab_size", "n_vocab", "vocabulary_size", "max_vocab_size", "num_tokens"))
MERGED_TOKENS = tuple(f"{most}{kind}" for most in ("max_", "num_", "n_", "max_num_") for kind in ("merged_tokens", "merges", "new_tokens"))
"""Names of the number of tokens that a training adds."""

NUM_MERGES = Role(
    "num_merges", ("n_merges", "merges", "k", "num_iters", "max_merges", "iterations", "num_iterations", "steps", "n_iter", *MERGED_TOKENS)
)
VOCAB = Role("vocab", ("vocabulary", "encoder", "token_to_id", "id_to_token", "itos", "stoi", "vocab_dict", "id2token", "token2id"))
MERGES = Role("merges", ("bpe_merges", "merge_rules", "bpe_ranks", "mergeable_ranks", "rules", "merge_ranks", "merge_list"))
VOCAB_PATH = Role("vocab_path", ("vocab_file", "vocab_json", "vocab_filepath", "vocab_json_path", "encoder_path", "vocabulary_path"))
MERGES_PATH = Role(
    "merges_path", ("merges_file", "merge_file", "merges_txt", "merges_filepath", "merges_txt_path", "merge_path", "bpe_path")
)
NAME = Role("name", ("tokenizer_id", "tokenizer_name", "model_name", "model_id", "version"))
FEWEST = Role(
    "min_frequency", ("min_freq", "min_count", "min_pair_frequency", "min_pair_freq", "min_merge_frequency", "frequency_threshold")
)
SPECIAL = Role("special_tokens", ("specials", "special_toks", "allowed_special"), neutral=None)

SPECIAL_IDS = Role(
    "special_token_ids",
    ("special_token_map", "special_tokens_map", "special_token_dict", "special_tokens_dict", "special_token_to_id", "special_to_id"),
)


def _texts(token: bytes) -> str:
    return token.decode("latin-1")


def _in_text(merges: Sequence[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [(_texts(first), _texts(second)) for first, second in merges]


GIVEN = {
    "bytes by id": lambda merges, extra: ({**vocabulary(merges), **{place: token for token, place in extra.items()}}, list(merges)),
    "ids by bytes": lambda merges, extra: ({**ranks(merges), **extra}, list(merges)),
    "ids by text": lambda merges, extra: ({_texts(t): i for t, i in {**ranks(merges), **extra}.items()}, _in_text(merges)),
    "ids by text, ranks": lambda merges, extra: (
        {_texts(t): i for t, i in {**ranks(merges), **extra}.items()},
        {pair: place for place, pair in enumerate(_in_text(merges))},
    ),
    "ids by GPT-2's characters": lambda merges, extra: (
        {**{to_alphabet(t): i for t, i in ranks(merges).items()}, **{t.decode(): i for t, i in extra.items()}},
        [tuple(map(to_alphabet, pair)) for pair in merges],
    ),
    "bytes by id, merges of ids": lambda merges, extra: (
        {**vocabulary(merges), **{place: token for token, place in extra.items()}},
        in_ids(merges),
    ),
    "bytes by id, ranks": lambda merges, extra: (
        {**vocabulary(merges), **{place: token for token, place in extra.items()}},
        {tuple(pair): place for place, pair in enumerate(merges)},
    ),
    "texts by id": lambda merges, extra: (
        {place: _texts(token) for token, place in {**ranks(merges), **extra}.items()},
        _in_text(merges),
    ),
    "texts in order, merges with their results": lambda merges, extra: (
        [*map(_texts, [*ranks(merges), *extra]), END_OF_WORD],
        [(first, second, first + second) for first, second in _in_text(merges)],
    ),
}
"""Forms in which vocabulary and merges are passed."""

IN_FILES = {
    "files of texts": lambda merges: [f"{' '.join(map(to_alphabet, pair))}" for pair in merges],
    "files of ids": lambda merges: [f"{first} {second}" for first, second in in_ids(merges)],
}
"""Lines of a file of merges; next to it, a JSON file has the ids of the tokens, which are written in GPT-2's characters."""

OWN_SPECIAL = "bytes and own special tokens"
WITH_SPACE, WITH_MARK, WITH_NAMED = "bytes and a mark of spaces", "characters and a mark", "characters and tokens named in the source"
SIZES = {
    "bytes": lambda corpus: 256,
    "characters": lambda corpus: len(set(corpus)),
    OWN_SPECIAL: lambda corpus: 256,
    WITH_SPACE: lambda corpus: 257,
    WITH_MARK: lambda corpus: len(set(corpus)) + 1,
    WITH_NAMED: lambda corpus: len(set(corpus)),
}
"""Number of tokens before the first merge, without the special tokens that an instance has from its constructor or that its source names."""

ROOM = 64
"""Number of tokens by which a vocabulary is larger while the special tokens of a tokenizer are counted."""

BYTES = {bytes([byte]) for byte in range(256)}

END_OF_WORD = "</w>"
END_MARK = rf"b?['\"]{END_OF_WORD}['\"]"
"""Pattern of the source of a tokenizer that marks the ends of words, which are all that it keeps of spaces."""
NAMED = r"['\"](</?\w+>|<\|\w+\|>|\[[A-Z]{3,4}\])['\"]"
"""Pattern of a special token in the source of a tokenizer: the mark at the end of a word, an unknown character."""

GUESSED = {WITH_SPACE: "Ġ", WITH_MARK: END_MARK, WITH_NAMED: NAMED}
"""Patterns of the sources that may mean these sizes; one that does not suit would be taken for a round too many or too few."""

UNITS = r"(?i)list\[list\[int\]\]"
"""Pattern of the annotation of several texts that are passed as numbers."""

TOKENS, TO_BYTES = r"(token_?|byte_?)?ids|tokens|bytes_?(list|seq(uence)?)?", r"\.encode\(|\bbytes\(|\bbytearray\("
"""Patterns of the name of a corpus that is a list of numbers, and of the source of a method that makes such a list of a text."""

HELD = (VOCAB, MERGES, SPECIAL, SPECIAL_IDS, VOCAB_PATH, MERGES_PATH, NAME)
"""Operands of the constructor of a tokenizer that is not trained."""

TRAINED = (CORPUS, WORDS, PATH, VOCAB_SIZE, NUM_MERGES, FEWEST, SPECIAL)
"""Operands of a method that trains a tokenizer."""

UNKNOWN = r"(?i)<\|?unk(nown)?\|?>|\[unk\]"
"""Pattern of the token in place of characters that a tokenizer was not trained on."""

ADDS_TOKENS = r"((add|append|prepend|include|with|use)_?)?(special|bos|eos|sos|cls|sep)(_?tokens?)?"
"""Pattern of the names of flags for special tokens around a text."""

TYPES = r"\b(?:int|bytes|str)\b"
"""Names of types in an annotation of a vocabulary or of merges."""

SEVERAL = r"texts|docs|documents|lines|corpora|sentences"
"""Name of a corpus that is a list of texts."""


@dataclass
class TokenizerCall(Call):
    """A learner's tokenizer; the output is the text of every token, and the text decoded from all of them.

    given       form of vocabulary and merges, a key of GIVEN or IN_FILES; None for a tokenizer that is trained
    base        number of tokens before the first merge, a key of SIZES
    is_listed   True if the corpus is passed as a list of texts
    """

    given: str | None = None
    base: str = "bytes"
    is_listed: bool = False

    @property
    def parameters(self) -> Sequence[inspect.Parameter]:
        """Return one parameter per role, independent of the learner's own."""
        return [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=inspect.Parameter.empty if name == "text" else None)
            for name in self.binding.role_of
        ]

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Construct the tokenizer, train it if it is to be trained, encode the text and decode the tokens."""
        with tempfile.TemporaryDirectory() as folder:
            tokenizer, learned = self._made(arguments, Path(folder))
        encode, decode = (
            _as_called(getattr(tokenizer, first_method(self.subject.value, names)), learned) for names in (ENCODING, DECODING)
        )
        text = arguments["text"]
        numbers = _ids_in(encode([list(text.encode())])[0] if self.takes_units else encode(text))
        tokens = list(numbers.tolist() if hasattr(numbers, "tolist") else numbers)

        def text_of(tokens: list[Any]) -> Any:
            """Return a decoded text, without the space in place of the mark at its end."""
            found = bytes(decode([tokens])[0]) if self.takes_units else decode([*tokens])  # which it may change
            found = _as_text(found)
            return found.rstrip(" ") if self.marks_words and isinstance(found, str) else found

        decoded = text_of(tokens)
        if isinstance(decoded, str) and (unknown := re.search(UNKNOWN, decoded)) is not None and unknown[0] not in text:
            raise CallError(TEXTS["unknown_token"].format(token=unknown[0]))
        if not text.isascii():  # a token may be a part of a character
            return (decoded,)
        parts = [text_of([token]) for token in tokens]
        if self.given and self.marks_words and not any(parts[-1:]):  # the marks are tokens of their own, in place of the spaces
            parts = [part or " " for part in parts[:-1]]
        return (*(part for part in parts if part or not self.marks_words), decoded)

    def trained(self, inputs: Inputs) -> Any:
        """Return an instance that is trained on the corpus of some inputs."""
        with tempfile.TemporaryDirectory() as folder:
            return self._made(self.arguments(inputs), Path(folder))[0]

    @cached_property
    def marks_words(self) -> bool:
        """True for a tokenizer that marks the ends of words; the mark may be a token of its own."""
        return re.search(END_MARK, self.subject.code) is not None

    @cached_property
    def takes_units(self) -> bool:
        """True for a tokenizer whose texts are lists of numbers, several at once."""
        method = first_method(self.subject.value, ENCODING)
        return bool(method) and any(
            re.search(UNITS, str(each.annotation)) for each in parameters_of(getattr(self.subject.value, method), is_bound=True)[:1]
        )

    @cached_property
    def is_trained_on_bytes(self) -> bool:
        """True for a tokenizer whose training takes the numbers of bytes that its encoding makes of a text: `fit(tokens)`."""
        methods = [first_method(self.subject.value, names) for names in (TRAINING, ENCODING)]
        if not all(methods):
            return False
        train, encode = (getattr(self.subject.value, name) for name in methods)
        is_of_tokens = any(re.fullmatch(TOKENS, each.name) for each in parameters_of(train, is_bound=True)[:1])
        return is_of_tokens and [re.search(TO_BYTES, inspect.getsource(each)) is not None for each in (train, encode)] == [False, True]

    def _as_units(self, text: str) -> Any:
        return list(text.encode()) if self.takes_units or self.is_trained_on_bytes else text

    @property
    def _taken(self) -> set[str]:
        """Return the roles that constructor and training method take."""
        method = first_method(self.subject.value, TRAINING)
        every = [*self.subject.parameters, *(parameters_of(getattr(self.subject.value, method), is_bound=True) if method else [])]
        return {role.name for each in every for role in (CORPUS, PATH) if fits_name(each.name, role)}

    def _made(self, arguments: Mapping[str, Any], folder: Path) -> tuple[Any, Any]:
        """Return the tokenizer, and what its training returns: its merges, if it keeps none."""
        value, known = self.subject.value, self._known(arguments, folder) | {NAME.name: "tokenizer"}
        method = first_method(value, TRAINING)
        if not self.given and _makes_instances(value, method):
            return self._trained(getattr(value, method), parameters_of(getattr(value, method)), TRAINED, known), None
        roles = HELD if self.given else (VOCAB_SIZE, NUM_MERGES, FEWEST, SPECIAL, CORPUS, WORDS, PATH, NAME)
        parameters = constructor_parameters(self.subject)
        if not self.given:  # what training learns may be given instead
            parameters = [
                each for each in parameters if not (each.default is None and any(fits_name(each.name, role) for role in (VOCAB, MERGES)))
            ]
        constructor = bind_parameters(parameters, roles)
        if constructor is None:
            raise CallError(TEXTS["constructor_has_required_parameters_recognised"])
        if _needs_special(self.subject.parameters, constructor):
            known[SPECIAL.name] = known.get(SPECIAL.name) or []
        given = {name: role.name for name, role in constructor.role_of.items() if known.get(role.name) is not None}
        room = ROOM if self.base == OWN_SPECIAL and "vocab_size" in given.values() else 0
        sized = known | {"vocab_size": known.get("vocab_size", 0) + room}
        tokenizer = value(**_packed(self.subject, {name: sized[role] for name, role in given.items()}))
        if self.base == OWN_SPECIAL:
            known["vocab_size"] += _num_special(tokenizer)
        if room:
            tokenizer = value(**{name: known[role] for name, role in given.items()})
        if self.given or not method:
            return tokenizer, None
        rest = [role for role in TRAINED if role is SPECIAL or not constructor.takes(role.name)]
        return tokenizer, self._trained(getattr(tokenizer, method), parameters_of(getattr(value, method), is_bound=True), rest, known)

    def _trained(self, train: Callable[..., Any], taken: Sequence[inspect.Parameter], roles: Sequence[Role], known: dict[str, Any]) -> Any:
        """Return what a training method returns for the operands that it takes."""
        bound = bind_parameters(taken, roles)
        if bound is None:
            raise CallError(TEXTS["method_has_unknown_parameters"].format(method=train.__name__))
        if _needs_special(taken, bound):
            known[SPECIAL.name] = known.get(SPECIAL.name) or []
        given = {name: role.name for name, role in bound.role_of.items() if known.get(role.name) is not None}
        try:
            return train(**{name: known[role] for name, role in given.items()})
        except OSError as error:  # it takes the name of a file under the name of a text
            if not isinstance(error.filename, str) or error.filename != known["corpus"]:
                raise
            files.write_text(Path(known["path"]), known["corpus"])
            return train(**{name: known["path" if role == CORPUS.name else role] for name, role in given.items()})

    def _known(self, arguments: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        specials = arguments.get("special_tokens")
        if self.given in IN_FILES:
            merges, paths = [tuple(pair) for pair in arguments["merges"]], (folder / "vocab.json", folder / "merges.txt")
            files.write_text(paths[0], json.dumps({to_alphabet(token): place for token, place in ranks(merges).items()}))
            files.write_text(paths[1], "".join(f"{line}\n" for line in IN_FILES[self.given](merges)))
            return {"vocab_path": str(paths[0]), "merges_path": str(paths[1])}
        if self.given:
            merges = [tuple(pair) for pair in arguments["merges"]]
            extra = {token.encode(): 256 + len(merges) + place for place, token in enumerate(specials or ())}
            vocab, merges_given = GIVEN[self.given](merges, extra)
            ids = {token.decode(): place for token, place in extra.items()}
            return {"vocab": vocab, "merges": merges_given, "special_tokens": specials, "special_token_ids": ids}
        corpus, count = arguments["corpus"], arguments["num_merges"]
        path = folder / "corpus.txt"
        if PATH.name in self._taken:
            with files.replacing(path) as temporary:
                temporary.write_text(corpus, encoding="utf-8")
        named = set(re.findall(NAMED, self.subject.code)) if self.base == WITH_NAMED else ()
        size = SIZES[self.base](corpus) + len(named) + count
        listed = [self._as_units(corpus)] if self.is_listed else list(corpus.encode()) if self.is_trained_on_bytes else corpus
        return {
            "corpus": listed,
            "words": corpus.split(),
            "path": str(path),
            "vocab_size": size,
            "num_merges": count,
            "min_frequency": 1,
            "special_tokens": specials,
        }


def _num_special(tokenizer: Any) -> int:
    """Return the number of the special tokens of a new tokenizer: those that it lists, or those in its vocabulary in addition to the bytes."""
    tables = [each for each in getattr(tokenizer, "__dict__", {}).values() if isinstance(each, dict)]
    beyond = [len(each) - len(BYTES) for each in tables if any(map(BYTES.issubset, (each, filter(_is_bytes, each.values()))))]
    return max(len(getattr(tokenizer, "special_tokens", None) or ()), *beyond, 0)


def _is_bytes(token: Any) -> bool:
    return isinstance(token, bytes)


def _makes_instances(value: Any, method: str) -> bool:
    """Return True for a training method of the class itself, which returns a tokenizer."""
    return (
        bool(method)
        and isinstance(inspect.getattr_static(value, method), classmethod)
        and "cls(" in inspect.getsource(getattr(value, method))
    )


def _holders(subject: Subject) -> dict[str, Any]:
    """Return the classes of a vocabulary and merges alone that a constructor takes, by its parameters: `params: BPETokenizerParams`."""
    kinds = {
        each.name: getattr(subject.module, each.annotation, None) if isinstance(each.annotation, str) else each.annotation
        for each in subject.parameters
    }
    return {name: kind for name, kind in kinds.items() if inspect.isclass(kind) and is_learners(kind.__module__) and _holds_both(kind)}


def _holds_both(kind: Any) -> bool:
    names = [each.name for each in parameters_of(kind)]
    return len(names) == 2 and all(any(fits_name(name, role) for name in names) for role in (VOCAB, MERGES))


def constructor_parameters(subject: Subject) -> list[inspect.Parameter]:
    """Return the parameters of a tokenizer's constructor, with those of a class of vocabulary and merges in its place."""
    holders, found = _holders(subject), list[inspect.Parameter]()
    for each in subject.parameters:
        held = parameters_of(holders[each.name]) if each.name in holders else ()
        found += [inner.replace(kind=each.KEYWORD_ONLY) for inner in held] or [each]
    return found


def _packed(subject: Subject, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with those of a class of vocabulary and merges in one object."""
    found = dict(given)
    for name, kind in _holders(subject).items():
        found[name] = kind(**{each.name: found.pop(each.name) for each in parameters_of(kind)})
    return found


def _as_called(method: Callable[..., Any], learned: Any) -> Callable[..., Any]:
    """Return a method that takes a text or tokens alone.

    It adds no special tokens; merges and a vocabulary that it needs as well are those which training returned.
    """
    others = parameters_of(method)[1:]
    given: dict[str, Any] = {each.name: False for each in others if isinstance(each.default, bool) and re.fullmatch(ADDS_TOKENS, each.name)}
    required = [each for each in others if each.default is each.empty]
    merges = next((each for each in (learned if isinstance(learned, tuple) else (learned,)) if isinstance(each, Mapping)), None)
    if required and merges is not None and all(isinstance(pair, tuple) and isinstance(token, int) for pair, token in merges.items()):
        vocab = {token: bytes([token]) for token in range(256)}
        for (first, second), token in merges.items():
            vocab[token] = vocab[first] + vocab[second]
        given |= {each.name: vocab if fits_name(each.name, VOCAB) else merges for each in required}
    return partial(method, **given) if given else method


def _needs_special(parameters: Sequence[inspect.Parameter], binding: Binding) -> bool:
    """Return True if special tokens are required, which may be none."""
    return any(each.default is each.empty and binding.role_of.get(each.name) is SPECIAL for each in parameters)


def _has_own(parameter: inspect.Parameter) -> bool:
    """Return True for a parameter with special tokens of the learner's as its default, which the tokenizer may rely on."""
    return isinstance(parameter.default, dict | list | tuple) and bool(parameter.default)


def _ids_in(encoded: Any) -> Any:
    """Return the ids of an encoding that gives the texts of the tokens, too: ("a", "b"), (97, 98), or the ids first."""
    match encoded:
        case ([str() | bytes(), *_] as texts, [int(), *_] as ids) | ([int(), *_] as ids, [str() | bytes(), *_] as texts) if len(
            texts
        ) == len(ids):
            return ids
        case ([], []):
            return []
    return encoded


def _as_text(decoded: Any) -> Any:
    """Return decoded text; bytes and lists of texts are joined."""
    if isinstance(decoded, bytes | bytearray):
        return bytes(decoded).decode("utf-8", errors="replace")
    if isinstance(decoded, list | tuple) and all(isinstance(part, str) for part in decoded):
        return "".join(decoded)
    return as_numbers(decoded)


def _annotated(subject: Subject) -> list[str]:
    """Return the forms of vocabulary and merges that suit the annotations of a constructor; all of them if none does."""
    known = {role: next((each for each in constructor_parameters(subject) if fits_name(each.name, role)), None) for role in (VOCAB, MERGES)}
    words = {role: set(re.findall(TYPES, str(each.annotation))) for role, each in known.items() if each is not None}
    suiting = [form for form in GIVEN if all(not named or named == _types_of(form)[role.name] for role, named in words.items())]
    return suiting or [*GIVEN]


def _types_of(form: str) -> dict[str, set[str]]:
    """Return the names of the types in a vocabulary and in merges of a form."""
    vocab, merges = GIVEN[form]([(b"a", b"b")], {})
    places = {"int"} if isinstance(merges, Mapping) else set()
    return {
        "vocab": {type(each).__name__ for entry in (vocab.items() if isinstance(vocab, Mapping) else zip(vocab)) for each in entry},
        "merges": {type(each).__name__ for pair in merges for each in pair} | places,
    }


def tokenizer_calls(subject: Subject, exercise: Exercise, library: str) -> list[Call]:
    """Return the ways to call a tokenizer: one per form of its vocabulary and merges, or of its corpus and size.

    A function of the roles, such as the definition, is called directly.
    """
    roles = {role.name: role for role in exercise.roles}
    if not inspect.isclass(subject.value):
        names = [each.name for each in subject.parameters]
        return (
            [Call(subject, Binding({name: roles[name] for name in names}), library)] if "text" in names and set(names) <= set(roles) else []
        )
    if not (first_method(subject.value, ENCODING) and first_method(subject.value, DECODING)):
        return []
    parameters = constructor_parameters(subject)
    required = bind_parameters(parameters, HELD, unnamed=())
    takes_special = any(fits_name(each.name, role) and not _has_own(each) for each in subject.parameters for role in (SPECIAL, SPECIAL_IDS))
    special = ("special_tokens",) if takes_special else ()
    if required is not None and (required.takes("merges") or required.takes("merges_path")):
        binding = Binding({name: roles[name] for name in ("text", "merges", *special)})
        forms = _annotated(subject) if required.takes("merges") else [*IN_FILES]
        calls: list[Call] = [TokenizerCall(subject, binding, library, given=form) for form in forms]
        needed = {each.name for each in parameters if each.default is each.empty}
        return calls if needed & {*required.role_of} else [*calls, *_trained_calls(subject, roles, library)]
    return _trained_calls(subject, roles, library)


def _trained_calls(subject: Subject, roles: Mapping[str, Role], library: str) -> list[Call]:
    """Return the ways to call a tokenizer that a method trains, or its constructor: one per number of tokens before the first merge."""
    trains, constructor = first_method(subject.value, TRAINING), subject.parameters
    if not (trains or any(fits_name(each.name, role) for each in constructor for role in (CORPUS, WORDS, PATH))):
        return []
    binding = Binding({name: roles[name] for name in ("text", "corpus", "num_merges")})
    return [
        TokenizerCall(subject, binding, library, base=base, is_listed=is_listed, is_guessed=base in GUESSED)
        for base, is_listed in bases_and_forms(subject)
    ]


def bases_and_forms(subject: Subject) -> Iterator[tuple[str, bool]]:
    """Yield the keys of SIZES that a tokenizer's source may mean, each with whether the corpus may be a list of texts."""
    method = first_method(subject.value, TRAINING)
    parameters = [*subject.parameters, *(parameters_of(getattr(subject.value, method), is_bound=True) if method else [])]
    is_list = any(re.fullmatch(SEVERAL, each.name.lower()) for each in parameters)
    yield from itertools.product(_bases_of(subject), (True,) if is_list else (False, True))


def _bases_of(subject: Subject) -> list[str]:
    """Return the keys of SIZES that a tokenizer's source may mean."""
    guesses = [base for base, pattern in GUESSED.items() if re.search(pattern, subject.code)]
    return [base for base in SIZES if base in guesses or not (base in GUESSED or (base == "characters" and WITH_MARK in guesses))]
