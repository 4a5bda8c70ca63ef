"""A tokenizer with byte pairs as a class: trained or given its merges, it encodes text and decodes tokens."""

from __future__ import annotations

import re
from typing import Any

from headway.practice.diagnosis.tokenizer_calls import tokenizer_calls
from headway.practice.exercise import Exercise, Inputs, Mistake, Probe, Role, Step
from headway.practice.exercises import bpe_encode, bpe_train
from headway.practice.exercises.bpe_encode import pairs
from headway.practice.message import Message
from headway.practice.recipes.byte_pairs import as_bytes, cut, in_ids, merged, vocabulary


def recipe(steps: Any, text: str, merges: Any = None, corpus: str = "", num_merges: int = 0, special_tokens: Any = None) -> Any:
    """The definition in the steps of bpe_train and bpe_encode, and: specials, decoded; the output is every token's text and their join."""
    learned = bpe_train.recipe(steps, corpus, num_merges) if merges is None else [tuple(pair) for pair in merges]
    rank = {pair: place for place, pair in enumerate(learned)}
    tokens: list[bytes] = []
    for part in steps.split(text, special_tokens or ()):
        is_special = part in steps.kept(special_tokens or ())
        tokens += [part.encode()] if is_special else [token for piece in cut(part) for token in steps.join(as_bytes(piece), rank)]
    joined = steps.decoded(tokens)
    return (*(token.decode("utf-8", "replace") for token in tokens), joined) if text.isascii() else (joined,)


def definition(text: str, merges: Any = None, corpus: str = "", num_merges: int = 0, special_tokens: Any = None) -> Any:
    """Apply each merge in the order in which it was learned."""
    if merges is None:
        merges = bpe_train.definition(corpus, num_merges)
    table, known = in_ids(merges), vocabulary(merges)
    tokens: list[bytes] = []
    for part in _split(text, special_tokens or ()):
        if part in (special_tokens or ()):
            tokens.append(part.encode())
            continue
        for piece in cut(part):
            ids = list(piece.encode())
            for pair, new_id in table.items():
                ids = merged(ids, pair, new_id)
            tokens += [known[each] for each in ids]
    joined = b"".join(tokens).decode("utf-8", "replace")
    return (*(token.decode("utf-8", "replace") for token in tokens), joined) if text.isascii() else (joined,)


def _split(text: str, special_tokens: Any) -> list[str]:
    """Split a text at its special tokens, longest first, and keep them."""
    if not special_tokens:
        return [text]
    ordered = sorted(special_tokens, key=len, reverse=True)
    return [part for part in re.split("(" + "|".join(map(re.escape, ordered)) + ")", text) if part]


STEPS: dict[str, Step] = {
    **bpe_train.STEPS,
    "join": bpe_encode.STEPS["join"],
    "split": _split,
    "kept": lambda specials: specials,
    "decoded": lambda tokens: b"".join(tokens).decode("utf-8", "replace"),
}
SHARED = {
    "first_match_merged", "last_learned_merged_first", "longest_token_taken", "one_merge_only", "nothing_merged", "one_round_too_many",
    "one_round_too_few", "least_frequent_merged", "counts_not_taken_anew", "first_place_only",
}  # fmt: skip
"""Mistakes of bpe_train and bpe_encode that a tokenizer can make as well."""

MISTAKES = (
    *(each for each in (*bpe_encode.MISTAKES, *bpe_train.MISTAKES) if each.name in SHARED),
    Mistake(
        "special_tokens_split",
        {"kept": lambda specials: (), "split": lambda text, specials: [text]},
        Message("special tokens are encoded like ordinary text", "特殊词元被当作普通文本编码"),
        Message("split the text at special tokens first, and give each its own id", "先在特殊词元处切分文本，每个特殊词元对应自己的 id"),
        None,
        r"special",
    ),
    Mistake(
        "special_tokens_lost",
        {"split": lambda text, specials: [part for part in _split(text, specials) if part not in specials]},
        Message("special tokens are missing from the output", "输出中缺少特殊词元"),
        Message("use a pattern with a group, so that re.split keeps them", "使用带分组的模式，这样 re.split 会保留它们"),
        None,
        r"split",
    ),
    Mistake(
        "decoded_with_spaces",
        {"decoded": lambda tokens: " ".join(token.decode("utf-8", "replace") for token in tokens)},
        Message("decoding puts a space between tokens", "解码时在词元之间加了空格"),
        Message('use b"".join', '使用 b"".join'),
        None,
        r"join",
    ),
    Mistake(
        "decoded_byte_by_byte",
        {"decoded": lambda tokens: "".join(token.decode("utf-8", "replace") for token in tokens)},
        Message(
            "decodes every token on its own: a character whose bytes are in two tokens is lost",
            "逐个词元解码：字节分在两个词元中的字符会丢失",
        ),
        Message('join the bytes of all tokens first, then decode: b"".join(…).decode("utf-8")', '先拼接所有词元的字节再解码：b"".join(…).decode("utf-8")'),
        Message("the mistake is not visible in ASCII text", "纯 ASCII 文本看不出来"),
        r"decode",
    ),
)

SPECIALS = Message("special tokens", "特殊词元")
BEYOND_ASCII = Message("characters beyond ASCII that it was not trained with", "训练时没有出现过的非 ASCII 字符")
SPACES = Message("characters that it was not trained with", "训练时没有出现过的字符")


def probes() -> tuple[Probe, ...]:
    """Tokenizers trained on texts without ties, and tokenizers with given merges; runs, unseen text, characters of several bytes."""
    chain = pairs("b c", "a b", "ab c", "c d", "bc d")
    runs = pairs("a a", "aa a", "b a", "ba aa", "n a", "ba na")
    hello = pairs("l l", "h e", "e ll", "ell o", "he l", "he ll")

    def trained(corpus: str, num_merges: int, text: str) -> Inputs:
        return {"corpus": corpus, "num_merges": num_merges, "text": text}

    return (
        Probe("trained", trained(CORPORA[0], 3, CORPORA[0])),
        Probe("trained, other text", trained(CORPORA[1], 4, CORPORA[2])),
        Probe("trained, one merge", trained(CORPORA[2], 1, CORPORA[2])),
        Probe("trained, unseen characters", trained(CORPORA[1], 2, "xyz"), SPACES),
        Probe("trained, several bytes", trained(CORPORA[0], 2, "né 🙂"), BEYOND_ASCII),
        Probe("order matters", {"text": "hello hell he", "merges": hello}),
        Probe("chain", {"text": "abcd abc bcd ab", "merges": chain}),
        Probe("runs", {"text": "aaaaa banana baaa", "merges": runs}),
        Probe("several bytes", {"text": "né é🙂", "merges": [(b"\xc3", b"\xa9"), (b"\xf0", b"\x9f")]}, BEYOND_ASCII),
        Probe("special tokens", {"text": "abc<|end|>bcd", "merges": chain, "special_tokens": ["<|end|>"]}, SPECIALS),
    )


CORPORA = ("ddbaaaadddcdddddddddddda", "cecaaaecaecaecaecaecabaaaaecadaaaa", "bdcbdbaaabbdbaaaabdb")
"""Texts in whose first merges one pair is always more frequent than all others."""

EXERCISE = Exercise(
    name="bpe_tokenizer",
    title=Message("a tokenizer with byte pairs", "字节对编码的分词器"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(Role("text"), Role("merges", neutral=None), Role("corpus", neutral=""), Role("num_merges", neutral=0), Role("special_tokens", neutral=None)),
    called=r"(bpe|byte_?pair)_?tokeni|byte_?pair_?encoder|bpe_?encoder$",
    also_called=r"^(?!.*(char|word|simple|white|base|abstract|interface|train_|load|get|pre_?token)).*(tokeni[sz]er$|^bpe|byte_?pair)",
    probes=probes,
    mistakes=MISTAKES,
    equation="decode(encode(text)) = text;   encode merges the pair learned first, until none is left",
    hints=(
        Message("Train on bytes: merge the most frequent adjacent pair, count again, and repeat.", "在字节上训练：合并最常见的相邻对，重新计数，再重复。"),
        Message("Encoding applies the merges in the order in which they were learned.", "编码时按学到的顺序应用合并。"),
        Message(
            'decode: b"".join(vocab[i] for i in ids).decode("utf-8", errors="replace")',
            '解码：b"".join(vocab[i] for i in ids).decode("utf-8", errors="replace")',
        ),
    ),
    calls=tokenizer_calls,
    is_trained_through=False,
)
