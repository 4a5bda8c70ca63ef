"""Decoding byte pairs: concatenate the bytes of all tokens, then decode them as UTF-8."""

from __future__ import annotations

from typing import Any

from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Role, Step
from headway.practice.message import Message
from headway.practice.recipes.byte_pairs import in_ids, vocabulary


def recipe(steps: Any, ids: Any, vocab: Any, **rest: Any) -> Any:
    """The definition as named steps: tokens, read."""
    return steps.read(steps.tokens([vocab[int(token_id)] for token_id in ids]))


def definition(ids: Any, vocab: Any, **rest: Any) -> Any:
    """Decode the bytes; invalid UTF-8 becomes U+FFFD."""
    joined = bytearray()
    for token_id in ids:
        joined += vocab[token_id]
    return joined.decode("utf-8", errors="replace")


def whole(tokens: Any) -> str:
    """Return all bytes together as text."""
    return b"".join(tokens).decode("utf-8", errors="replace")


def _each(errors: str, between: str = "") -> Step:
    return lambda tokens: between.join(token.decode("utf-8", errors=errors) for token in tokens)


STEPS: dict[str, Step] = {"tokens": lambda tokens: tokens, "read": whole}

MISTAKES = (
    Mistake(
        "each_token_read_alone",
        {"read": _each("replace")},
        Message(
            "decodes each token as UTF-8 separately: a character whose bytes are split between tokens becomes U+FFFD (�)",
            "逐个词元按 UTF-8 解码：字节分属多个词元的字符会变成 U+FFFD（�）",
        ),
        Message(
            'concatenate the bytes first: b"".join(tokens).decode("utf-8", errors="replace")',
            '先拼接字节：b"".join(tokens).decode("utf-8", errors="replace")',
        ),
        hides=Message("ASCII letters are never split between tokens", "ASCII 字母不会被拆到多个词元中"),
        pattern=r"decode",
    ),
    Mistake(
        "each_token_read_alone_and_dropped",
        {"read": _each("ignore")},
        Message(
            "decodes each token as UTF-8 separately and drops incomplete bytes: characters split between tokens are lost",
            "逐个词元按 UTF-8 解码，不完整的字节被丢弃：分属多个词元的字符会消失",
        ),
        Message(
            'concatenate the bytes first: b"".join(tokens).decode("utf-8", errors="replace")',
            '先拼接字节：b"".join(tokens).decode("utf-8", errors="replace")',
        ),
        hides=Message("ASCII letters are never split between tokens", "ASCII 字母不会被拆到多个词元中"),
        pattern=r"decode",
    ),
    Mistake(
        "read_as_latin_1",
        {"read": lambda tokens: b"".join(tokens).decode("latin-1")},
        Message("decodes each byte as one character (latin-1, chr): é becomes Ã©", "每个字节当成了一个字符（latin-1、chr）：é 变成了 Ã©"),
        Message('use decode("utf-8")', '使用 decode("utf-8")'),
        hides=Message("ASCII letters are the same in both", "ASCII 字母在两者中相同"),
        pattern=r"latin|chr\(",
    ),
    Mistake(
        "joined_with_spaces",
        {"read": lambda tokens: b" ".join(tokens).decode("utf-8", errors="replace")},
        Message("joins the tokens with spaces: the tokens already contain the spaces", "词元之间加了空格：空格本来就包含在词元里"),
        Message('join without a separator: b"".join(…)', '不加分隔符：b"".join(…)'),
        pattern=r"join",
    ),
    Mistake(
        "bytes_returned",
        {"read": lambda tokens: b"".join(tokens)},
        Message("returns bytes instead of text", "返回的是字节，而不是文本"),
        Message('decode them: .decode("utf-8", errors="replace")', '解码：.decode("utf-8", errors="replace")'),
        pattern=r"return",
    ),
    Mistake(
        "invalid_bytes_dropped",
        {"read": lambda tokens: b"".join(tokens).decode("utf-8", errors="ignore")},
        Message("silently drops bytes that are not valid UTF-8", "不是有效 UTF-8 的字节被悄悄丢弃"),
        Message('use errors="replace", which turns them into U+FFFD', '使用 errors="replace"：它们会变成 U+FFFD'),
        hides=Message("complete texts are decoded correctly", "完整的文本能正确解码"),
        pattern=r"ignore",
    ),
    Mistake(
        "backwards",
        {"tokens": lambda tokens: tokens[::-1]},
        Message("joins the tokens in reverse order", "词元按相反的顺序拼接"),
        Message("keep the order of the tokens", "保持词元的顺序"),
        pattern=r"-1|revers",
    ),
    Mistake(
        "repetitions_lost",
        {"tokens": lambda tokens: list(dict.fromkeys(tokens))},
        Message("drops repeated tokens", "重复出现的词元被去掉了"),
        Message("process the ids one by one", "逐个处理 id"),
        pattern=r"set|dict| in vocab",
    ),
    Mistake(
        "stripped",
        {"read": lambda tokens: whole(tokens).strip()},
        Message("spaces at the start and end are lost", "首尾的空格丢失了"),
        Message("return the text without strip()", "返回文本，不要用 strip()"),
        hides=Message("the mistake is not visible in texts without a space at the start or end", "首尾没有空格的文本看不出来"),
        pattern=r"strip",
    ),
)

MERGES = [
    (b"h", b"e"), (b"l", b"l"), (b"he", b"ll"), (b"hell", b"o"), (b" ", b"w"), (b"\xc3", b"\xa9"), (b"\xf0", b"\x9f"), (b" ", b"\xf0"), (b"\x82", b"!"),
]  # fmt: skip
VOCAB = vocabulary(MERGES)


def _as_list(inputs: Inputs) -> Inputs:
    return inputs | {"vocab": [inputs["vocab"][number] for number in range(len(inputs["vocab"]))]}


def _as_merges(inputs: Inputs) -> Inputs:
    rest = {name: value for name, value in inputs.items() if name != "vocab"}
    return rest | {"merges": in_ids(MERGES)}


VOCABS = (
    Convention(),
    Convention(encode=_as_list),
    Convention(encode=lambda inputs: inputs | {"vocab": {token: number for number, token in inputs["vocab"].items()}}),
    Convention(encode=_as_merges, role="merges"),
    Convention(encode=lambda inputs: _as_merges(inputs) | {"vocab": inputs["vocab"]}, role="merges"),
)
INVALID = Message("bytes that are not valid UTF-8", "不是有效 UTF-8 的字节")


def probes() -> tuple[Probe, ...]:
    """Plain text, characters split between tokens, repetitions, no tokens, and invalid UTF-8."""
    return (
        Probe("plain", {"ids": [259, 260, 111, 114, 108, 100], "vocab": VOCAB}),
        Probe("characters split between tokens", {"ids": [195, 169, 261, 263, 0x9F, 0x99, 264], "vocab": VOCAB}),
        Probe("repeated", {"ids": [257, 97, 257, 97, 97], "vocab": VOCAB}),
        Probe("spaces", {"ids": [32, 259, 32], "vocab": VOCAB}),
        Probe("nothing", {"ids": [], "vocab": VOCAB}),
        Probe("invalid UTF-8", {"ids": [104, 0x99, 105, 195], "vocab": VOCAB}, INVALID),
    )


EXERCISE = Exercise(
    name="bpe_decode",
    title=Message("decoding byte pairs", "字节对编码（解码）"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        Role("ids", ("tokens", "token_ids", "indices", "encoded", "x", "sequence", "input_ids")),
        Role("vocab", ("vocabulary", "id_to_token", "id_to_bytes", "decoder", "itos", "int_to_bytes", "token_bytes")),
        Role("merges", ("merge_rules", "merge_table", "bpe_merges")),
        Role("errors", (), neutral="replace"),
    ),
    called=r"bpe_?dec|decode_?bpe|^(bpe_)?(decode|detokenize)(_ids|_tokens|_text|_bytes)?$",
    probes=probes,
    mistakes=MISTAKES,
    conventions=(VOCABS,),
    equation='b"".join(vocab[id] for id in ids).decode("utf-8", errors="replace")',
    hints=(
        Message(
            "Tokens are bytes, not text: the bytes of a character may be split between tokens.",
            "词元是字节而不是文本：一个字符的字节可能分在多个词元中。",
        ),
        Message("Concatenate all bytes first, then decode them as UTF-8 once.", "先拼接所有字节，再一次性按 UTF-8 解码。"),
        Message(
            'b"".join(vocab[i] for i in ids).decode("utf-8", errors="replace")',
            'b"".join(vocab[i] for i in ids).decode("utf-8", errors="replace")',
        ),
    ),
    is_trained_through=False,
)
