# ruff: noqa: B905, RUF005, RUF007
import re
from collections import Counter, defaultdict

PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?[^\W\d_]+| ?\d+| ?[^\s\w]+|\s+(?!\S)|\s+"""


def get_stats(ids, counts=None):
    counts = {} if counts is None else counts
    for pair in zip(ids, ids[1:]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def merge(ids, pair, idx):
    out, i = [], 0
    while i < len(ids):
        if i < len(ids) - 1 and (ids[i], ids[i + 1]) == pair:
            out.append(idx)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def right_basic_train(text, vocab_size):
    ids = list(text.encode("utf-8"))
    merges = {}
    for i in range(vocab_size - 256):
        stats = get_stats(ids)
        if not stats:
            break
        pair = max(stats, key=stats.get)
        ids = merge(ids, pair, 256 + i)
        merges[pair] = 256 + i
    return merges


def right_regex_train(text, vocab_size):
    chunks = [list(chunk.encode("utf-8")) for chunk in re.findall(PATTERN, text)]
    merges, vocab = {}, {i: bytes([i]) for i in range(256)}
    for i in range(vocab_size - 256):
        stats = {}
        for chunk in chunks:
            get_stats(chunk, stats)
        if not stats:
            break
        pair = max(stats, key=stats.get)
        chunks = [merge(chunk, pair, 256 + i) for chunk in chunks]
        merges[pair] = 256 + i
        vocab[256 + i] = vocab[pair[0]] + vocab[pair[1]]
    return merges, vocab


def right_adapter(input_path, vocab_size, special_tokens):
    with open(input_path, encoding="utf-8") as file:
        text = file.read()
    vocab = {i: bytes([i]) for i in range(256)}
    for token in special_tokens or []:
        vocab[len(vocab)] = token.encode("utf-8")
    parts = re.split("|".join(re.escape(token) for token in special_tokens), text) if special_tokens else [text]
    words = Counter()
    for part in parts:
        for match in re.finditer(PATTERN, part):
            words[tuple(bytes([b]) for b in match.group().encode("utf-8"))] += 1
    merges = []
    while len(vocab) < vocab_size:
        counts = defaultdict(int)
        for word, n in words.items():
            for pair in zip(word, word[1:]):
                counts[pair] += n
        if not counts:
            break
        best = max(counts.items(), key=lambda item: (item[1], item[0]))[0]
        merges.append(best)
        vocab[len(vocab)] = best[0] + best[1]
        joined = Counter()
        for word, n in words.items():
            joined[tuple(merge(word, best, best[0] + best[1]))] += n
        words = joined
    return vocab, merges


def right_id_pairs(text, num_merges):
    words = [list(word.encode("utf-8")) for word in re.findall(PATTERN, text)]
    pairs = []
    for i in range(num_merges):
        counts = Counter(pair for word in words for pair in zip(word, word[1:]))
        if not counts:
            return pairs
        top = max(counts.values())
        pair = min(p for p, n in counts.items() if n == top)
        pairs.append(pair)
        words = [merge(word, pair, 256 + i) for word in words]
    return pairs


def _train(
    text, vocab_size, special_tokens=None, *, symbols=None, cut=None, more=0, best=None, anew=True, distinct=False, first_only=False
):
    parts = re.split("|".join(map(re.escape, special_tokens)), text) if special_tokens else [text]
    pieces = [piece for part in parts for piece in (cut or (lambda t: re.findall(PATTERN, t)))(part)]
    words = [(symbols or (lambda t: [bytes([b]) for b in t.encode()]))(piece) for piece in pieces]
    merges, once = [], None
    for _ in range(vocab_size - 256 - len(special_tokens or []) + more):
        counts = Counter()
        for word in dict.fromkeys(map(tuple, words)) if distinct else words:
            counts.update(zip(word, word[1:]))
        once = once or dict(counts)
        counts = counts if anew else {p: n for p, n in once.items() if p not in merges}
        if not counts:
            break
        pair = (best or max)(counts, key=lambda p: (counts[p], p))
        merges.append(pair)
        merged = []
        for word in words:
            if first_only:
                at = next((i for i in range(len(word) - 1) if (word[i], word[i + 1]) == pair), None)
                merged.append(word if at is None else word[:at] + [pair[0] + pair[1]] + word[at + 2 :])
            else:
                merged.append(merge(word, pair, pair[0] + pair[1]))
        words = merged
    return merges


def wrong_characters_not_bytes(text, vocab_size):
    return _train(text, vocab_size, symbols=list)


def wrong_merged_across_words(text, vocab_size, special_tokens=None):
    return _train(text, vocab_size, special_tokens, cut=lambda t: [t])


def wrong_cut_at_spaces(text, vocab_size):
    return _train(text, vocab_size, cut=str.split)


def wrong_cut_into_characters(input_path, vocab_size, special_tokens):
    with open(input_path, encoding="utf-8") as file:
        parts = re.split("|".join(map(re.escape, special_tokens)), file.read())
    pieces = [piece for part in parts for piece in re.findall(PATTERN, part)]
    return _train("\0".join(pieces), vocab_size - len(special_tokens), cut=lambda text: text.split("\0"))


def wrong_first_special_token_only(text, vocab_size, special_tokens=None):
    return _train(text, vocab_size - len((special_tokens or [])[1:]), (special_tokens or [])[:1])


def wrong_special_tokens_counted(text, vocab_size, special_tokens=None):
    return _train(text, vocab_size - len(special_tokens or []))


def wrong_one_round_too_many(text, vocab_size):
    return _train(text, vocab_size, more=1)


def wrong_one_round_too_few(text, vocab_size):
    return _train(text, vocab_size, more=-1)


def wrong_least_frequent_merged(text, vocab_size):
    return _train(text, vocab_size, best=min)


def wrong_counts_not_taken_anew(text, vocab_size):
    return _train(text, vocab_size, anew=False)


def wrong_distinct_words_counted_once(text, vocab_size):
    return _train(text, vocab_size, distinct=True)


def wrong_first_place_only(text, vocab_size):
    return _train(text, vocab_size, first_only=True)


def right_pairs_with_new_ids(text, vocab_size):
    ids, rules = list(text.encode("utf-8")), []
    vocab = {i: bytes([i]) for i in range(256)}
    for new_id in range(256, vocab_size):
        counts = get_stats(ids)
        if not counts:
            break
        pair = max(counts, key=counts.get)
        rules.append((pair, new_id))
        vocab[new_id] = vocab[pair[0]] + vocab[pair[1]]
        ids = merge(ids, pair, new_id)
    return rules, vocab


def right_with_ties_by_the_last_pair(text, vocab_size):
    ids, merges = list(text.encode("utf-8")), []
    for new_id in range(256, vocab_size):
        counts = get_stats(ids)
        if not counts:
            break
        best = max(reversed(counts), key=counts.get)
        ids = merge(ids, best, new_id)
        merges.append((best, new_id))
    return merges


class Right_trainer_of_characters:
    """Numbers the characters in alphabetical order; a merge is a pair of numbers."""

    def __init__(self):
        self.merges = {}
        self.itos = None

    def fit(self, chars, num_merges):
        table = dict(enumerate(sorted(set(chars))))
        number = {character: place for place, character in table.items()}
        ids = [number[character] for character in chars]
        for _ in range(num_merges):
            counts = Counter(zip(ids, ids[1:]))
            (a, b), _ = counts.most_common(1)[0]
            self.merges[a, b] = len(table)
            ids = merge(ids, (a, b), len(table))
            table[len(table)] = table[a] + table[b]
        self.itos = table
        return ids


class Right_trainer_of_bytes:
    def __init__(self, vocab_size, special_tokens=()):
        self.vocab_size = vocab_size
        self.special_tokens = list(special_tokens)
        self.vocab: dict[int, bytes] = {i: bytes([i]) for i in range(256)}
        self.merges: list[tuple[bytes, bytes]] = []

    def train(self, corpus):
        pattern = "|".join(re.escape(token) for token in self.special_tokens)
        parts = re.split(pattern, corpus) if pattern else [corpus]
        words = Counter(word.encode("utf-8") for part in parts for word in re.findall(PATTERN, part))
        split = {word: [bytes([byte]) for byte in word] for word in words}
        while len(self.vocab) + len(self.special_tokens) < self.vocab_size:
            counts = Counter()
            for word, symbols in split.items():
                for pair in zip(symbols, symbols[1:]):
                    counts[pair] += words[word]
            if not counts:
                break
            best = max(counts, key=lambda pair: (counts[pair], pair))
            self.vocab[len(self.vocab)] = best[0] + best[1]
            self.merges.append(best)
            split = {word: merge(symbols, best, best[0] + best[1]) for word, symbols in split.items()}


class Wrong_one_round_too_few__trainer:
    def __init__(self, num_merges):
        self.num_merges = num_merges
        self.merges = []

    def train(self, text):
        ids = list(text.encode("utf-8"))
        for i in range(1, self.num_merges):
            counts = get_stats(ids)
            best = max(counts, key=counts.get)
            ids = merge(ids, best, 255 + i)
            self.merges.append((best, 255 + i))
