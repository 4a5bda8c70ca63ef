"""The tokenizer in a GGUF file: byte-level BPE ("gpt2"), SentencePiece ("llama", "t5") or WordPiece ("bert").

    tokenizer.ggml.model          gpt2, llama, t5 or bert
    tokenizer.ggml.pre            name of the pattern that splits a text before byte-level BPE
    tokenizer.ggml.tokens         the tokens, by id
    tokenizer.ggml.token_type     1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
    tokenizer.ggml.merges         merges of byte-level BPE
    tokenizer.ggml.scores         scores of SentencePiece's pieces
    tokenizer.ggml.…_token_id     special tokens
    tokenizer.chat_template       the chat template

Source   ggml-org/ggml, docs/gguf.md; ggml-org/llama.cpp, src/llama-vocab.cpp
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeGuard, TypeVar

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors

from headway.errors import TokenizerError
from headway.gguf_file import GGUFFile
from headway.json_files import short_repr
from headway.tokenizers.byte_level import QWEN2_PATTERN
from headway.tokenizers.gguf_encoders import unigram_of_tokens, wordpiece_of_tokens
from headway.tokenizers.library import LibraryTokenizer, raise_library_error
from headway.tokenizers.sentencepiece_model import open_model
from headway.tokenizers.sentencepiece_tokenizer import Rules, SentencePieceTokenizer
from headway.tokenizers.special_tokens import BERT
from headway.tokenizers.tokenizer import Tokenizer

NORMAL, UNKNOWN, CONTROL, USER_DEFINED = 1, 2, 3, 4
GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3_PATTERN = QWEN2_PATTERN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
GPT4O_PATTERN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_ENDINGS}|\p{{N}}{{1,3}}|{_REST}"
)
TEKKEN_PATTERN = rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*|\p{{N}}|{_REST}"
PATTERNS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("gpt-2", "phi-2", "olmo", "mpt", "jais", "trillion", "granite-docling", "a.x-4.0", "mellum", "roberta-bpe", "modern-bert"),
        (GPT2_PATTERN,),
    ),
    **dict.fromkeys(("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"), (r"\p{N}", GPT2_PATTERN)),
    **dict.fromkeys(
        ("llama3", "llama-v3", "llama-bpe", "falcon3", "pixtral", "dbrx", "smaug-bpe", "chatglm-bpe", "glm4"), (LLAMA3_PATTERN,)
    ),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "solar-open", "grok-2"), (QWEN2_PATTERN,)),
    **dict.fromkeys(("gpt-4o", "llama4"), (GPT4O_PATTERN,)),
    "tekken": (TEKKEN_PATTERN,),
}
"""The patterns that split a text, one after another, by the name in tokenizer.ggml.pre."""
NORMALIZED = ("modern-bert",)
"""Byte-level BPE that composes characters first."""
ADDS_BEGIN = ("llama3", "llama-v3", "llama-bpe", "falcon3", "pixtral", "tekken")
"""Byte-level BPE whose texts begin with the bos token unless the file says otherwise."""
NAMED = {"bos": "bos_token", "eos": "eos_token", "unknown": "unk_token", "padding": "pad_token"}
OF_ENCODERS = {"cls": "cls_token", "seperator": "sep_token", "mask": "mask_token"}
"""Special tokens of encoders, with llama.cpp's spelling."""
ENCODERS = ("bert", "modern-bert")
T5_IDS = {"eos_token": 1, "unk_token": 2, "pad_token": 0}
"""The ids of special tokens that a file of a unigram model need not name."""
MOST_TYPES = 6
Element = TypeVar("Element")
HINT = "download the file again"


def load_gguf_tokenizer(path: Path) -> Tokenizer:
    """Load the tokenizer of a GGUF file.

    Errors   TokenizerError for metadata that is missing or inconsistent, and for a kind of tokenizer that is not supported;
             CheckpointError for a broken file.
    """
    return _Fields(GGUFFile(path)).tokenizer()


class _Fields:
    """The checked metadata of a tokenizer."""

    def __init__(self, file: GGUFFile) -> None:
        self.file = file
        self.tokens = self._strings("tokens")
        types = file.metadata.get("tokenizer.ggml.token_type", [NORMAL] * len(self.tokens))
        if not _are(types, int, len(self.tokens)) or not all(1 <= each <= MOST_TYPES for each in types):
            raise self._error("token_type", types, f"{len(self.tokens):,} numbers from 1 to {MOST_TYPES}")
        self.types: Sequence[int] = types
        self.is_encoder = file.metadata.get("general.architecture") in ENCODERS
        self.special = self._special_tokens()

    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer.

        Errors   TokenizerError.
        """
        model = self.file.metadata.get("tokenizer.ggml.model")
        if model == "gpt2":
            return self._byte_level()
        if model == "llama":
            return self._sentencepiece()
        if model == "bert":
            return self._wordpiece()
        if model == "t5":
            return self._unigram()
        raise self._error("model", model, "'gpt2', 'llama', 'bert' or 't5'")

    def _error(self, key: str, value: object, expected: str) -> TokenizerError:
        return TokenizerError(f"got {self.file.path} with tokenizer.ggml.{key}={short_repr(value)}, expected {expected}", hint=HINT)

    def _strings(self, key: str) -> list[str]:
        values = self.file.metadata.get(f"tokenizer.ggml.{key}")
        if not _are(values, str):
            raise self._error(key, values, "a list of strings")
        return values

    def _flag(self, key: str, default: bool) -> bool:
        value = self.file.metadata.get(f"tokenizer.ggml.{key}", default)
        if not isinstance(value, bool):
            raise self._error(key, value, "true or false")
        return value

    def _special_tokens(self) -> dict[str, str]:
        special = {}
        for key, name in (NAMED | (OF_ENCODERS if self.is_encoder else {})).items():
            token_id = self.file.metadata.get(f"tokenizer.ggml.{key}_token_id")
            if token_id is None:
                continue
            if not isinstance(token_id, int) or isinstance(token_id, bool) or not 0 <= token_id < len(self.tokens):
                raise self._error(f"{key}_token_id", token_id, f"a token id from 0 to {len(self.tokens) - 1}")
            special[name] = self.tokens[token_id]
        if self.is_encoder:
            begin_and_end = {"cls_token": special.get("bos_token"), "sep_token": special.get("eos_token")}
            special = {name: token for name, token in begin_and_end.items() if token} | special
        return special

    def _templates(self) -> dict[str, str]:
        template = self.file.metadata.get("tokenizer.chat_template")
        if template is not None and not isinstance(template, str):
            raise TokenizerError(f"got {self.file.path} with tokenizer.chat_template={short_repr(template)}, expected a string", hint=HINT)
        return {"default": template} if template else {}

    def _added(self) -> list[AddedToken]:
        """Return the tokens that are cut out of a text."""
        kinds = {CONTROL: True, USER_DEFINED: False, UNKNOWN: True}
        return [
            AddedToken(token, special=kinds[kind], normalized=False)
            for token, kind in zip(self.tokens, self.types, strict=True)
            if kind in kinds and token
        ]

    def _byte_level(self) -> LibraryTokenizer:
        name = self.file.metadata.get("tokenizer.ggml.pre", "gpt-2")
        if not isinstance(name, str) or name not in PATTERNS:
            raise TokenizerError(
                f"got {self.file.path} with tokenizer.ggml.pre={short_repr(name)}, expected one of {', '.join(PATTERNS)}",
                hint="use the Hugging Face folder of the model",
            )
        self._check_tokens()
        vocab = {token: token_id for token_id, token in enumerate(self.tokens)}
        try:
            backend = tokenizers.Tokenizer(models.BPE(vocab=vocab, merges=self._merges(vocab), ignore_merges="llama" in name))
            if name in NORMALIZED:
                backend.normalizer = normalizers.NFC()
            splits = [pre_tokenizers.Split(Regex(pattern), behavior="isolated") for pattern in PATTERNS[name]]
            backend.pre_tokenizer = pre_tokenizers.Sequence([*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
            backend.decoder = decoders.ByteLevel()
            backend.add_tokens(self._added())
            adds_end = self._flag("add_eos_token", self.is_encoder)
            self._set_template(backend, self._flag("add_bos_token", name in ADDS_BEGIN or self.is_encoder), adds_end)
        except BaseException as error:
            raise_library_error(error, f"load {self.file.path}")
        return LibraryTokenizer(backend, special_tokens=self.special, chat_templates=self._templates())

    def _check_tokens(self) -> None:
        """Raise TokenizerError for two equal tokens."""
        num_different = len(set(self.tokens))
        if num_different < len(self.tokens):
            raise TokenizerError(
                f"got {self.file.path} with {len(self.tokens):,} tokens, of which {num_different:,} differ, expected different tokens",
                hint=HINT,
            )

    def _merges(self, vocab: Mapping[str, int]) -> list[tuple[str, str]]:
        merges = []
        for merge in self._strings("merges"):
            first, _, second = merge.partition(" ")
            if not first or not second or " " in second or not {first, second, first + second} <= vocab.keys():
                raise self._error("merges", merge, "two tokens separated by a space, whose sum is a token")
            merges.append((first, second))
        return merges

    def _set_template(self, backend: tokenizers.Tokenizer, adds_begin: bool, adds_end: bool) -> None:
        """Add the bos and eos tokens, or an encoder's own, to a text, and the eos token to each text of a pair; RoBERTa's twice between them."""
        bos, eos = (
            self.special.get(name, self.special.get(other)) for name, other in (("bos_token", "cls_token"), ("eos_token", "sep_token"))
        )
        if adds_end and eos is None:
            raise self._error("add_eos_token", True, "an eos_token_id")
        begin, end = ([token] if is_added and token else [] for token, is_added in ((bos, adds_begin), (eos, adds_end)))
        if begin or end:
            ids = [(content, self.tokens.index(content)) for content in {*begin, *end}]
            is_roberta = self.file.metadata.get("general.architecture") == "bert"
            second = [*end, "$B", *end] if is_roberta else ["$B:1", *(f"{token}:1" for token in end)]
            pair = [*begin, "$A", *end, *second]
            backend.post_processor = processors.TemplateProcessing(single=[*begin, "$A", *end], pair=pair, special_tokens=ids)

    def _wordpiece(self) -> LibraryTokenizer:
        names = ("lowercase", "strip_accents")
        options = {
            name: self._flag(f"normalizer.{name}", False) for name in names if f"tokenizer.ggml.normalizer.{name}" in self.file.metadata
        }
        try:
            backend = wordpiece_of_tokens(self.file.path, self.tokens, self.types, self.special, options)
            backend.add_tokens(self._added())
        except BaseException as error:
            raise_library_error(error, f"load {self.file.path}")
        special = {name: content for name, content in (BERT | self.special).items() if backend.token_to_id(content) is not None}
        return LibraryTokenizer(backend, special_tokens=special, cleans_up=True)

    def _unigram(self) -> LibraryTokenizer:
        charsmap = self.file.metadata.get("tokenizer.ggml.precompiled_charsmap", b"")
        if not isinstance(charsmap, bytes):
            raise self._error("precompiled_charsmap", charsmap, "bytes")
        # llama.cpp writes a flag of another meaning for the files of encoders that have only a tokenizer.json.
        splits = self._flag("remove_extra_whitespaces", True) or self.is_encoder
        ids = {"unk_token": self.types.index(UNKNOWN)} if UNKNOWN in self.types else {}
        ids = ids if self.is_encoder else T5_IDS | ids
        self.special = {name: self.tokens[token_id] for name, token_id in ids.items() if token_id < len(self.tokens)} | self.special
        if "unk_token" not in self.special:
            raise self._error("unknown_token_id", None, "a token id")
        scores = self._scores()
        if not all(map(math.isfinite, scores)):
            raise self._error("scores", [each for each in scores if not math.isfinite(each)][:1], "finite numbers")
        if "" in self.tokens:
            raise self._error("tokens", "", "at least one character in each")
        self._check_tokens()
        try:
            backend = unigram_of_tokens(
                self.file.path,
                self.tokens,
                scores,
                self.types,
                self.special["unk_token"],
                charsmap,
                has_space=self._flag("add_space_prefix", True),
                splits_at_spaces=splits,
            )
            backend.add_tokens(self._added())
            self._set_template(backend, self._flag("add_bos_token", self.is_encoder), self._flag("add_eos_token", True))
        except BaseException as error:
            raise_library_error(error, f"load {self.file.path}")
        return LibraryTokenizer(backend, special_tokens=self.special, chat_templates=self._templates())

    def _scores(self) -> Sequence[float]:
        scores = self.file.metadata.get("tokenizer.ggml.scores")
        if not _are(scores, float, len(self.tokens)):
            raise self._error("scores", scores, f"{len(self.tokens):,} numbers")
        return scores

    def _sentencepiece(self) -> SentencePieceTokenizer:
        scores = self._scores()
        has_space = self._flag("add_space_prefix", True)
        model = open_model(self.file.path, _model_file(self.tokens, scores, self.types, self.special, has_space=has_space))
        adds_begin, adds_end = self._flag("add_bos_token", True), self._flag("add_eos_token", False)
        for name, is_added in (("bos", adds_begin), ("eos", adds_end)):
            if is_added and f"{name}_token" not in self.special:
                raise self._error(f"add_{name}_token", True, f"a {name}_token_id")
        rules = Rules(
            added=self._added(),
            special_tokens=self.special,
            chat_templates=self._templates(),
            adds_begin=adds_begin,
            adds_end=adds_end,
        )
        return SentencePieceTokenizer(model, model, model.ids, rules, drops_space=has_space)


def _are(values: object, kind: type[Element], count: int | None = None) -> TypeGuard[list[Element]]:
    return isinstance(values, list) and all(type(each) is kind for each in values) and count in (None, len(values))


def _model_file(
    tokens: Sequence[str], scores: Sequence[float], types: Sequence[int], special: Mapping[str, str], *, has_space: bool
) -> bytes:
    """Return the tokens as a SentencePiece model file: BPE whose merges follow the scores.

    Source   google/sentencepiece, src/sentencepiece_model.proto
    """
    pieces = []
    for token, score, kind in zip(tokens, scores, types, strict=True):
        pieces.append(_field(1, _field(1, token.encode()) + b"\x15" + struct.pack("<f", score) + _number(3, kind)))
    ids = {token: token_id for token_id, token in enumerate(tokens)}
    named = {41: "bos_token", 42: "eos_token", 43: "pad_token"}  # without them the library would look for <s> and </s>
    trainer = _number(3, 2) + _number(35, 1) + _number(40, ids.get(special.get("unk_token", ""), 0))
    trainer += b"".join(_number(field, ids[special[name]] if name in special else 2**64 - 1) for field, name in named.items())
    normalizer = _field(1, b"identity") + _number(3, int(has_space)) + _number(4, 0) + _number(5, 1)
    return b"".join(pieces) + _field(2, trainer) + _field(3, normalizer)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])
