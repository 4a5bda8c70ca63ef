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
from headway.tokenizers.sentencepiece_files import MARIAN_FILES, load_llama, load_marian, load_t5
from headway.tokenizers.special_tokens import BERT, add_tokens, declared_tokens, named_tokens, tokenizer_class
from headway.tokenizers.tokenizer import Tokenizer
from headway.tokenizers.wordpiece import build_wordpiece, configure_wordpiece

PAIRS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
EXPECTED = (
    "tokenizer.json; vocab.json and merges.txt; encoder.json and vocab.bpe; source.spm, target.spm and vocab.json; spiece.model; "
    "one tok*.bin of llama2.c; tokenizer.model; or vocab.txt"
)


def load_tokenizer(path: str | Path) -> Tokenizer:
    """The tokenizer of a model folder, of a llama2.c tokenizer file, or beside a model file.

    The first of these that is there:

    tokenizer.json                          everything that the tokenizers library knows, as most folders have it
    vocab.json and merges.txt               GPT-2's and Qwen2's; also as encoder.json and vocab.bpe
    source.spm, target.spm and vocab.json   Marian's; reads one language and writes another
    spiece.model                            T5's
    tok*.bin                                llama2.c's
    tokenizer.model                         Llama 2's
    vocab.txt                               BERT's

    Those of SentencePiece, which end in .spm and .model, need the library `sentencepiece`.

    Errors   TokenizerError where there is none, or its files are broken, cut off or do not belong together, and where
             `sentencepiece` is needed and not installed.
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
    return _load_others(folder)


def _load_others(folder: Path) -> Tokenizer:
    config = read_json_if_there(folder / "tokenizer_config.json")
    kind = tokenizer_class(folder, config)
    if kind == "MarianTokenizer" or any((folder / name).exists() for name in MARIAN_FILES[:2]):
        return load_marian(folder, config)
    if (folder / "spiece.model").exists():
        return load_t5(folder, kind, config)
    binaries = sorted(folder.glob("tok*.bin"))
    if len(binaries) == 1:
        return read_llama2c_tokenizer(binaries[0])
    if binaries:
        names = ", ".join(each.name for each in binaries)
        raise TokenizerError(f"came: {folder} with {names}; expected: one tokenizer; pass the path of the one that belongs to the model")
    if (folder / "tokenizer.model").exists():
        return load_llama(folder, kind, config)
    if (folder / "vocab.txt").exists():
        return _load_from_library(folder, folder / "vocab.txt")
    raise TokenizerError(f"came: {folder} without a tokenizer; expected: {EXPECTED}; download the tokenizer's files too")


def _load_from_library(folder: Path, vocab: Path | None = None, merges: Path | None = None) -> LibraryTokenizer:
    config = read_json_if_there(folder / "tokenizer_config.json")
    kind, named = tokenizer_class(folder, config), named_tokens(folder, config)
    declared = declared_tokens(folder, config, named.values())
    if vocab and merges:
        backend = build_byte_level(vocab, merges, kind, config, declared)
        found = add_tokens(backend, folder, kind, declared, named)
        surround(backend, config, found)
    elif vocab:
        kind = kind or "BertTokenizer"
        backend = build_wordpiece(vocab, kind, config, {**BERT, **named})
        found = add_tokens(backend, folder, kind, declared, named)
    else:
        backend = _read_tokenizer_json(folder / "tokenizer.json")
        configure_wordpiece(backend, kind, config)
        found = add_tokens(backend, folder, kind, declared, named)
    # A config may say that special tokens written out in a text are text.
    backend.encode_special_tokens = bool(config.get("split_special_tokens"))
    # As transformers: what was made for WordPiece is not done to BPE, which knows its spaces.
    cleans_up = config.get("clean_up_tokenization_spaces") is True and not isinstance(backend.model, tokenizers.models.BPE)
    return LibraryTokenizer(backend, special_tokens=found, chat_templates=read_chat_templates(folder, config), cleans_up=cleans_up)


def _read_tokenizer_json(path: Path) -> tokenizers.Tokenizer:
    text = read_text(path)
    try:
        return tokenizers.Tokenizer.from_str(text)
    # The library raises Exception itself, whatever is wrong.
    except Exception as error:
        raise TokenizerError(
            f"came: {path}, which the tokenizers library does not read ({error}); expected: a whole tokenizer.json; download it again"
        ) from error
