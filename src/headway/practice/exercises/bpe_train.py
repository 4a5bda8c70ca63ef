"""Training a byte-pair encoding: merge the most frequent pair, count again, and repeat."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from headway import files
from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Role, Step
from headway.practice.message import Message
from headway.practice.recipes.byte_pairs import GPT2_CUT, as_bytes, as_characters, counted, cut, pair_of, ranks, read_merges


def recipe(steps: Any, text: str, num_merges: int, special_tokens: Any = None, **rest: Any) -> Any:
    """The definition as named steps: specials, cut, symbols, rounds, counts, left, best, merge."""
    words = [steps.symbols(piece) for piece in steps.cut(text, steps.specials(special_tokens or ()))]
    merges: list[Any] = []
    first: Any = None
    for _ in range(steps.rounds(num_merges)):
        counts = steps.counts(words)
        first = first or dict(counts)
        left = steps.left(counts, first, merges)
        if not left:
            break
        pair = steps.best(left, merges)
        merges.append(pair)
        words = [steps.merge(word, pair) for word in words]
    return tuple(merges)


def definition(text: str, num_merges: int, special_tokens: Any = None, **rest: Any) -> Any:
    """Train over distinct words and their counts; of equally frequent pairs, take the greatest."""
    parts = re.split("|".join(map(re.escape, special_tokens)), text) if special_tokens else [text]
    words = Counter(tuple(as_bytes(word)) for part in parts for word in GPT2_CUT.findall(part))
    merges: list[tuple[bytes, bytes]] = []
    while len(merges) < num_merges:
        pairs: Counter[tuple[bytes, bytes]] = Counter()
        for word, count in words.items():
            for pair in pairwise(word):
                pairs[pair] += count
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        joined: Counter[tuple[bytes, ...]] = Counter()
        for word, count in words.items():
            joined[tuple(pair_of(word, best))] += count
        words = joined
    return tuple(merges)


def greatest(counts: Any, merges: Any) -> Any:
    """Return the most frequent pair; of equally frequent ones, the greatest in bytes."""
    return max(counts, key=lambda pair: (counts[pair], pair))


def first_seen(counts: Any, merges: Any) -> Any:
    """Return the most frequent pair; of equally frequent ones, the first encountered."""
    return max(counts, key=counts.get)


def smallest(counts: Any, merges: Any) -> Any:
    """Return the most frequent pair; of equally frequent ones, the one with the lowest ids."""
    known = ranks(merges)
    return min(counts, key=lambda pair: (-counts[pair], *(known.get(part, 0) for part in pair)))


def _of_distinct(words: Any) -> Any:
    return counted([list(word) for word in dict.fromkeys(map(tuple, words))])


def _first_place_only(word: Any, pair: Any) -> Any:
    for place in range(len(word) - 1):
        if (word[place], word[place + 1]) == pair:
            return [*word[:place], pair[0] + pair[1], *word[place + 2 :]]
    return word


STEPS: dict[str, Step] = {
    "specials": tuple,
    "cut": cut,
    "symbols": as_bytes,
    "rounds": lambda num_merges: num_merges,
    "counts": counted,
    "left": lambda counts, first, merges: counts,
    "best": greatest,
    "merge": pair_of,
}

ASCII = Message("the mistake is not visible in ASCII text", "纯 ASCII 文本看不出来")

MISTAKES = (
    Mistake(
        "characters_not_bytes",
        {"symbols": as_characters},
        Message(
            "splits the text into characters instead of bytes: é and 🙂 are one symbol each, and unseen characters are unknown",
            "文本被拆成了字符而不是字节：é 与 🙂 各是一个符号，没见过的字符则成为未知",
        ),
        Message('start from text.encode("utf-8"): 256 symbols cover any text', '从 text.encode("utf-8") 开始：256 个符号就能覆盖任何文本'),
        hides=ASCII,
        pattern=r"list\(|for .* in|encode",
    ),
    Mistake(
        "merged_across_words",
        {
            "cut": lambda text, specials: [
                part for part in (re.split("|".join(map(re.escape, specials)), text) if specials else [text]) if part
            ]
        },
        Message(
            "merges pairs across word boundaries: tokens contain the end of one word and the space before the next",
            "跨越单词边界合并：产生了包含前一个词的结尾与下一个词前空格的词元",
        ),
        Message(
            "split the text with GPT-2's pattern first, and count and merge within the pieces",
            "先用 GPT-2 的正则切分文本，只在每一片内部统计与合并",
        ),
        pattern=r"encode|findall|split",
    ),
    Mistake(
        "cut_at_spaces",
        {
            "cut": lambda text, specials: [
                piece for part in (re.split("|".join(map(re.escape, specials)), text) if specials else [text]) for piece in part.split()
            ]
        },
        Message(
            "splits the text with split(): spaces are lost, and no token starts with one",
            "用 split() 切分文本：空格丢失，没有以空格开头的词元",
        ),
        Message("keep the space with the following word, as GPT-2's pattern does", "像 GPT-2 的正则那样，把空格留给后面的单词"),
        pattern=r"split\(",
    ),
    Mistake(
        "special_tokens_counted",
        {"specials": lambda specials: ()},
        Message("splits and counts special tokens like ordinary text", "特殊词元像普通文本一样被拆开并统计"),
        Message("split the text at the special tokens first, and leave them out", "先在特殊词元处切开文本，并去掉它们"),
        hides=Message("the mistake is not visible in text without special tokens", "没有特殊词元的文本看不出来"),
        pattern=r"special|split",
    ),
    Mistake(
        "one_round_too_many",
        {"rounds": lambda num_merges: num_merges + 1},
        Message("makes one merge too many", "多做了一次合并"),
        Message("make vocab_size - 256 merges, minus the number of special tokens", "合并次数为 vocab_size - 256，再减去特殊词元的个数"),
        pattern=r"range|while|256",
    ),
    Mistake(
        "one_round_too_few",
        {"rounds": lambda num_merges: num_merges - 1},
        Message("makes one merge too few", "少做了一次合并"),
        Message("make vocab_size - 256 merges, minus the number of special tokens", "合并次数为 vocab_size - 256，再减去特殊词元的个数"),
        pattern=r"range|while|256",
    ),
    Mistake(
        "least_frequent_merged",
        {"best": lambda counts, merges: min(counts, key=lambda pair: (counts[pair], pair))},
        Message("merges the least frequent pair", "合并的是出现最少的对"),
        Message("merge the most frequent pair", "合并出现最多的对"),
        pattern=r"min\(|sort",
    ),
    Mistake(
        "counts_not_taken_anew",
        {"left": lambda counts, first, merges: {pair: count for pair, count in first.items() if pair not in merges}},
        Message(
            "counts the pairs only once, at the start: merged tokens are never merged further",
            "只在开始时统计一次：合并出的词元不会再参与合并",
        ),
        Message("count again after every merge, or update the counts", "每次合并后重新统计，或更新计数"),
        hides=Message("the first merge is correct", "第一次合并是对的"),
        pattern=r"counts|stats",
    ),
    Mistake(
        "distinct_words_counted_once",
        {"counts": _of_distinct},
        Message("counts each distinct word once, regardless of how often it occurs", "每个不同的单词只计一次，与出现次数无关"),
        Message("multiply the pairs of a word by the number of its occurrences", "单词中的对要乘以该单词出现的次数"),
        pattern=r"\+= *1|set\(",
    ),
    Mistake(
        "first_place_only",
        {"merge": _first_place_only},
        Message("merges only the first occurrence in a word", "每个单词中只合并了第一处"),
        Message("process the whole word", "处理整个单词"),
        hides=Message("the mistake is not visible for a pair that occurs once per word", "每个单词中只出现一次的对看不出来"),
        pattern=r"index|break|replace\(.*1\)",
    ),
)


@lru_cache(maxsize=64)
def _file_with(text: str) -> str:
    folder = Path(tempfile.mkdtemp(prefix="headway-"))
    files.write_text(folder / "corpus.txt", text)
    return str(folder / "corpus.txt")


def _total(inputs: Inputs) -> int:
    return 256 + inputs["num_merges"] + len(inputs.get("special_tokens") or ())


def _without(inputs: Inputs, name: str) -> Inputs:
    return {key: value for key, value in inputs.items() if key != name}


def _as_vocab_size(inputs: Inputs) -> Inputs:
    return _without(inputs, "num_merges") | {"vocab_size": _total(inputs)}


def _as_path(inputs: Inputs) -> Inputs:
    return _without(inputs, "text") | {"input_path": _file_with(inputs["text"])}


def _as_ids(inputs: Inputs) -> Inputs:
    return inputs | {"text": list(inputs["text"].encode("utf-8"))}


def _as_texts(inputs: Inputs) -> Inputs:
    return inputs | {"text": [inputs["text"]]}


def _merges(answer: Any, inputs: Inputs) -> Any:
    return read_merges(answer)


SIZES = (Convention(decode=_merges), Convention(encode=_as_vocab_size, decode=_merges, role="vocab_size"))
SOURCES = (
    Convention(),
    Convention(encode=_as_path, role="input_path"),
    Convention(Message("takes bytes as integers", "接收以整数表示的字节"), _as_ids, role="text", named=r"ids|tokens|bytes"),
    Convention(Message("takes a list of texts", "接收文本的列表"), _as_texts, role="text", named=r"texts|corpus|docs|data|lines"),
)
TIES = (
    Convention(),
    Convention(
        Message(
            "of equally frequent pairs, merges the first encountered, as minbpe does", "出现次数相同时，合并最先遇到的对，与 minbpe 相同"
        ),
        steps={"best": first_seen},
    ),
    Convention(
        Message(
            "of equally frequent pairs, merges the one with the lowest ids, as Hugging Face does",
            "出现次数相同时，合并 id 最小的对，与 Hugging Face 相同",
        ),
        steps={"best": smallest},
    ),
)
UNCUT = r"\A(?!(.|\n)*(special_tok|import regex|\bregex\.|\bre\.|findall|finditer|\.split\(|pattern))"
CUTS = (
    Convention(),
    Convention(
        Message(
            "does not split the text into words first, like minbpe's BasicTokenizer: tokens can cross word boundaries",
            "没有先把文本切成单词，与 minbpe 的 BasicTokenizer 相同：词元可能跨越单词",
        ),
        steps={"cut": lambda text, specials: [text]},
        source=UNCUT,
    ),
)

TIE = Message("", "")
BROKEN_OTHERWISE = Message(
    "of equally frequent pairs, merges neither the greatest in bytes (CS336), nor the first encountered (minbpe), nor the one with the lowest ids (Hugging Face)",
    "出现次数相同时，合并的既不是字节最大的对（CS336），也不是最先遇到的（minbpe），也不是 id 最小的（Hugging Face）",
)
PLAIN = "low low low low low lower lower newest newest newest newest newest newest widest widest widest low"
ACCENTS = "né né né né né 🙂🙂 🙂🙂 🙂🙂 déjà déjà né"


def probes() -> tuple[Probe, ...]:
    """Words of different frequency, multi-byte characters, runs, special tokens, and a text with equally frequent pairs."""
    return (
        Probe("words", {"text": PLAIN, "num_merges": 3}),
        Probe("more words", {"text": PLAIN, "num_merges": 6}),
        Probe("multi-byte characters", {"text": ACCENTS, "num_merges": 3}),
        Probe("runs", {"text": "aaaaaa aaaaaa baaa baaa baaa caa", "num_merges": 3}),
        Probe("across words", {"text": "he s he s he s he s he", "num_merges": 2}),
        Probe("special tokens", {"text": "ab ab<|end|>ab abc<|end|>abc ab<|end|>", "num_merges": 2, "special_tokens": ["<|end|>"]}),
        Probe("ties", {"text": "ba ca ba ca da", "num_merges": 2}, TIE, caution=BROKEN_OTHERWISE),
    )


EXERCISE = Exercise(
    name="bpe_train",
    title=Message("training a byte-pair encoding", "训练字节对编码（BPE）"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        Role("text", ("corpus", "data", "s", "string", "texts", "train_text", "training_text", "ids", "tokens", "docs", "raw_text")),
        Role("input_path", ("path", "file", "filename", "file_path", "corpus_path")),
        Role("num_merges", ("n_merges", "merges", "n", "k", "num_iterations", "iterations", "num_merge")),
        Role("vocab_size", ("size", "v", "vocabulary_size", "target_vocab_size", "n_vocab")),
        Role("special_tokens", ("specials", "special", "special_toks"), neutral=None),
        Role("verbose", ("debug",), neutral=False),
    ),
    called=r"train_?(bpe|tokenizer|byte)|bpe_?train|learn_?bpe|(byte_?)?pair_?encoding(?!.*(decode|encode))|^(run_)?train_?bpe$|get_merges",
    probes=probes,
    mistakes=MISTAKES,
    conventions=(SIZES, SOURCES, TIES, CUTS),
    equation="merges ← merges + [the most frequent pair], merged everywhere, num_merges times",
    hints=(
        Message(
            "Start from the bytes of the text, split into words; tokens never cross word boundaries.",
            "从文本的字节开始，先切成单词；词元不会跨越单词边界。",
        ),
        Message(
            "In each round, count all pairs, merge the most frequent one everywhere, and count again.",
            "每一轮：统计所有的对，把最多的一对在各处合并，然后重新统计。",
        ),
        Message(
            "best = max(counts, key=lambda pair: (counts[pair], pair)); words = [merge(word, best) for word in words]",
            "best = max(counts, key=lambda pair: (counts[pair], pair)); words = [merge(word, best) for word in words]",
        ),
    ),
    is_trained_through=False,
)
