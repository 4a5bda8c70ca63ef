"""Tokenizers whose training leaves rare pairs, and methods of WordPiece, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

RARE_PAIRS = """from collections import Counter


class ByteTokenizer:
    def __init__(self):
        self.merges = {}
        self.vocab = {}

    def merge(self, ids, pair, new_id):
        out, place = [], 0
        while place < len(ids):
            if tuple(ids[place : place + 2]) == pair:
                out.append(new_id)
                place += 2
            else:
                out.append(ids[place])
                place += 1
        return out

    def train(self, text, vocab_size):
        ids = list(text.encode("utf-8"))
        self.vocab = {number: bytes([number]) for number in range(256)}
        self.merges = {}
        for new_id in range(256, vocab_size):
            pair, count = Counter(zip(ids, ids[1:])).most_common(1)[0]
            if count < 20:
                break
            self.merges[pair] = new_id
            self.vocab[new_id] = self.vocab[pair[0]] + self.vocab[pair[1]]
            ids = self.merge(ids, pair, new_id)

    def encode(self, text):
        ids = list(text.encode("utf-8"))
        while len(ids) > 1:
            pair = min(zip(ids, ids[1:]), key=lambda each: self.merges.get(each, float("inf")))
            if pair not in self.merges:
                break
            ids = self.merge(ids, pair, self.merges[pair])
        return ids

    def decode(self, ids):
        return b"".join(self.vocab[each] for each in ids).decode("utf-8", errors="replace")
"""

PIECES = """class WordPieces:
    def __init__(self, vocab):
        self.vocab = vocab

    def merge_pair(self, pair, pieces):
        joined = pair[0] + pair[1][2:]
        merged, place = [], 0
        while place < len(pieces):
            if tuple(pieces[place : place + 2]) == pair:
                merged.append(joined)
                place += 2
            else:
                merged.append(pieces[place])
                place += 1
        return merged
"""

PROGRAMS = (
    Program(
        "ByteTokenizer",
        "bpe_tokenizer",
        RARE_PAIRS,
        (("if count < 20:", "if count > 20:"), ("min(zip(", "max(zip("), ("place += 2", "place += 1")),
    ),
    Program(
        "WordPieces.merge_pair",
        "merge_pair",
        PIECES,
        (("place += 2", "place += 1"), ("pair[0] + pair[1][2:]", "pair[0][2:] + pair[1][2:]")),
    ),
)
