"""Find the tokenizer files in a model folder and load them."""

from __future__ import annotations

from pathlib import Path

import tokenizers

from headway.errors import TokenizerError
from headway.tokenizers.byte_level import build_byte_level, set_post_processor
from headway.tokenizers.chat_template import read_chat_templates
from headway.tokenizers.library import LibraryTokenizer, raise_library_error
from headway.tokenizers.llama2c import read_llama2c_tokenizer
from headway.tokenizers.reading import read_optional_json
from headway.tokenizers.sentencepiece_files import MARIAN_FILES, load_llama, load_marian, load_t5
from headway.tokenizers.special_tokens import BERT, add_tokens, declared_tokens, named_tokens, tokenizer_class
from headway.tokenizers.tokenizer import Tokenizer
from headway.tokenizers.tokenizer_json import read_tokenizer_json
from headway.tokenizers.wordpiece import build_wordpiece, configure_wordpiece

PAIRS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
EXPECTED = (
    "tokenizer.json; vocab.json and merges.txt; encoder.json and vocab.bpe; source.spm, target.spm and vocab.json; spiece.model; "
    "one tok*.bin of llama2.c; tokenizer.model; vocab.txt; or one GGUF file"
)


def load_tokenizer(path: str | Path) -> Tokenizer:
    """Load the tokenizer of a model folder, of the folder of a model file, or from a llama2.c tokenizer file.

    The first of these that exists is used:

    tokenizer.json                          all formats of the tokenizers library; most folders have it
    vocab.json and merges.txt               GPT-2 and Qwen2; also as encoder.json and vocab.bpe
    source.spm, target.spm and vocab.json   Marian, with a source and a target language
    spiece.model                            T5
    tok*.bin                                llama2.c
    tokenizer.model                         Llama 2
    vocab.txt                               BERT
    *.gguf                                  the tokenizer inside of the file; the path of such a file is enough

    The .spm and .model files are SentencePiece models and need the library `sentencepiece`.

    Errors   TokenizerError for a folder without a tokenizer, for files that are broken, truncated or do not belong together, and if
             `sentencepiece` is needed and not installed.
    """
    path = Path(path)
    if path.is_file() and path.match("tok*.bin"):
        return read_llama2c_tokenizer(path)
    if path.suffix == ".gguf" and path.is_file() and (tokenizer := _load_from_gguf(path)):
        return tokenizer
    folder = path.parent if path.is_file() else path
    if not folder.is_dir():
        raise TokenizerError(f"got {path}, which does not exist, expected a folder with {EXPECTED}")
    if (folder / "tokenizer.json").exists():
        return _load_from_library(folder)
    for vocab, merges in PAIRS:
        present = [name for name in (vocab, merges) if (folder / name).exists()]
        if len(present) == 2:
            return _load_from_library(folder, folder / vocab, folder / merges)
        if present and present != ["vocab.json"]:
            raise TokenizerError(f"got {folder} with {present[0]} only, expected {vocab} and {merges}", hint="download the other file too")
    return _load_others(folder)


def _load_others(folder: Path) -> Tokenizer:
    config = read_optional_json(folder / "tokenizer_config.json")
    class_name = tokenizer_class(folder, config)
    if class_name == "MarianTokenizer" or any((folder / name).exists() for name in MARIAN_FILES[:2]):
        return load_marian(folder, config)
    if (folder / "spiece.model").exists():
        return load_t5(folder, class_name, config)
    binaries = sorted(folder.glob("tok*.bin"))
    if len(binaries) == 1:
        return read_llama2c_tokenizer(binaries[0])
    if binaries:
        names = ", ".join(each.name for each in binaries)
        raise TokenizerError(f"got {folder} with {names}, expected one tokenizer", hint="pass the path of the model's tokenizer")
    if (folder / "tokenizer.model").exists():
        return load_llama(folder, class_name, config)
    if (folder / "vocab.txt").exists():
        return _load_from_library(folder, folder / "vocab.txt")
    if any(folder.glob("*.gguf")) and (tokenizer := _load_from_gguf(folder)):
        return tokenizer
    raise TokenizerError(f"got {folder} without a tokenizer, expected {EXPECTED}", hint="download the tokenizer's files too")


def _load_from_gguf(path: Path) -> Tokenizer | None:
    """Return the tokenizer of a GGUF file or of the only one in a folder, None if there is none."""
    # Imported here because it needs NumPy, which the other tokenizers do not.
    from headway.gguf_file import find_gguf
    from headway.tokenizers.gguf import load_gguf_tokenizer

    found = find_gguf(path)
    return load_gguf_tokenizer(found) if found else None


def _load_from_library(folder: Path, vocab: Path | None = None, merges: Path | None = None) -> LibraryTokenizer:
    try:
        return _build(folder, vocab, merges)
    except BaseException as error:
        raise_library_error(error, f"load {folder}")


def _build(folder: Path, vocab: Path | None, merges: Path | None) -> LibraryTokenizer:
    config = read_optional_json(folder / "tokenizer_config.json")
    class_name, named = tokenizer_class(folder, config), named_tokens(folder, config)
    declared = declared_tokens(folder, config, named.values())
    if vocab and merges:
        backend = build_byte_level(vocab, merges, class_name, config, declared)
        special_tokens = add_tokens(backend, folder, class_name, declared, named)
        set_post_processor(backend, config, special_tokens)
    elif vocab:
        class_name = class_name or "BertTokenizer"
        backend = build_wordpiece(vocab, class_name, config, {**BERT, **named})
        special_tokens = add_tokens(backend, folder, class_name, declared, named)
    else:
        backend = read_tokenizer_json(folder / "tokenizer.json")
        configure_wordpiece(backend, class_name, config)
        special_tokens = add_tokens(backend, folder, class_name, declared, named)
    # With split_special_tokens, special tokens that occur in a text are encoded as plain text.
    backend.encode_special_tokens = bool(config.get("split_special_tokens"))
    # As in transformers: the cleanup was designed for WordPiece and is not applied to BPE, which encodes its spaces.
    cleans_up = config.get("clean_up_tokenization_spaces") is True and not isinstance(backend.model, tokenizers.models.BPE)
    chat_templates = read_chat_templates(folder, config)
    return LibraryTokenizer(backend, special_tokens=special_tokens, chat_templates=chat_templates, cleans_up=cleans_up)
