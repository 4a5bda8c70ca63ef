"""The tokens that a model folder names or adds beside its vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken

from headway.errors import TokenizerError
from headway.tokenizers.reading import read_json_if_there

END_OF_TEXT = "<|endoftext|>"
FLAGS = ("special", "lstrip", "rstrip", "single_word", "normalized")
BERT_CLASSES = ("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer")
BERT = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"}
TRANSLATING = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
DEFAULTS: Mapping[str | None, Mapping[str, str]] = {
    None: dict.fromkeys(("bos_token", "eos_token"), END_OF_TEXT),
    "GPT2Tokenizer": dict.fromkeys(("bos_token", "eos_token"), END_OF_TEXT),
    "Qwen2Tokenizer": {"eos_token": END_OF_TEXT},
    **dict.fromkeys(BERT_CLASSES, BERT),
    **dict.fromkeys(("T5Tokenizer", "MarianTokenizer"), TRANSLATING),
    "LlamaTokenizer": {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"},
}
"""Special tokens where the files name none, by tokenizer_class, if the vocabulary has them: many files on the hub name none.

Source   transformers, the arguments of each class
"""
CLASSES = {"bert": "BertTokenizer", "distilbert": "DistilBertTokenizer", "t5": "T5Tokenizer", "marian": "MarianTokenizer"}
"""The tokenizer_class that goes with the model_type of config.json, where tokenizer_config.json names none."""


def tokenizer_class(folder: Path, config: Mapping[str, Any]) -> str | None:
    """The class that tokenizer_config.json names, without "Fast", or the model's own; None where neither says, as with GPT-2."""
    name = config.get("tokenizer_class")
    if isinstance(name, str):
        return name.removesuffix("Fast")
    model_type = read_json_if_there(folder / "config.json").get("model_type")
    return CLASSES.get(model_type) if isinstance(model_type, str) else None


def named_tokens(folder: Path, config: Mapping[str, Any]) -> dict[str, str | None]:
    """The special tokens by name, such as "eos_token"; None where a file says null. tokenizer_config.json comes first."""
    listed = {**read_json_if_there(folder / "special_tokens_map.json"), **config}
    return {name: _content(value) for name, value in listed.items() if name.endswith("_token")}


def _content(value: Any) -> str | None:
    if isinstance(value, Mapping):
        value = value.get("content")
    return value if isinstance(value, str) and value else None


def _id(key: str) -> int:
    if not key.isdecimal() or int(key) >= 2**32:
        raise ValueError(key)
    return int(key)


def declared_tokens(folder: Path, config: Mapping[str, Any], named: Iterable[str | None]) -> dict[int, AddedToken]:
    """The added tokens by id: those of tokenizer_config.json, then those of added_tokens.json.

    Errors   TokenizerError where an entry is no token, or the two give an id or a token twice, and differently.
    """
    path, legacy = folder / "tokenizer_config.json", folder / "added_tokens.json"
    extra = [*(config.get("additional_special_tokens") or []), *(config.get("extra_special_tokens") or [])]
    special = {*named, *map(_content, extra)}
    tokens: dict[int, AddedToken] = {}
    for key, value in (config.get("added_tokens_decoder") or {}).items():
        try:
            tokens[_id(key)] = AddedToken(value["content"], **{flag: bool(value[flag]) for flag in FLAGS if flag in value})
        except (TypeError, KeyError, ValueError) as error:
            raise TokenizerError(
                f"came: {path} with the added token {key}: {value!s:.60}; expected: an id, and content, special, lstrip …"
            ) from error
    contents = {token.content: token_id for token_id, token in tokens.items()}
    for content, token_id in read_json_if_there(legacy).items():
        is_id = type(token_id) is int and 0 <= token_id < 2**32
        if not is_id or contents.get(content, token_id) != token_id or (token_id in tokens and tokens[token_id].content != content):
            raise TokenizerError(
                f"came: {legacy} with {content!r}: {token_id!r}; expected: each token with an id of its own, the same as in {path.name}"
            )
        if token_id not in tokens:
            tokens[token_id] = AddedToken(content, special=content in special, normalized=content not in special)
            contents[content] = token_id
    return tokens


def add_tokens(
    backend: tokenizers.Tokenizer,
    folder: Path,
    kind: str | None,
    declared: Mapping[int, AddedToken],
    named: Mapping[str, str | None],
) -> dict[str, str]:
    """Make the tokenizer cut the declared and the named tokens out of the text; returns the named ones, with the class's own.

    Errors   TokenizerError where one has another id in the vocabulary, or the beginning or end token is not in it.
    """
    backend.add_tokens([token for _, token in sorted(declared.items())])
    check_ids(folder, declared, backend.token_to_id)
    found = found_tokens(folder, kind, named, lambda content: backend.token_to_id(content) is not None)
    special = {token.content for token in declared.values() if token.special}
    new = [content for content in found.values() if content not in special and backend.token_to_id(content) is not None]
    backend.add_special_tokens([AddedToken(content, special=True, normalized=False) for content in new])
    return found


def check_ids(folder: Path, declared: Mapping[int, AddedToken], id_of: Callable[[str], int | None]) -> None:
    """Refuse declared tokens that have another id in the vocabulary."""
    for token_id, token in declared.items():
        if (there := id_of(token.content)) != token_id:
            raise TokenizerError(
                f"came: {folder}, where the token {token.content!r} has id {token_id} in tokenizer_config.json or added_tokens.json "
                f"and {there} in the vocabulary; expected: one id; the files are not of one model: download them again"
            )


def found_tokens(folder: Path, kind: str | None, named: Mapping[str, str | None], is_token: Callable[[str], bool]) -> dict[str, str]:
    """The named tokens, and those of the class for what the files do not name, where the vocabulary has them.

    Errors   TokenizerError where the beginning or end token that a file names is not in the vocabulary.
    """
    for name in ("bos_token", "eos_token"):
        if (content := named.get(name)) is not None and not is_token(content):
            raise TokenizerError(
                f"came: {folder}, whose {name} is {content!r}; expected: a token of its vocabulary; the files are not of one model, "
                "or are incomplete: download them again"
            )
    own = {name: content for name, content in DEFAULTS.get(kind, {}).items() if is_token(content)}
    return {name: content for name, content in {**own, **named}.items() if content is not None}
