"""Make a tokenizer: a byte-level BPE trained on texts, one token per character of the texts, or one token per byte."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from headway.errors import OptionError
from headway.tokenizers.byte_level import byte_characters
from headway.tokenizers.library import LibraryTokenizer
from headway.tokenizers.reading import read_text
from headway.tokenizers.special_tokens import END_OF_TEXT
from headway.tokenizers.tokenizer import check_text

UNKNOWN = "<unk>"


def train_bpe(
    texts: Iterable[str | Path],
    vocab_size: int,
    *,
    special_tokens: Sequence[str] = (END_OF_TEXT,),
    named_tokens: Mapping[str, str] | None = None,
    adds_end: bool = False,
) -> LibraryTokenizer:
    """Train a byte-level BPE: start from the 256 bytes and merge the most frequent pair of neighbors until there are enough tokens.

    Text is split as in GPT-2. Among equally frequent pairs, the one with the lower ids is merged, so the same texts always give the
    same tokenizer. Texts that run out of pairs give fewer tokens.

    texts            texts, and paths of UTF-8 text files
    vocab_size       maximum number of tokens, including the special tokens and the bytes
    special_tokens   ids from 0 on; never merged with the text around them; the first is the bos and the eos token
    named_tokens     special tokens by name, such as {"pad_token": "<pad>", "eos_token": "</s>"}, with ids after the others;
                     "bos_token" and "eos_token" replace the first special token in that role
    adds_end         make encode add the eos token, as translation models expect

    Errors   OptionError for a vocab_size smaller than the bytes and special tokens, for empty or duplicate tokens, for a name that
             does not end in _token, and for adds_end without an eos token; TokenizerError for a file that cannot be read.
    Source   Sennrich et al. 2016; Radford et al. 2019, section 2.2
    """
    if "" in special_tokens or len(set(special_tokens)) < len(special_tokens):
        raise OptionError(f"got special_tokens={tuple(special_tokens)}, expected different texts that are not empty")
    first = dict.fromkeys(("bos_token", "eos_token"), special_tokens[0]) if special_tokens else {}
    named = _merge_named_tokens(first, named_tokens)
    special_tokens = list(dict.fromkeys([*special_tokens, *named.values()]))
    if vocab_size < 256 + len(special_tokens):
        raise OptionError(
            f"got vocab_size={vocab_size}, expected at least {256 + len(special_tokens)} for the bytes and special tokens",
            hint="use byte_tokenizer for bytes alone",
        )
    backend = _byte_level(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[AddedToken(content, special=True, normalized=False) for content in special_tokens],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(_split_at_special_tokens(texts, special_tokens), trainer)
    return _wrap(backend, named, adds_end)


def byte_tokenizer(*, named_tokens: Mapping[str, str] | None = None, adds_end: bool = False) -> LibraryTokenizer:
    """Return a tokenizer with one token per byte, whose id is the byte, and <|endoftext|> with id 256.

    named_tokens   special tokens by name, such as {"pad_token": "<pad>"}, with ids from 257 on; see train_bpe
    adds_end       make encode add the eos token

    Errors   OptionError as in train_bpe.

    >>> byte_tokenizer().encode("hé")
    [104, 195, 169]
    """
    named = _merge_named_tokens(dict.fromkeys(("bos_token", "eos_token"), END_OF_TEXT), named_tokens)
    backend = _byte_level(models.BPE(vocab=byte_characters(), merges=[]))
    _add_special(backend, [END_OF_TEXT, *named.values()])
    return _wrap(backend, named, adds_end)


def character_tokenizer(
    texts: Iterable[str | Path], *, named_tokens: Mapping[str, str] | None = None, adds_end: bool = False
) -> LibraryTokenizer:
    """Return a tokenizer with one token per character of the texts, in the order of code points from id 0 on.

    The next ids are <|endoftext|>, <unk> (for all other characters) and the named tokens. The characters of special tokens that
    occur in the texts do not count.

    texts          texts, and paths of UTF-8 text files
    named_tokens   special tokens by name, such as {"pad_token": "<pad>"}; see train_bpe
    adds_end       make encode add the eos token

    Errors   OptionError as in train_bpe; PromptError for texts with lone surrogates; TokenizerError for a file that cannot be read.

    >>> character_tokenizer(["banana"]).encode("abx")
    [0, 1, 4]
    """
    named = _merge_named_tokens({**dict.fromkeys(("bos_token", "eos_token"), END_OF_TEXT), "unk_token": UNKNOWN}, named_tokens)
    special_tokens = [END_OF_TEXT, named["unk_token"], *named.values()]
    characters: set[str] = set()
    for text in _split_at_special_tokens(texts, special_tokens):
        check_text(text)
        characters.update(text)
    vocab = {content: index for index, content in enumerate([*sorted(characters), *dict.fromkeys(special_tokens)])}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=[], unk_token=named["unk_token"]))
    backend.decoder = decoders.Fuse()
    _add_special(backend, special_tokens)
    return _wrap(backend, named, adds_end)


def _byte_level(model: models.Model) -> Tokenizer:
    backend = Tokenizer(model)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return backend


def _merge_named_tokens(default: Mapping[str, str], given: Mapping[str, str] | None) -> dict[str, str]:
    given = dict(given or {})
    if invalid := [f"{name!r}: {content!r}" for name, content in given.items() if not name.endswith("_token") or not content]:
        raise OptionError(f"got named_tokens with {invalid[0]}, expected names such as pad_token, and tokens that are not empty")
    return {**default, **given}


def _add_special(backend: Tokenizer, contents: Iterable[str]) -> None:
    backend.add_special_tokens([AddedToken(content, special=True, normalized=False) for content in dict.fromkeys(contents)])


def _wrap(backend: Tokenizer, named: Mapping[str, str], adds_end: bool) -> LibraryTokenizer:
    if adds_end:
        if "eos_token" not in named:
            raise OptionError(
                "got adds_end=True without an eos token, expected one", hint="name it, such as named_tokens={'eos_token': '</s>'}"
            )
        end = named["eos_token"]
        backend.post_processor = processors.TemplateProcessing(single=["$A", end], special_tokens=[(end, backend.token_to_id(end))])
    return LibraryTokenizer(backend, special_tokens=named)


def _split_at_special_tokens(texts: Iterable[str | Path], special_tokens: Iterable[str]) -> Iterator[str]:
    """Yield the texts without the special tokens in them, whose characters a trainer would count."""
    longest_first = sorted(special_tokens, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
    for text in texts:
        yield from pattern.split(read_text(text) if isinstance(text, Path) else text)
