"""Tokenizers as classes: trained by their constructor, with special tokens and unknown characters, and with what training learns as options."""

from tests.practice.public.program import Program

MERGE = """
    def merged(self, symbols, pair):
        out, i = [], 0
        while i < len(symbols):
            if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == pair:
                out.append(symbols[i] + symbols[i + 1])
                i += 2
            else:
                out.append(symbols[i])
                i += 1
        return out

    def pieces(self, text):
        symbols = list(text)
        for pair in self.merges:
            symbols = self.merged(symbols, pair)
        return symbols
"""

TRAINING = """
def joined(ids, pair, number):
    out = []
    while ids:
        is_pair = tuple(ids[:2]) == pair
        out.append(number if is_pair else ids[0])
        ids = ids[2:] if is_pair else ids[1:]
    return out

def most_frequent(ids):
    counts = {}
    for pair in zip(ids, ids[1:]):
        counts[pair] = counts.get(pair, 0) + 1
    return max(counts, key=counts.get)
"""

PROGRAMS = (
    Program(
        "BPETokenizer",
        "bpe_tokenizer",
        """
from dataclasses import dataclass

@dataclass(frozen=True)
class BPETokenizerParams:
    vocab: dict[int, bytes]
    merges: dict[tuple[int, int], int]

def merge(ids, pair, token):
    out = []
    for each in ids:
        if out and (out[-1], each) == pair:
            out[-1] = token
        else:
            out.append(each)
    return out

class BPETokenizer:
    def __init__(self, params: BPETokenizerParams):
        self.params = params

    def encode(self, string):
        ids = list(string.encode("utf-8"))
        for pair, token in self.params.merges.items():
            ids = merge(ids, pair, token)
        return ids

    def decode(self, indices):
        return b"".join(map(self.params.vocab.get, indices)).decode("utf-8", errors="replace")
""",
        (
            ("self.params.merges.items()", "reversed(self.params.merges.items())"),
            ("map(self.params.vocab.get, indices)", "map(self.params.vocab.get, indices[::-1])"),
            ("ids = merge(ids, pair, token)", "merge(ids, pair, token)"),
        ),
    ),
    Program(
        "CharacterPairs",
        "bpe_tokenizer",
        """
def merge(ids, pair, token):
    out = []
    for each in ids:
        if out and (out[-1], each) == pair:
            out[-1] = token
        else:
            out.append(each)
    return out

class CharacterPairs:
    def __init__(self, characters, merges):
        self.ids, self.merges = {each: place for place, each in enumerate(characters)}, merges
        self.vocab = dict(enumerate(characters))
        for (first, second), token in merges.items():
            self.vocab[token] = self.vocab[first] + self.vocab[second]

    @classmethod
    def from_text(cls, text, num_merges=100):
        characters = sorted(set(text))
        ids, merges = [characters.index(each) for each in text], {}
        for token in range(len(characters), len(characters) + num_merges):
            counts = {}
            for pair in zip(ids, ids[1:]):
                counts[pair] = counts.get(pair, 0) + 1
            best = max(counts, key=counts.get)
            merges[best] = token
            ids = merge(ids, best, token)
        return cls(characters, merges)

    def encode(self, text):
        ids = [self.ids[each] for each in text]
        for pair, token in self.merges.items():
            ids = merge(ids, pair, token)
        return ids

    def decode(self, ids):
        return "".join(self.vocab[each] for each in ids)
""",
        (
            ("in self.merges.items()", "in reversed(self.merges.items())"),
            ("self.vocab[first] + self.vocab[second]", "self.vocab[second] + self.vocab[first]"),
            ("max(counts", "min(counts"),
        ),
    ),
    Program(
        "train_bpe",
        "bpe_train",
        """
def train_bpe(text, num_merges):
    characters = sorted(set(text))
    vocab = dict(enumerate(characters))
    ids, merges = [characters.index(each) for each in text], {}
    for _ in range(num_merges):
        counts = {}
        for pair in zip(ids, ids[1:]):
            counts[pair] = counts.get(pair, 0) + 1
        best = max(counts, key=counts.get, default=None)
        if best is None or counts[best] < 2:
            break
        token = len(vocab)
        vocab[token], merges[best] = vocab[best[0]] + vocab[best[1]], token
        joined, i = [], 0
        while i < len(ids):
            is_pair = tuple(ids[i : i + 2]) == best
            joined.append(token if is_pair else ids[i])
            i += 2 if is_pair else 1
        ids = joined
    return {"vocab": vocab, "merges": merges, "ids": ids}
""",
        (("i += 2 if is_pair else 1", "i += 1"), ("max(counts", "min(counts"), ("range(num_merges)", "range(num_merges - 1)")),
    ),
    Program(
        "train_bpe_on_counts",
        "bpe_train",
        """
from collections import Counter

def train_bpe_on_counts(pre_token_counts, num_merges):
    merges, words = [], dict(pre_token_counts)
    for _ in range(num_merges):
        pairs = Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        words = {merged(word, best): count for word, count in words.items()}
    return merges

def merged(word, pair):
    out = []
    for token in word:
        if out and (out[-1], token) == pair:
            out[-1] = pair[0] + pair[1]
        else:
            out.append(token)
    return tuple(out)
""",
        (("pairs[pair] += count", "pairs[pair] += 1"), ("(pairs[pair], pair)", "(-pairs[pair], pair)")),
    ),
    Program(
        "BytePairTokenizer",
        "bpe_train",
        f"""{TRAINING}
class BytePairTokenizer:
    def train(self, text, vocab_size):
        ids = list(text.encode("utf-8"))
        self.merges = {{}}
        self.vocab = {{place: bytes([place]) for place in range(256)}}
        for number in range(256, vocab_size):
            pair = most_frequent(ids)
            ids = joined(ids, pair, number)
            self.merges[pair] = number
            self.vocab[number] = self.vocab[pair[0]] + self.vocab[pair[1]]

    def decode(self, ids):
        return b"".join(self.vocab[each] for each in ids).decode("utf-8", errors="replace")

    def encode(self, text): ...
""",
        (
            ("ids = joined(ids, pair, number)", "joined(ids, pair, number)"),
            ("range(256, vocab_size)", "range(256, vocab_size - 1)"),
            ("key=counts.get", "key=lambda pair: -counts[pair]"),
        ),
    ),
    Program(
        "BPETokenizer",
        "bpe_train",
        f"""{TRAINING}
class BPETokenizer:
    def __init__(self, vocab_size):
        self.vocab_size = vocab_size
        self.merges = {{}}
        self.vocab = []

    def train(self, text):
        ids = list(text.encode("utf-8"))
        for number in range(256, self.vocab_size):
            pair = most_frequent(ids)
            ids = joined(ids, pair, number)
            self.merges[pair] = number
        self.vocab = ids
        return ids
""",
        (("key=counts.get", "key=lambda pair: -counts[pair]"), ("ids[2:] if is_pair", "ids[1:] if is_pair")),
    ),
    Program(
        "bpe_encode",
        "bpe_encode",
        """
def bpe_encode(text, vocab, vocab_scores):
    ids = [vocab.index(each) for each in text]
    while True:
        best, chosen = -1e10, None
        for place in range(len(ids) - 1):
            text = vocab[ids[place]] + vocab[ids[place + 1]]
            found = vocab.index(text) if text in vocab else -1
            if found != -1 and vocab_scores[found] > best:
                best, chosen = vocab_scores[found], (place, found)
        if chosen is None:
            return ids
        place, found = chosen
        ids = [*ids[:place], found, *ids[place + 2 :]]
""",
        (
            ("vocab_scores[found] > best", "-vocab_scores[found] > best"),
            ("*ids[place + 2 :]", "*ids[place + 1 :]"),
            ("range(len(ids) - 1)", "range(len(ids) - 2)"),
        ),
    ),
    Program(
        "get_freqs",
        "pair_counts",
        """
def get_freqs(token_ids, counts=None):
    counts = {} if counts is None else counts
    for pair in zip(token_ids, token_ids[1:]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts
""",
        (("token_ids[1:]", "token_ids[2:]"), (", 0) + 1", ", 1) + 1")),
    ),
    Program(
        "tallied",
        "pair_counts",
        """
from collections import Counter

def tallied(sequences):
    return Counter(pair for each in sequences for pair in zip(each, each[1:]))
""",
    ),
    Program(
        "merge_couple",
        "merge_pair",
        """
def merge_couple(couple, number, ids):
    for place in range(len(ids) - 1):
        if tuple(ids[place : place + 2]) == couple:
            return ids[:place] + [number] + merge_couple(couple, number, ids[place + 2 :])
    return ids
""",
        (("ids[place + 2 :])", "ids[place + 1 :])"), ("len(ids) - 1", "len(ids) - 2")),
    ),
    Program(
        "Tokenizer",
        "bpe_tokenizer",
        f"""
from collections import Counter

UNKNOWN = "<|unk|>"

class Tokenizer:
    def __init__(self, corpus: str, num_merges: int):
        self.merges = []
        symbols = list(corpus)
        for _ in range(num_merges):
            pairs = Counter(zip(symbols, symbols[1:]))
            if not pairs:
                break
            pair = max(pairs, key=pairs.get)
            self.merges.append(pair)
            symbols = self.merged(symbols, pair)
        known = sorted(set(corpus) | {{a + b for a, b in self.merges}})
        self.names = [UNKNOWN, *known]
        self.ids = {{name: place for place, name in enumerate(self.names)}}
{MERGE}
    def encode(self, text):
        return [self.ids.get(piece, 0) for piece in self.pieces(text)]

    def decode(self, ids):
        return "".join(self.names[each] for each in ids)
""",
        (("key=pairs.get", "key=lambda pair: -pairs[pair]"), ("for pair in self.merges:", "for pair in self.merges[:1]:")),
    ),
    Program(
        "CharTokenizer",
        "bpe_tokenizer",
        f"""
from collections import Counter

class CharTokenizer:
    def __init__(self, vocab_size=300, min_frequency=2, merges=None, stoi=None):
        self.vocab_size, self.min_frequency = vocab_size, min_frequency
        self.merges = merges or []
        self.stoi = stoi or {{}}

    def train(self, text):
        symbols = list(text)
        self.names = ["<bos>", "<eos>", *sorted(set(symbols))]
        while len(self.names) < self.vocab_size + 2:
            pairs = Counter(zip(symbols, symbols[1:]))
            if not pairs or max(pairs.values()) < self.min_frequency:
                break
            pair = pairs.most_common(1)[0][0]
            self.merges.append(pair)
            self.names.append(pair[0] + pair[1])
            symbols = self.merged(symbols, pair)
        self.stoi = {{name: place for place, name in enumerate(self.names)}}
{MERGE}
    def encode(self, text, add_special_tokens=True):
        ids = [self.stoi[piece] for piece in self.pieces(text)]
        return [0, *ids, 1] if add_special_tokens else ids

    def decode(self, ids, skip_special_tokens=True):
        return "".join(self.names[each] for each in ids if each > 1 or not skip_special_tokens)
""",
        (("symbols[i] + symbols[i + 1])", "symbols[i + 1] + symbols[i])"),),
    ),
    Program(
        "BPETokenizer",
        "bpe_tokenizer",
        """
import re
from typing import Dict, Tuple

class BPETokenizer:
    def __init__(self, merges: Dict[Tuple[int, int], int], vocab: Dict[int, bytes], special_token_map: Dict[str, int]):
        self.merges, self.vocab, self.special = merges, vocab, special_token_map
        self.pattern = re.compile("(" + "|".join(map(re.escape, special_token_map)) + ")") if special_token_map else None

    def encode(self, text):
        ids = []
        for part in self.pattern.split(text) if self.pattern else [text]:
            if part in self.special:
                ids.append(self.special[part])
                continue
            piece = list(part.encode("utf-8"))
            for pair, new_id in self.merges.items():
                out, i = [], 0
                while i < len(piece):
                    is_pair = tuple(piece[i : i + 2]) == pair
                    out.append(new_id if is_pair else piece[i])
                    i += 2 if is_pair else 1
                piece = out
            ids += piece
        return ids

    def decode(self, ids):
        return b"".join(self.vocab[each] for each in ids).decode("utf-8", errors="replace")
""",
        (("ids.append(self.special[part])", "pass"),),
    ),
    Program(
        "BPETokenizer",
        "bpe_tokenizer",
        """
from collections import Counter

class BPETokenizer:
    def __init__(self, vocab_size=100):
        self.vocab_size, self.ids, self.merges = vocab_size, {"<unk>": 0, "<pad>": 1}, []

    def train(self, text):
        words = {word: [*word, "</w>"] for word in text.lower().split()}
        counts = Counter(text.lower().split())
        for symbols in words.values():
            for symbol in symbols:
                self.ids.setdefault(symbol, len(self.ids))
        while len(self.ids) < self.vocab_size:
            pairs = Counter()
            for word, symbols in words.items():
                for pair in zip(symbols, symbols[1:]):
                    pairs[pair] += counts[word]
            if not pairs:
                break
            best = max(pairs, key=pairs.get)
            self.merges.append(best)
            self.ids.setdefault("".join(best), len(self.ids))
            words = {word: self.joined(symbols, best) for word, symbols in words.items()}

    def joined(self, symbols, pair):
        out, i = [], 0
        while i < len(symbols):
            is_pair = tuple(symbols[i : i + 2]) == pair
            out.append("".join(pair) if is_pair else symbols[i])
            i += 2 if is_pair else 1
        return out

    def encode(self, text):
        ids = []
        for word in text.lower().split():
            symbols = [*word, "</w>"]
            for pair in self.merges:
                symbols = self.joined(symbols, pair)
            ids += [self.ids.get(symbol, self.ids["<unk>"]) for symbol in symbols]
        return ids

    def decode(self, ids):
        names = {place: name for name, place in self.ids.items()}
        return "".join(names[each] for each in ids).replace("</w>", " ").strip()
""",
        (
            ("max(pairs, key", "min(pairs, key"),
            ("for pair in self.merges:", "for pair in self.merges[::-1]:"),
            ('"".join(names', '" ".join(names'),
        ),
    ),
    Program(
        "UnitTokenizer",
        "bpe_tokenizer",
        """
from collections import Counter

class UnitTokenizer:
    def __init__(self):
        self.rules = []

    def merge(self, units, pair, new_id):
        out, i = [], 0
        while i < len(units):
            is_pair = tuple(units[i : i + 2]) == pair
            out.append(new_id if is_pair else units[i])
            i += 2 if is_pair else 1
        return out

    def fit(self, train_data: list[list[int]], target_vocab_size: int) -> None:
        known = set().union(*train_data)
        new_id = max(known) + 1
        for place in range(target_vocab_size - len(known)):
            pairs = Counter(pair for units in train_data for pair in zip(units, units[1:]))
            if not pairs:
                break
            best = max(pairs, key=pairs.get)
            self.rules.append((best, new_id + place))
            train_data = [self.merge(units, best, new_id + place) for units in train_data]

    def encode(self, sequences: list[list[int]]) -> list[list[int]]:
        for pair, new_id in self.rules:
            sequences = [self.merge(units, pair, new_id) for units in sequences]
        return sequences

    def decode(self, sequences: list[list[int]]) -> list[list[int]]:
        parts = {new_id: pair for pair, new_id in self.rules}

        def spread(units):
            return [each for unit in units for each in (spread(parts[unit]) if unit in parts else [unit])]

        return [spread(units) for units in sequences]
""",
        (("max(pairs, key", "min(pairs, key"), ("in self.rules:\n            seq", "in self.rules[::-1]:\n            seq")),
    ),
    Program(
        "BPETokenizer",
        "bpe_tokenizer",
        """
class BPETokenizer:
    def __init__(self, vocab: list[str], merges: list[tuple[str, str, str]]):
        self.vocab, self.merges = vocab, merges

    def pieces(self, word):
        symbols = [*word, "</w>"]
        for first, second, joined in self.merges:
            place = 0
            while place < len(symbols) - 1:
                if symbols[place : place + 2] == [first, second]:
                    symbols[place : place + 2] = [joined]
                place += 1
        return symbols

    def encode(self, text):
        return [self.vocab.index(symbol) for word in text.split() for symbol in self.pieces(word)]

    def decode(self, ids):
        return "".join(self.vocab[number] for number in ids).replace("</w>", " ").strip()
""",
        (("in self.merges:", "in self.merges[::-1]:"), ("place += 1", "place += 2"), ("return symbols", "return [*word, symbols[-1]]")),
    ),
    Program(
        "BytePairEncoder",
        "bpe_train",
        """
class BytePairEncoder:
    def counts(self, words):
        found = {}
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                found[pair] = found.get(pair, 0) + count
        return found

    def joined(self, word, pair):
        out = []
        for symbol in word:
            is_pair = bool(out) and (out[-1], symbol) == pair
            out[len(out) - is_pair :] = [pair[0] + pair[1] if is_pair else symbol]
        return tuple(out)

    def train(self, corpus, num_merges):
        words = {}
        for word in corpus.lower().split(" "):
            ended = tuple(word + "_")
            words[ended] = words.get(ended, 0) + 1
        self.vocab = {letter: place for place, letter in enumerate(sorted(set(corpus)))}
        size = len(self.vocab)
        for place in range(num_merges):
            found = self.counts(words)
            best_pair = max(found, key=found.get)
            self.vocab[best_pair] = size + place
            words = {self.joined(word, best_pair): count for word, count in words.items()}
        return self.vocab
""",
        (("found.get(pair, 0) + count", "found.get(pair, 0) + 1"), ("key=found.get", "key=lambda pair: -found[pair]")),
    ),
    Program(
        "merge_pair",
        "merge_pair",
        """
word_freqs = {"low": 3, "lower": 1}
splits = {word: list(word) for word in word_freqs}

def merge_pair(a, b, splits):
    for word in word_freqs:
        parts, place = splits[word], 0
        while place < len(parts) - 1:
            if parts[place] == a and parts[place + 1] == b:
                parts = parts[:place] + [a + b] + parts[place + 2 :]
            else:
                place += 1
        splits[word] = parts
    return splits
""",
        (("parts[place + 2 :]", "parts[place + 1 :]"), ("[a + b]", "[b + a]")),
    ),
    Program(
        "Words._merge",
        "merge_pair",
        """
class Words:
    def __init__(self, words):
        self.splits = {word: list(word) for word in words}

    def _merge(self, left, right):
        for parts in self.splits.values():
            place = 0
            while place < len(parts) - 1:
                if (parts[place], parts[place + 1]) == (left, right):
                    parts[place : place + 2] = [left + right]
                place += 1
""",
        (("[left + right]", "[left, right]"), ("len(parts) - 1", "len(parts) - 2")),
    ),
    Program(
        "merge_most_common",
        "merge_pair",
        """
def merge_most_common(tokens, pair):
    number, out = max([255, *tokens]) + 1, []
    while tokens:
        take = 2 if tuple(tokens[:2]) == tuple(pair) else 1
        out.append(number if take == 2 else tokens[0])
        tokens = tokens[take:]
    return out, number
""",
        (("tokens[take:]", "tokens[1:]"), ("out.append(number if take == 2 else tokens[0])", "out.append(tokens[0])")),
    ),
    Program(
        "merge_pairs",
        "merge_pair",
        """
def merge_pairs(pairs, corpus):
    best = max(pairs, key=pairs.get)
    merged = []
    for word in corpus:
        word = list(word)
        for place in range(len(word) - 1):
            if tuple(word[place : place + 2]) == best:
                word[place : place + 2] = ["".join(best)]
        merged.append(word)
    return merged, best
""",
        (("max(pairs", "min(pairs"), ('["".join(best)]', "[best[0]]")),
    ),
    Program(
        "OfFile",
        "bpe_tokenizer",
        """
def ids_in(name):
    with open(name, encoding="utf-8") as file:
        return list(file.read().encode("utf-8"))

def joined(ids, pair, number):
    out = []
    while ids:
        take = 2 if tuple(ids[:2]) == pair else 1
        out.append(number if take == 2 else ids[0])
        ids = ids[take:]
    return out

class OfFile:
    def train(self, train_text, vocab_size):
        ids, self.merges = ids_in(train_text), {}
        self.vocab = {number: bytes([number]) for number in range(256)}
        for number in range(256, vocab_size):
            every = list(zip(ids, ids[1:]))
            pair = max(every, key=every.count)
            ids = joined(ids, pair, number)
            self.merges[pair] = number
            self.vocab[number] = self.vocab[pair[0]] + self.vocab[pair[1]]

    def encode(self, text):
        ids = list(text.encode("utf-8"))
        for pair, number in self.merges.items():
            ids = joined(ids, pair, number)
        return ids

    def decode(self, ids):
        return b"".join(self.vocab[each] for each in ids).decode("utf-8", errors="replace")
""",
        (("key=every.count", "key=lambda pair: -every.count(pair)"), ("range(256, vocab_size)", "range(256, vocab_size + 1)")),
    ),
    Program(
        "MergeTrainer",
        "bpe_train",
        """
from collections import Counter

class MergeTrainer:
    def __init__(self, vocab_size):
        self.vocab_size = vocab_size
        self.vocab = {"[UNK]": 0}
        self.merges = []

    def train(self, corpus):
        words = [[*word, "</w>"] for line in corpus for word in line.split()]
        for symbol in sorted({symbol for word in words for symbol in word}):
            self.vocab.setdefault(symbol, len(self.vocab))
        while len(self.vocab) < self.vocab_size:
            counts = Counter(pair for word in words for pair in zip(word, word[1:]))
            if not counts:
                break
            best = max(counts, key=counts.get)
            self.merges.append(best)
            self.vocab[best[0] + best[1]] = len(self.vocab)
            words = [self.merged(word, best) for word in words]

    def merged(self, word, pair):
        out = []
        for symbol in word:
            if out and (out[-1], symbol) == pair:
                out[-1] += symbol
            else:
                out.append(symbol)
        return out
""",
        (("key=counts.get", "key=lambda pair: -counts[pair]"), ("self.merges.append(best)", "self.merges.append(best[::-1])")),
    ),
    Program(
        "PiecesTokenizer",
        "bpe_tokenizer",
        """
def joined(pieces, pair):
    out = []
    for piece in pieces:
        if out and (out[-1], piece) == pair:
            out[-1] = (*pair,)
        else:
            out.append(piece)
    return ["".join(piece) for piece in out]

class PiecesTokenizer:
    def __init__(self, num_merges):
        self.num_merges = num_merges
        self.merges = []

    def train(self, corpus):
        pieces = list(corpus)
        self.vocab = sorted(set(pieces))
        for _ in range(self.num_merges):
            every = list(zip(pieces, pieces[1:]))
            self.merges.append(max(every, key=every.count))
            pieces = joined(pieces, self.merges[-1])
            self.vocab.append("".join(self.merges[-1]))

    def encode(self, text):
        pieces = list(text)
        for pair in self.merges:
            pieces = joined(pieces, pair)
        return pieces, [self.vocab.index(piece) for piece in pieces]

    def decode(self, ids):
        return "".join(self.vocab[each] for each in ids)
""",
        (("key=every.count", "key=lambda pair: -every.count(pair)"), ("in self.merges:", "in self.merges[1:]:")),
    ),
    Program(
        "tokenize",
        "bpe_encode",
        """
def join_pair(symbols, pair):
    joined, place = [], 0
    while place < len(symbols):
        if tuple(symbols[place : place + 2]) == pair:
            joined.append(symbols[place] + symbols[place + 1])
            place += 2
        else:
            joined.append(symbols[place])
            place += 1
    return joined

def tokenize(words: list[str], merges: list[tuple[str, str]]) -> list[str]:
    tokens = []
    for word in words:
        symbols = list(word)
        for pair in merges:
            symbols = join_pair(symbols, pair)
        tokens.extend(symbols)
    return tokens
""",
        (
            ("for pair in merges:", "for pair in reversed(merges):"),
            ("symbols = join_pair(symbols, pair)", "symbols = join_pair(list(word), pair)"),
            ("for pair in merges:", "for pair in merges[:1]:"),
            ("symbols = list(word)", "symbols = list(word[::-1])"),
        ),
    ),
    Program(
        "count_pairs",
        "pair_counts",
        """
def count_pairs(counts: dict[tuple[bytes, ...], int]):
    totals, words_of = {}, {}
    for word in counts:
        for pair in zip(word, word[1:]):
            totals[pair] = totals.get(pair, 0) + counts[word]
            words_of.setdefault(pair, set()).add(word)
    return totals, words_of
""",
        (("+ counts[word]", "+ len(counts)"),),
    ),
    Program(
        "merge_and_update",
        "merge_pair",
        """
def merge_and_update(word_counts: dict[tuple[bytes, ...], int], pair_counts, pair_to_words, pair):
    for word in list(pair_to_words[pair]):
        times = word_counts.pop(word)
        for old in zip(word, word[1:]):
            pair_counts[old] -= times
            pair_to_words[old].discard(word)
        joined, place = [], 0
        while place < len(word):
            if word[place : place + 2] == pair:
                joined.append(pair[0] + pair[1])
                place += 2
            else:
                joined.append(word[place])
                place += 1
        joined = tuple(joined)
        word_counts[joined] = times
        for new in zip(joined, joined[1:]):
            pair_counts[new] = pair_counts.get(new, 0) + times
            pair_to_words.setdefault(new, set()).add(joined)
    return word_counts, pair_counts, pair_to_words
""",
        (("            pair_counts[old] -= times\n", ""), ("place : place + 2] == pair", "place : place + 2] >= pair")),
    ),
    Program(
        "BPE",
        "bpe_train",
        """
from collections import Counter, defaultdict

def words_of(text):
    return text.split()

class BPE:
    '''Byte-pair encoding of words.'''
    def __init__(self):
        self.merges = {}

    def train(self, corpus, num_merges):
        counts = Counter(word for text in corpus for word in words_of(text))
        splits = {word: [*word] for word in counts}
        for _ in range(num_merges):
            pairs = defaultdict(int)
            for word, count in counts.items():
                for pair in zip(splits[word], splits[word][1:]):
                    pairs[pair] += count
            if not pairs:
                break
            first, second = max(pairs, key=pairs.get)
            self.merges[first, second] = first + second
            for word, parts in splits.items():
                i = 0
                while i < len(parts) - 1:
                    if (parts[i], parts[i + 1]) == (first, second):
                        parts[i : i + 2] = [first + second]
                    i += 1
""",
        (("+= count", "+= 1"), ("max(pairs", "min(pairs"), ("range(num_merges)", "range(num_merges - 1)")),
    ),
)
