"""Making a tokenizer: a byte-level BPE from texts, one token per character of theirs, or one token per byte."""

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
    """Train a byte-level BPE: start from the 256 bytes, and merge the most frequent pair of neighbours until there are enough tokens.

    Text is cut as GPT-2 cuts it. Of pairs that are equally frequent, the one with the lower ids is merged, so the same texts
    give the same tokenizer. Texts that run out of pairs give fewer tokens.

    texts            texts, and paths of UTF-8 files with text
    vocab_size       how many tokens at most, with the special ones and the bytes
    special_tokens   ids from 0 on; never merged with what stands beside them in the texts; the first begins and ends a text
    named_tokens     special tokens by their part, such as {"pad_token": "<pad>", "eos_token": "</s>"}, behind the others;
                     "bos_token" and "eos_token" take that part from the first special token
    adds_end         whether encode puts the end token behind a text, as models that translate expect

    Errors   OptionError for a vocabulary without room for the bytes, for tokens that are empty or the same, for a part whose
             name does not end in _token, and for adds_end without an end token; TokenizerError for a file that cannot be read.
    Source   Sennrich et al. 2016; Radford et al. 2019, section 2.2
    """
    if "" in special_tokens or len(set(special_tokens)) < len(special_tokens):
        raise OptionError(f"came: special_tokens={tuple(special_tokens)}; expected: texts that are not empty, each once")
    named = _parts_of_tokens(dict.fromkeys(("bos_token", "eos_token"), special_tokens[0]) if special_tokens else {}, named_tokens)
    special_tokens = list(dict.fromkeys([*special_tokens, *named.values()]))
    if vocab_size < 256 + len(special_tokens):
        least = 256 + len(special_tokens)
        raise OptionError(f"came: vocab_size={vocab_size}; expected: at least {least}, for bytes and special tokens; or use byte_tokenizer")
    backend = _byte_level(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[AddedToken(content, special=True, normalized=False) for content in special_tokens],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(_between(texts, special_tokens), trainer)
    return _finished(backend, named, adds_end)


def byte_tokenizer(*, named_tokens: Mapping[str, str] | None = None, adds_end: bool = False) -> LibraryTokenizer:
    """One token per byte, whose id is the byte, and <|endoftext|>, whose id is 256.

    named_tokens   special tokens by their part, such as {"pad_token": "<pad>"}: ids from 257 on; see train_bpe
    adds_end       whether encode puts the end token behind a text

    Errors   OptionError, as train_bpe.

    >>> byte_tokenizer().encode("hé")
    [104, 195, 169]
    """
    named = _parts_of_tokens(dict.fromkeys(("bos_token", "eos_token"), END_OF_TEXT), named_tokens)
    backend = _byte_level(models.BPE(vocab=byte_characters(), merges=[]))
    _add_special(backend, [END_OF_TEXT, *named.values()])
    return _finished(backend, named, adds_end)


def character_tokenizer(
    texts: Iterable[str | Path], *, named_tokens: Mapping[str, str] | None = None, adds_end: bool = False
) -> LibraryTokenizer:
    """One token per character that occurs in the texts, in the order of code points from id 0 on.

    Behind them come <|endoftext|>, then <unk>, which every other character becomes, then the named tokens. Where special
    tokens stand written out in the texts, their own characters do not count.

    texts          texts, and paths of UTF-8 files with text
    named_tokens   special tokens by their part, such as {"pad_token": "<pad>"}; see train_bpe
    adds_end       whether encode puts the end token behind a text

    Errors   OptionError, as train_bpe; PromptError for texts with half a surrogate pair; TokenizerError for a file that cannot
             be read.

    >>> character_tokenizer(["banana"]).encode("abx")
    [0, 1, 4]
    """
    named = _parts_of_tokens({**dict.fromkeys(("bos_token", "eos_token"), END_OF_TEXT), "unk_token": UNKNOWN}, named_tokens)
    special_tokens = [END_OF_TEXT, named["unk_token"], *named.values()]
    characters: set[str] = set()
    for text in _between(texts, special_tokens):
        check_text(text)
        characters.update(text)
    vocab = {content: place for place, content in enumerate([*sorted(characters), *dict.fromkeys(special_tokens)])}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=[], unk_token=named["unk_token"]))
    backend.decoder = decoders.Fuse()
    _add_special(backend, special_tokens)
    return _finished(backend, named, adds_end)


def _byte_level(model: models.Model) -> Tokenizer:
    backend = Tokenizer(model)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return backend


def _parts_of_tokens(default: Mapping[str, str], given: Mapping[str, str] | None) -> dict[str, str]:
    given = dict(given or {})
    if wrong := [f"{name!r}: {content!r}" for name, content in given.items() if not name.endswith("_token") or not content]:
        raise OptionError(f"came: named_tokens with {wrong[0]}; expected: names such as pad_token, and tokens that are not empty")
    return {**default, **given}


def _add_special(backend: Tokenizer, contents: Iterable[str]) -> None:
    backend.add_special_tokens([AddedToken(content, special=True, normalized=False) for content in dict.fromkeys(contents)])


def _finished(backend: Tokenizer, named: Mapping[str, str], adds_end: bool) -> LibraryTokenizer:
    if adds_end:
        if "eos_token" not in named:
            raise OptionError(
                "came: adds_end=True without an end token; expected: one; name it, such as named_tokens={'eos_token': '</s>'}"
            )
        end = named["eos_token"]
        backend.post_processor = processors.TemplateProcessing(single=["$A", end], special_tokens=[(end, backend.token_to_id(end))])
    return LibraryTokenizer(backend, special_tokens=named)


def _between(texts: Iterable[str | Path], special_tokens: Iterable[str]) -> Iterator[str]:
    """The texts between special tokens: a trainer would count a special token's own characters."""
    longest_first = sorted(special_tokens, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
    for text in texts:
        yield from pattern.split(read_text(text) if isinstance(text, Path) else text)
