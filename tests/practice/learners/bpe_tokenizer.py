# ruff: noqa: N801
import json
import re
from collections import Counter
from itertools import pairwise


def _merge(ids, pair, new):
    out, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


class Right_trained:
    def __init__(self):
        self.merges, self.vocab = {}, {i: bytes([i]) for i in range(256)}

    def train(self, text, vocab_size, verbose=False):
        ids = list(text.encode("utf-8"))
        for new in range(256, vocab_size):
            pair = Counter(pairwise(ids)).most_common(1)[0][0]
            ids = _merge(ids, pair, new)
            self.merges[pair], self.vocab[new] = new, self.vocab[pair[0]] + self.vocab[pair[1]]

    def encode(self, text):
        ids = list(text.encode("utf-8"))
        while True:
            pair = min(pairwise(ids), key=lambda pair: self.merges.get(pair, 1e9), default=None)
            if pair not in self.merges:
                return ids
            ids = _merge(ids, pair, self.merges[pair])

    def decode(self, ids):
        return b"".join(self.vocab[i] for i in ids).decode("utf-8", errors="replace")


class Right_characters:
    def __init__(self, num_merges):
        self.num_merges = num_merges

    def fit(self, texts):
        words = [list(text) for text in texts]
        self.rules = []
        for _ in range(self.num_merges):
            pair = Counter(pair for word in words for pair in pairwise(word)).most_common(1)[0][0]
            self.rules.append(pair)
            words = [_merge(word, pair, "".join(pair)) for word in words]

    def tokenize(self, text):
        word = list(text)
        for pair in self.rules:
            word = _merge(word, pair, "".join(pair))
        return word

    def decode(self, tokens):
        return "".join(tokens)


class Right_given:
    def __init__(self, vocab, merges, special_tokens=None):
        self.vocab, self.special = vocab, sorted(special_tokens or [], key=len, reverse=True)
        self.numbers = {token: number for number, token in vocab.items()}
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}

    def encode(self, text):
        parts = re.split("(" + "|".join(map(re.escape, self.special)) + ")", text) if self.special else [text]
        ids = []
        for part in parts:
            if part in self.special:
                ids.append(self.numbers[part.encode()])
                continue
            word = [bytes([byte]) for byte in part.encode("utf-8")]
            while True:
                pair = min(pairwise(word), key=lambda pair: self.ranks.get(pair, 1e9), default=None)
                if pair not in self.ranks:
                    break
                word = _merge(word, pair, pair[0] + pair[1])
            ids += [self.numbers[token] for token in word]
        return ids

    def decode(self, ids):
        return b"".join(self.vocab[number] for number in ids).decode("utf-8", errors="replace")


class Wrong_special_tokens_split(Right_given):
    def __init__(self, vocab, merges, special_tokens=None):
        super().__init__(vocab, merges)


class Wrong_decoded_byte_by_byte(Right_given):
    def decode(self, ids):
        return "".join(self.vocab[number].decode("utf-8", errors="replace") for number in ids)


class Wrong_first_match_merged(Right_trained):
    def encode(self, text):
        ids = list(text.encode("utf-8"))
        place = 0
        while place + 1 < len(ids):
            pair = (ids[place], ids[place + 1])
            if pair in self.merges:
                ids[place : place + 2] = [self.merges[pair]]
                place = 0
            else:
                place += 1
        return ids


class Wrong_one_round_too_few(Right_trained):
    def train(self, text, vocab_size, verbose=False):
        super().train(text, vocab_size - 1)


class Wrong_decoded_with_spaces(Right_trained):
    def decode(self, ids):
        return " ".join(self.vocab[i].decode("utf-8", errors="replace") for i in ids)


class Right_size_with_special_tokens_first:
    def __init__(self, target_vocab_size=300, special_tokens=None):
        self.special_tokens = special_tokens or ["<end>", "<pad>"]
        self.size, self.merges = target_vocab_size, []
        self.vocab = [token.encode() for token in self.special_tokens] + [bytes([byte]) for byte in range(256)]

    def train(self, text):
        parts = [bytes([byte]) for byte in text.encode()]
        while len(self.vocab) < self.size:
            counts = {}
            for pair in zip(parts, parts[1:], strict=False):
                counts[pair] = counts.get(pair, 0) + 1
            if not counts:
                break
            best = max(counts, key=counts.get)
            self.merges.append(best)
            self.vocab.append(b"".join(best))
            parts = self._merged(parts, best)

    def _merged(self, parts, pair):
        merged = []
        for part in parts:
            merged.append(part)
            if len(merged) > 1 and tuple(merged[-2:]) == pair:
                merged[-2:] = [b"".join(pair)]
        return merged

    def encode(self, text):
        parts = [bytes([byte]) for byte in text.encode()]
        for pair in self.merges:
            parts = self._merged(parts, pair)
        return [self.vocab.index(part) for part in parts]

    def decode(self, ids):
        return b"".join(self.vocab[each] for each in ids).decode(errors="replace")


class Right_named_with_own_special_tokens:
    def __init__(self, tokenizer_id, merges, special_tokens=("<pad>", "<end>")):
        self.name, self.merges, self.special_tokens = tokenizer_id, merges, special_tokens

    def _tokens(self):
        return [bytes([byte]) for byte in range(256)] + [first + second for first, second in self.merges]

    def encode(self, text):
        pieces = [bytes([byte]) for byte in text.encode()]
        for pair in self.merges:
            pieces = _merge(pieces, pair, pair[0] + pair[1])
        return [len(self.special_tokens) + self._tokens().index(piece) for piece in pieces]

    def decode(self, ids):
        start = len(self.special_tokens)
        assert self.special_tokens.index("<pad>") == 0
        return b"".join(self._tokens()[each - start] for each in ids if each >= start).decode("utf-8", "replace")


class Right_files_of_ids:
    def __init__(self, vocab_path, merges_path):
        with open(vocab_path, encoding="utf-8") as file:
            self.token_of = {place: token for token, place in json.load(file).items()}
        with open(merges_path, encoding="utf-8") as file:
            pairs = [tuple(map(int, line.split())) for line in file]
        self.new_id = {pair: 256 + place for place, pair in enumerate(pairs)}
        printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
        others = [byte for byte in range(256) if byte not in printable]
        self.byte_of = {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}

    def encode(self, text):
        ids = list(text.encode())
        for pair, new in self.new_id.items():
            ids = _merge(ids, pair, new)
        return ids

    def decode(self, ids):
        return bytes(self.byte_of[each] for place in ids for each in self.token_of[place]).decode("utf-8", "replace")


class Right_words_that_are_tokens:
    def __init__(self, vocab, merges, special_tokens=None):
        self.vocab, self.ids = vocab, {token: i for i, token in vocab.items()}
        self.merges, self.specials = merges, special_tokens or []

    def encode(self, text):
        ids = []
        parts = re.split("(" + "|".join(map(re.escape, self.specials)) + ")", text) if self.specials else [text]
        for part in parts:
            for word in [part] if part in self.specials else re.findall(r" ?\w+|\s|[^\s\w]+", part):
                if word.encode() in self.ids:
                    ids.append(self.ids[word.encode()])
                    continue
                symbols = [bytes([b]) for b in word.encode()]
                for pair in self.merges:
                    symbols = _merge(symbols, pair, pair[0] + pair[1])
                ids += [self.ids[symbol] for symbol in symbols]
        return ids

    def decode(self, ids):
        return b"".join(self.vocab[i] for i in ids).decode("utf-8", errors="replace")
