"""Byte-level BPE from vocab.json and merges.txt, or from encoder.json and vocab.bpe (OpenAI's names)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from headway.errors import TokenizerError
from headway.tokenizers.reading import JsonObject, read_text, read_vocab

QWEN2_PATTERN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
"""Source   transformers, models/qwen2/tokenization_qwen2.py"""
SAVE_HINT = "write a tokenizer.json with transformers: AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"


@cache
def byte_characters() -> dict[str, int]:
    """Return the byte of each character of the byte-level alphabet.

    A printable Latin-1 byte is its own character; the others take the characters from U+0100 on, in order.

    Source   openai/gpt-2, src/encoder.py (bytes_to_unicode)
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {**{chr(byte): byte for byte in printable}, **{chr(256 + index): byte for index, byte in enumerate(others)}}


def build_byte_level(
    vocab_path: Path, merges_path: Path, class_name: str | None, config: JsonObject, declared: Mapping[int, AddedToken]
) -> Tokenizer:
    """Build a tokenizer from a vocabulary and its merges. Text is split as in GPT-2, or as in Qwen2 for a Qwen2Tokenizer.

    declared   added tokens by id; those that the vocabulary lacks are added under these ids

    Errors   TokenizerError for files that are broken, truncated or do not belong together, and for other tokenizer classes.
    """
    if class_name not in (None, "GPT2Tokenizer", "Qwen2Tokenizer"):
        raise TokenizerError(
            f"got {vocab_path.parent} with tokenizer_class {class_name!r} and no tokenizer.json, expected GPT2Tokenizer or Qwen2Tokenizer",
            hint=SAVE_HINT,
        )
    vocab = read_vocab(vocab_path)
    merges = _read_merges(merges_path, vocab, vocab_path)
    ids = set(vocab.values())
    # The library chooses the ids of added tokens itself. Tokens of the vocabulary keep the ids of the files.
    vocab |= {token.content: token_id for token_id, token in declared.items() if token.content not in vocab and token_id not in ids}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    has_space = bool(config.get("add_prefix_space"))
    if class_name == "Qwen2Tokenizer":
        backend.normalizer = normalizers.NFC()
        split = pre_tokenizers.Split(Regex(QWEN2_PATTERN), behavior="isolated", invert=False)
        backend.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=has_space, use_regex=False)])
    else:
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=has_space)
    backend.decoder = decoders.ByteLevel()
    return backend


def set_post_processor(backend: Tokenizer, config: JsonObject, special_tokens: Mapping[str, str]) -> None:
    """Make `encode` add the bos and eos tokens if tokenizer_config.json sets add_bos_token, add_eos_token.

    Errors   TokenizerError if one is set and the token is not named or not in the vocabulary.
    """
    added = [name for name in ("bos_token", "eos_token") if config.get(f"add_{name}")]
    if missing := [name for name in added if backend.token_to_id(special_tokens.get(name, "")) is None]:
        raise TokenizerError(
            f"got tokenizer_config.json with add_{missing[0]} and no {missing[0]}, expected both or neither",
            hint=f"name the {missing[0]} or set add_{missing[0]} to false",
        )
    if added:
        template = [special_tokens[name] if name in added else None for name in ("bos_token", "eos_token")]
        single = [part for part in (template[0], "$A", template[1]) if part]
        tokens = [(content, backend.token_to_id(content)) for content in {special_tokens[name] for name in added}]
        backend.post_processor = processors.TemplateProcessing(single=single, special_tokens=tokens)


def _read_merges(path: Path, vocab: Mapping[str, int], vocab_path: Path) -> list[tuple[str, str]]:
    merges: list[tuple[str, str]] = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        line = line.rstrip("\r")
        if not line or line.startswith("#version"):
            continue
        first, _, second = line.partition(" ")
        if not first or not second or " " in second:
            raise TokenizerError(
                f"got {path}, line {number}: {line!r:.60}, expected two tokens separated by a space", hint="download the file again"
            )
        if missing := next((token for token in (first, second, first + second) if token not in vocab), None):
            raise TokenizerError(
                f"got {path}, line {number}: {line!r:.60}, where {missing!r:.60} is not in {vocab_path.name}, "
                "expected complete files of one model",
                hint="download both files again",
            )
        merges.append((first, second))
    _check_complete(path, merges, vocab)
    return merges


def _check_complete(path: Path, merges: Sequence[tuple[str, str]], vocab: Mapping[str, int]) -> None:
    """Raise TokenizerError if too many tokens of the vocabulary have no merge.

    A file that is truncated between two lines has no invalid line, but leaves tokens that no merge produces.
    A few of those are normal: special tokens, and words that were added by hand.
    """
    merged = {first + second for first, second in merges}
    num_unmerged = sum(len(token) > 1 and token not in merged and not (token[0] in "<[" and token[-1] in ">]") for token in vocab)
    if num_unmerged > max(20, len(vocab) // 100):
        raise TokenizerError(
            f"got {path} with {len(merges)} merges and {num_unmerged} tokens of the vocabulary that no merge produces, "
            "expected a merge for each token",
            hint="the file is truncated or belongs to another model; download it again",
        )
