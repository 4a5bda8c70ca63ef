"""Which files of a folder make its tokenizer."""

from __future__ import annotations

from pathlib import Path

import tokenizers

from headway.errors import TokenizerError
from headway.tokenizers.byte_level import build_byte_level, surround
from headway.tokenizers.chat_template import read_chat_templates
from headway.tokenizers.library import LibraryTokenizer
from headway.tokenizers.llama2c import read_llama2c_tokenizer
from headway.tokenizers.reading import read_json_if_there, read_text
from headway.tokenizers.special_tokens import add_tokens, declared_tokens, named_tokens
from headway.tokenizers.tokenizer import Tokenizer

PAIRS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
EXPECTED = "tokenizer.json; vocab.json and merges.txt; encoder.json and vocab.bpe; or one tok*.bin of llama2.c"


def load_tokenizer(path: str | Path) -> Tokenizer:
    """The tokenizer of a model folder, of a llama2.c tokenizer file, or beside a model file.

    In this order: tokenizer.json; vocab.json with merges.txt, also as encoder.json with vocab.bpe; a tok*.bin of llama2.c.

    Errors   TokenizerError where there is none, or its files are broken, cut off or do not belong together.
    """
    path = Path(path)
    if path.is_file() and path.match("tok*.bin"):
        return read_llama2c_tokenizer(path)
    folder = path.parent if path.is_file() else path
    if not folder.is_dir():
        raise TokenizerError(f"came: {path}, which does not exist; expected: a folder with {EXPECTED}")
    if (folder / "tokenizer.json").exists():
        return _load_from_library(folder)
    for vocab, merges in PAIRS:
        present = [name for name in (vocab, merges) if (folder / name).exists()]
        if len(present) == 2:
            return _load_from_library(folder, folder / vocab, folder / merges)
        if present and present != ["vocab.json"]:
            raise TokenizerError(f"came: {folder} with {present[0]} alone; expected: {vocab} and {merges}; download the other one too")
    found = sorted(folder.glob("tok*.bin"))
    if len(found) == 1:
        return read_llama2c_tokenizer(found[0])
    raise TokenizerError(_nothing_found(folder, [each.name for each in found]))


def _nothing_found(folder: Path, binaries: list[str]) -> str:
    if binaries:
        return f"came: {folder} with {', '.join(binaries)}; expected: one tokenizer; pass the path of the one that belongs to the model"
    if (folder / "tokenizer.model").exists():
        return (
            f"came: {folder} with tokenizer.model alone; expected: {EXPECTED}; write a tokenizer.json with transformers: "
            "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"
        )
    return f"came: {folder} without a tokenizer; expected: {EXPECTED}; download the tokenizer's files too"


def _load_from_library(folder: Path, vocab: Path | None = None, merges: Path | None = None) -> LibraryTokenizer:
    config = read_json_if_there(folder / "tokenizer_config.json")
    named = named_tokens(folder, config)
    declared = declared_tokens(folder, config, named.values())
    if vocab and merges:
        backend = build_byte_level(vocab, merges, config, declared)
        found = add_tokens(backend, folder, config, declared, named)
        surround(backend, config, found)
    else:
        backend = _read_tokenizer_json(folder / "tokenizer.json")
        found = add_tokens(backend, folder, config, declared, named)
    # A config may say that special tokens written out in a text are text.
    backend.encode_special_tokens = bool(config.get("split_special_tokens"))
    return LibraryTokenizer(backend, special_tokens=found, chat_templates=read_chat_templates(folder, config))


def _read_tokenizer_json(path: Path) -> tokenizers.Tokenizer:
    text = read_text(path)
    try:
        return tokenizers.Tokenizer.from_str(text)
    # The library raises Exception itself, whatever is wrong.
    except Exception as error:
        raise TokenizerError(
            f"came: {path}, which the tokenizers library does not read ({error}); expected: a whole tokenizer.json; download it again"
        ) from error
