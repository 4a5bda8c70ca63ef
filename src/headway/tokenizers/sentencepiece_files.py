"""Folders with SentencePiece's own files: Marian's, T5's with spiece.model alone, and Llama 2's with tokenizer.model alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import AddedToken

from headway.errors import TokenizerError
from headway.tokenizers.chat_template import read_chat_templates
from headway.tokenizers.reading import read_vocab
from headway.tokenizers.sentencepiece_model import WITHOUT_SPACE, check_together, open_processor, piece_ids, read_bytes
from headway.tokenizers.sentencepiece_tokenizer import MarianTokenizer, Rules, SentencePieceTokenizer
from headway.tokenizers.special_tokens import check_ids, declared_tokens, found_tokens, named_tokens

MARIAN_FILES = ("source.spm", "target.spm", "vocab.json")
EXTRA_IDS = 100


def load_marian(folder: Path, config: Mapping[str, Any]) -> MarianTokenizer:
    """The tokenizer of a Marian folder: source.spm, target.spm and vocab.json; and target_vocab.json where each language has its own.

    Errors   TokenizerError where a file is missing, broken, or belongs to another model, and where `sentencepiece` is not installed.
    """
    own_target = bool(config.get("separate_vocabs"))
    names = (*MARIAN_FILES, *["target_vocab.json"] * own_target)
    if missing := [name for name in names if not (folder / name).exists()]:
        raise TokenizerError(
            f"came: {folder} without {' and '.join(missing)}; expected: {', '.join(names)}, as Marian's tokenizers have; "
            "download what is missing too"
        )
    named, declared = _read_tokens(folder, config)
    ids, target_ids = (read_vocab(folder / name) for name in (names[2], names[-1]))
    source, target = (open_processor(folder / name, read_bytes(folder / name)) for name in names[:2])
    check_together(source, folder / names[0], ids, names[2])
    check_together(target, folder / names[1], target_ids, names[-1])
    ids = _with_added(folder, ids, declared)
    target_ids = _with_added(folder, target_ids, declared) if own_target else ids
    special = found_tokens(folder, "MarianTokenizer", named, lambda content: content in ids and content in target_ids)
    if missing := [name for name in ("unk_token", "eos_token") if name not in special or special[name] not in ids]:
        raise TokenizerError(f"came: {folder}, whose vocabulary has no {missing[0]}; expected: <unk> and </s>; download vocab.json again")
    rules = _rules(folder, config, _added(declared, special, ids), special, adds_end=True)
    return MarianTokenizer(source, target, ids, rules, target_ids=target_ids if own_target else None)


def load_t5(folder: Path, kind: str | None, config: Mapping[str, Any]) -> SentencePieceTokenizer:
    """The tokenizer of a folder with spiece.model: the pieces, then <extra_id_99> to <extra_id_0>, and </s> behind each text.

    extra_ids   of tokenizer_config.json: how many of those there are; 100 where it does not say

    Errors   as load_marian; also for a tokenizer_class that would need other rules.
    """
    path = folder / "spiece.model"
    _check_kind(path, kind, "T5Tokenizer")
    num_extra = config.get("extra_ids", EXTRA_IDS)
    if type(num_extra) is not int or num_extra < 0:
        raise TokenizerError(f"came: {folder / 'tokenizer_config.json'} with extra_ids {num_extra!r:.60}; expected: a number, 0 or more")
    named, declared = _read_tokens(folder, config)
    processor = open_processor(path, read_bytes(path))
    last = processor.get_piece_size() + num_extra - 1
    extra = {last - place: _special(f"<extra_id_{place}>") for place in range(num_extra)}
    ids = _with_added(folder, _with_added(folder, piece_ids(processor), extra), declared)
    special = found_tokens(folder, "T5Tokenizer", named, ids.__contains__)
    added = _added({**_controls(processor), **extra, **declared}, special, ids)
    return SentencePieceTokenizer(processor, processor, ids, _rules(folder, config, added, special, adds_end=True))


def load_llama(folder: Path, kind: str | None, config: Mapping[str, Any]) -> SentencePieceTokenizer:
    """The tokenizer of a folder with tokenizer.model, as Llama 2 has it.

    add_bos_token, add_eos_token   of tokenizer_config.json: whether encode adds them; true and false where it does not say
    add_prefix_space               whether a text begins with a space; true where it does not say
    legacy                         whether text behind a special token does so too; false where it does not say

    Errors   as load_t5.
    """
    path = folder / "tokenizer.model"
    _check_kind(path, kind, "LlamaTokenizer")
    named, declared = _read_tokens(folder, config)
    data = read_bytes(path)
    with_space, without = open_processor(path, data), open_processor(path, data + WITHOUT_SPACE)
    ids = _with_added(folder, piece_ids(with_space), declared)
    special = found_tokens(folder, "LlamaTokenizer", named, ids.__contains__)
    added = _added({**_controls(with_space), **declared}, special, ids)
    # As transformers: what was made for WordPiece is not done to BPE.
    config = {"add_bos_token": "bos_token" in special, **config, "clean_up_tokenization_spaces": False}
    rules = _rules(folder, config, added, special, adds_begin=bool(config["add_bos_token"]), adds_end=bool(config.get("add_eos_token")))
    has_space = config.get("add_prefix_space") is not False
    first, other = (with_space, with_space if config.get("legacy") else without) if has_space else (without, without)
    return SentencePieceTokenizer(first, other, ids, rules, drops_space=has_space)


def _check_kind(path: Path, kind: str | None, expected: str) -> None:
    if kind not in (None, expected):
        raise TokenizerError(
            f"came: {path.parent} with tokenizer_class {kind!r}, {path.name} and no tokenizer.json; expected: {expected}; "
            "write a tokenizer.json with transformers: AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"
        )


def _controls(processor: Any) -> dict[int, AddedToken]:
    return {token_id: _special(piece) for piece, token_id in piece_ids(processor).items() if processor.is_control(token_id)}


def _special(content: str) -> AddedToken:
    return AddedToken(content, special=True, normalized=False)


def _read_tokens(folder: Path, config: Mapping[str, Any]) -> tuple[dict[str, str | None], dict[int, AddedToken]]:
    named = named_tokens(folder, config)
    return named, declared_tokens(folder, config, named.values())


def _with_added(folder: Path, ids: Mapping[str, int], added: Mapping[int, AddedToken]) -> dict[str, int]:
    """The vocabulary with added tokens behind it, or in its gaps."""
    taken = set(ids.values())
    ids = {**ids, **{token.content: token_id for token_id, token in added.items() if token.content not in ids and token_id not in taken}}
    check_ids(folder, added, ids.get)
    return ids


def _added(tokens: Mapping[int, AddedToken], special: Mapping[str, str], ids: Mapping[str, int]) -> list[AddedToken]:
    """The tokens to cut out of a text; those that have a name are special, whatever their flag says."""
    named = {content for content in special.values() if content in ids}
    plain = [token for token in tokens.values() if token.special or token.content not in named]
    return [*plain, *map(_special, sorted(named - {token.content for token in plain}))]


def _rules(
    folder: Path,
    config: Mapping[str, Any],
    added: list[AddedToken],
    special: Mapping[str, str],
    *,
    adds_begin: bool = False,
    adds_end: bool,
) -> Rules:
    if config.get("sp_model_kwargs"):
        raise TokenizerError(
            f"came: {folder / 'tokenizer_config.json'} with sp_model_kwargs {config['sp_model_kwargs']!s:.60}; expected: none, because "
            "the same text is to give the same tokens; take them out"
        )
    adds = {"bos_token": adds_begin, "eos_token": adds_end}
    if unnamed := [name for name, is_added in adds.items() if is_added and name not in special]:
        raise TokenizerError(
            f"came: {folder}, where encode adds the {unnamed[0]} and none is named; expected: one in tokenizer_config.json"
        )
    return Rules(
        added=added,
        special_tokens=special,
        chat_templates=read_chat_templates(folder, config),
        adds_begin=adds_begin,
        adds_end=adds_end,
        cleans_up=config.get("clean_up_tokenization_spaces") is True,
        splits_special=bool(config.get("split_special_tokens")),
    )
