"""The special and added tokens that a model folder declares in addition to its vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import tokenizers
from tokenizers import AddedToken

from headway.errors import TokenizerError
from headway.tokenizers.reading import JsonObject, check_token_text, is_token_id, read_optional_json

END_OF_TEXT = "<|endoftext|>"
FLAGS = ("special", "lstrip", "rstrip", "single_word", "normalized")
BERT_CLASSES = ("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer")
BERT = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"}
TRANSLATION = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
DEFAULTS: Mapping[str | None, Mapping[str, str]] = {
    None: dict.fromkeys(("bos_token", "eos_token"), END_OF_TEXT),
    "GPT2Tokenizer": dict.fromkeys(("bos_token", "eos_token"), END_OF_TEXT),
    "Qwen2Tokenizer": {"eos_token": END_OF_TEXT},
    **dict.fromkeys(BERT_CLASSES, BERT),
    **dict.fromkeys(("T5Tokenizer", "MarianTokenizer"), TRANSLATION),
    "LlamaTokenizer": {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"},
}
"""Special tokens by tokenizer_class, for files that name none (common on the hub); used if the vocabulary has them.

Source   transformers, the default arguments of each class
"""
CLASSES = {"bert": "BertTokenizer", "distilbert": "DistilBertTokenizer", "t5": "T5Tokenizer", "marian": "MarianTokenizer"}
"""The tokenizer_class of each model_type of config.json, for a tokenizer_config.json that names none."""
MAX_DIGITS_OF_ID = 10


def tokenizer_class(folder: Path, config: JsonObject) -> str | None:
    """Return the tokenizer_class of tokenizer_config.json without "Fast", else the model's default, else None (as for GPT-2)."""
    name = config.get("tokenizer_class")
    if isinstance(name, str):
        return name.removesuffix("Fast")
    model_type = read_optional_json(folder / "config.json").get("model_type")
    return CLASSES.get(model_type) if isinstance(model_type, str) else None


def named_tokens(folder: Path, config: JsonObject) -> dict[str, str | None]:
    """Return the special tokens by name, such as "eos_token"; None for one that a file sets to null.

    tokenizer_config.json takes precedence over special_tokens_map.json.

    Errors   TokenizerError for a token without a UTF-8 form.
    """
    path = folder / "special_tokens_map.json"
    listed = {**read_optional_json(path), **config}
    tokens = {name: _content(value) for name, value in listed.items() if name.endswith("_token")}
    for content in tokens.values():
        check_token_text(content or "", path)
    return tokens


def _content(value: object) -> str | None:
    if isinstance(value, Mapping):
        value = value.get("content")
    return value if isinstance(value, str) and value else None


def declared_tokens(folder: Path, config: JsonObject, named: Iterable[str | None]) -> dict[int, AddedToken]:
    """Return the added tokens by id: those of tokenizer_config.json, then those of added_tokens.json.

    Errors   TokenizerError for an entry that is not a token, and if the two files contradict each other about an id or a token.
    """
    path, legacy = folder / "tokenizer_config.json", folder / "added_tokens.json"
    extra = [item for key in ("additional_special_tokens", "extra_special_tokens") for item in _items(config, key, path)]
    special = {*named, *map(_content, extra)}
    tokens = _tokens_of_config(config, path)
    contents = {token.content: token_id for token_id, token in tokens.items()}
    for content, token_id in read_optional_json(legacy).items():
        if (
            not is_token_id(token_id)
            or not content
            or contents.get(content, token_id) != token_id
            or (token_id in tokens and tokens[token_id].content != content)
        ):
            raise TokenizerError(
                f"got {legacy} with {content!r:.60}: {token_id!r:.60}, expected one id per token, the same as in {path.name}"
            )
        check_token_text(content, legacy)
        if token_id not in tokens:
            tokens[token_id] = AddedToken(content, special=content in special, normalized=content not in special)
            contents[content] = token_id
    return tokens


def _items(config: JsonObject, key: str, path: Path) -> list[object]:
    """Return the values of a list or of an object; transformers 5 writes extra_special_tokens as an object."""
    value = config.get(key) or []
    if isinstance(value, Mapping):
        return list(value.values())
    if not isinstance(value, list):
        raise TokenizerError(f"got {path} with {key} {value!r:.60}, expected a list of tokens")
    return value


def _tokens_of_config(config: JsonObject, path: Path) -> dict[int, AddedToken]:
    declared = config.get("added_tokens_decoder") or {}
    if not isinstance(declared, Mapping):
        raise TokenizerError(f"got {path} with added_tokens_decoder {declared!r:.60}, expected an object of ids and tokens")
    tokens: dict[int, AddedToken] = {}
    for key, value in declared.items():
        content = _content(value) if isinstance(value, Mapping) else None
        if content is None or not key.isascii() or not key.isdecimal() or len(key) > MAX_DIGITS_OF_ID or not is_token_id(int(key)):
            raise TokenizerError(
                f"got {path} with the added token {key:.60}: {value!r:.60}, expected an id and an object with content, special, lstrip …"
            )
        check_token_text(content, path)
        tokens[int(key)] = AddedToken(content, **{flag: bool(value[flag]) for flag in FLAGS if flag in value})
    return tokens


def add_tokens(
    backend: tokenizers.Tokenizer,
    folder: Path,
    class_name: str | None,
    declared: Mapping[int, AddedToken],
    named: Mapping[str, str | None],
) -> dict[str, str]:
    """Register the declared and the named tokens, which are then never split. Return the special tokens by name.

    Errors   TokenizerError for a token whose id in the vocabulary is another one, and for a bos or eos token that is not in it.
    """
    backend.add_tokens([token for _, token in sorted(declared.items())])
    check_ids(folder, declared, backend.token_to_id)
    resolved = resolve_special_tokens(folder, class_name, named, lambda content: backend.token_to_id(content) is not None)
    special = {token.content for token in declared.values() if token.special}
    unregistered = [content for content in resolved.values() if content not in special and backend.token_to_id(content) is not None]
    backend.add_special_tokens([AddedToken(content, special=True, normalized=False) for content in unregistered])
    return resolved


def check_ids(folder: Path, declared: Mapping[int, AddedToken], id_of: Callable[[str], int | None]) -> None:
    """Raise TokenizerError if the vocabulary gives a declared token another id."""
    for token_id, token in declared.items():
        if (actual := id_of(token.content)) != token_id:
            raise TokenizerError(
                f"got {folder}, where the token {token.content!r:.60} has id {token_id} in tokenizer_config.json or added_tokens.json "
                f"and {actual} in the vocabulary, expected the same id",
                hint="the files belong to different models; download them again",
            )


def resolve_special_tokens(
    folder: Path, class_name: str | None, named: Mapping[str, str | None], is_token: Callable[[str], bool]
) -> dict[str, str]:
    """Return the special tokens by name: those that the files name, else the defaults of the class if the vocabulary has them.

    Errors   TokenizerError for a bos or eos token that the files name and the vocabulary lacks.
    """
    for name in ("bos_token", "eos_token"):
        if (content := named.get(name)) is not None and not is_token(content):
            raise TokenizerError(
                f"got {folder}, whose {name} is {content!r:.60}, expected a token of its vocabulary",
                hint="the files are incomplete or belong to different models; download them again",
            )
    defaults = {name: content for name, content in DEFAULTS.get(class_name, {}).items() if is_token(content)}
    return {name: content for name, content in {**defaults, **named}.items() if content is not None}
