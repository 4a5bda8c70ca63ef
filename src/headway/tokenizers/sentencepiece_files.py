"""Load tokenizers from SentencePiece files: Marian folders, T5 folders with spiece.model and Llama 2 folders with tokenizer.model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tokenizers import AddedToken

from headway.errors import TokenizerError
from headway.tokenizers.byte_level import SAVE_HINT
from headway.tokenizers.chat_template import read_chat_templates
from headway.tokenizers.reading import JsonObject, read_bytes, read_vocab
from headway.tokenizers.sentencepiece_model import WITHOUT_SPACE, PieceModel, check_vocab_matches, open_model
from headway.tokenizers.sentencepiece_tokenizer import MarianTokenizer, Rules, SentencePieceTokenizer
from headway.tokenizers.special_tokens import check_ids, declared_tokens, named_tokens, resolve_special_tokens

MARIAN_FILES = ("source.spm", "target.spm", "vocab.json")
EXTRA_IDS = 100
MAX_EXTRA_IDS = 10_000


def load_marian(folder: Path, config: JsonObject) -> MarianTokenizer:
    """Load a Marian folder: source.spm, target.spm and vocab.json, and target_vocab.json if the vocabularies are separate.

    Errors   TokenizerError for a file that is missing, broken or of another model, and if `sentencepiece` is not installed.
    """
    is_separate = bool(config.get("separate_vocabs"))
    names = (*MARIAN_FILES, *["target_vocab.json"] * is_separate)
    if missing := [name for name in names if not (folder / name).exists()]:
        raise TokenizerError(
            f"got {folder} without {' and '.join(missing)}, expected {', '.join(names)} for a Marian tokenizer",
            hint="download the missing files too",
        )
    named, declared = _read_tokens(folder, config)
    ids, target_ids = (read_vocab(folder / name) for name in (names[2], names[-1]))
    source, target = (open_model(folder / name, read_bytes(folder / name)) for name in names[:2])
    check_vocab_matches(source, folder / names[0], ids, names[2])
    check_vocab_matches(target, folder / names[1], target_ids, names[-1])
    ids = _with_added(folder, ids, declared)
    target_ids = _with_added(folder, target_ids, declared) if is_separate else ids
    special = resolve_special_tokens(folder, "MarianTokenizer", named, lambda content: content in ids and content in target_ids)
    required = ("unk_token", "eos_token")
    if missing := [name for name in required if special.get(name) not in ids or special.get(name) not in target_ids]:
        raise TokenizerError(
            f"got {folder}, whose vocabulary has no {missing[0]}, expected <unk> and </s>", hint="download vocab.json again"
        )
    rules = _rules(folder, config, _tokens_to_cut(declared, special, ids), special, adds_end=True)
    return MarianTokenizer(source, target, ids, rules, target_ids=target_ids if is_separate else None)


def load_t5(folder: Path, class_name: str | None, config: JsonObject) -> SentencePieceTokenizer:
    """Load a folder with spiece.model: the pieces, then <extra_id_99> to <extra_id_0>. encode adds </s>.

    extra_ids   in tokenizer_config.json: the number of <extra_id_…> tokens, default 100

    Errors   as load_marian; also for other tokenizer classes.
    """
    path = folder / "spiece.model"
    _check_class(path, class_name, "T5Tokenizer")
    num_extra = config.get("extra_ids", EXTRA_IDS)
    if not isinstance(num_extra, int) or isinstance(num_extra, bool) or not 0 <= num_extra <= MAX_EXTRA_IDS:
        raise TokenizerError(
            f"got {folder / 'tokenizer_config.json'} with extra_ids {num_extra!r:.60}, expected a number from 0 to {MAX_EXTRA_IDS:,}"
        )
    named, declared = _read_tokens(folder, config)
    model = open_model(path, read_bytes(path))
    last = model.num_pieces + num_extra - 1
    extra = {last - index: _special(f"<extra_id_{index}>") for index in range(num_extra)}
    ids = _with_added(folder, _with_added(folder, model.ids, extra), declared)
    special = resolve_special_tokens(folder, "T5Tokenizer", named, ids.__contains__)
    cut = _tokens_to_cut({**_controls(model), **extra, **declared}, special, ids)
    return SentencePieceTokenizer(model, model, ids, _rules(folder, config, cut, special, adds_end=True))


def load_llama(folder: Path, class_name: str | None, config: JsonObject) -> SentencePieceTokenizer:
    """Load a folder with tokenizer.model, as for Llama 2.

    Options in tokenizer_config.json:

    add_bos_token, add_eos_token   make encode add these tokens; default true and false
    add_prefix_space               start a text with a space; default true
    legacy                         also start text after a special token with a space; default false

    Errors   as load_t5.
    """
    path = folder / "tokenizer.model"
    _check_class(path, class_name, "LlamaTokenizer")
    named, declared = _read_tokens(folder, config)
    data = read_bytes(path)
    with_space, without = open_model(path, data), open_model(path, data + WITHOUT_SPACE)
    ids = _with_added(folder, with_space.ids, declared)
    special = resolve_special_tokens(folder, "LlamaTokenizer", named, ids.__contains__)
    cut = _tokens_to_cut({**_controls(with_space), **declared}, special, ids)
    # As in transformers: the cleanup was designed for WordPiece and is not applied to BPE.
    config = {"add_bos_token": "bos_token" in special, **config, "clean_up_tokenization_spaces": False}
    rules = _rules(folder, config, cut, special, adds_begin=bool(config["add_bos_token"]), adds_end=bool(config.get("add_eos_token")))
    has_space = config.get("add_prefix_space") is not False
    first, other = (with_space, with_space if config.get("legacy") else without) if has_space else (without, without)
    return SentencePieceTokenizer(first, other, ids, rules, drops_space=has_space)


def _check_class(path: Path, class_name: str | None, expected: str) -> None:
    if class_name not in (None, expected):
        raise TokenizerError(
            f"got {path.parent} with tokenizer_class {class_name!r:.60}, {path.name} and no tokenizer.json, expected {expected}",
            hint=SAVE_HINT,
        )


def _controls(model: PieceModel) -> dict[int, AddedToken]:
    return {token_id: _special(piece) for piece, token_id in model.ids.items() if model.is_control(piece)}


def _special(content: str) -> AddedToken:
    return AddedToken(content, special=True, normalized=False)


def _read_tokens(folder: Path, config: JsonObject) -> tuple[dict[str, str | None], dict[int, AddedToken]]:
    named = named_tokens(folder, config)
    return named, declared_tokens(folder, config, named.values())


def _with_added(folder: Path, ids: Mapping[str, int], added: Mapping[int, AddedToken]) -> dict[str, int]:
    """Return the vocabulary with the added tokens, whose ids follow the others or fill gaps."""
    used = set(ids.values())
    ids = {**ids, **{token.content: token_id for token_id, token in added.items() if token.content not in ids and token_id not in used}}
    check_ids(folder, added, ids.get)
    return ids


def _tokens_to_cut(tokens: Mapping[int, AddedToken], special: Mapping[str, str], ids: Mapping[str, int]) -> list[AddedToken]:
    """Return the tokens to cut out of a text. Named tokens are special even if their flag is false."""
    named = {content for content in special.values() if content in ids}
    others = [token for token in tokens.values() if token.special or token.content not in named]
    return [*others, *map(_special, sorted(named - {token.content for token in others}))]


def _rules(
    folder: Path,
    config: JsonObject,
    added: list[AddedToken],
    special: Mapping[str, str],
    *,
    adds_begin: bool = False,
    adds_end: bool,
) -> Rules:
    if config.get("sp_model_kwargs"):
        raise TokenizerError(
            f"got {folder / 'tokenizer_config.json'} with sp_model_kwargs {config['sp_model_kwargs']!s:.60}, expected none: sampling "
            "gives different tokens for the same text",
            hint="remove sp_model_kwargs",
        )
    adds = {"bos_token": adds_begin, "eos_token": adds_end}
    if unnamed := [name for name, is_added in adds.items() if is_added and name not in special]:
        raise TokenizerError(f"got {folder}, where encode adds the {unnamed[0]} and none is named, expected one in tokenizer_config.json")
    return Rules(
        added=added,
        special_tokens=special,
        chat_templates=read_chat_templates(folder, config),
        adds_begin=adds_begin,
        adds_end=adds_end,
        cleans_up=config.get("clean_up_tokenization_spaces") is True,
        splits_special=bool(config.get("split_special_tokens")),
    )
