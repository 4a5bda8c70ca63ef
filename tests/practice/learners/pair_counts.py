# ruff: noqa: B905, C420, RUF007

from collections import Counter, defaultdict

import numpy as np


def right_get_stats(ids, counts=None):
    counts = {} if counts is None else counts
    for pair in zip(ids, ids[1:]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def right_counter(tokens):
    return Counter(zip(tokens[:-1], tokens[1:]))


def right_default_dict(ids):
    counts = defaultdict(int)
    for i in range(len(ids) - 1):
        counts[ids[i], ids[i + 1]] += 1
    return counts


def right_arrays(ids):
    ids = np.array(ids)
    pairs, counts = np.unique(np.stack([ids[:-1], ids[1:]], axis=1), axis=0, return_counts=True)
    return {tuple(pair): count for pair, count in zip(pairs, counts)}


def wrong_last_pair_missing(ids):
    counts = {}
    for i in range(len(ids) - 2):
        counts[ids[i], ids[i + 1]] = counts.get((ids[i], ids[i + 1]), 0) + 1
    return counts


def wrong_every_other_pair(ids):
    return Counter(zip(ids[::2], ids[1::2]))


def wrong_runs_counted_once(ids):
    counts, i = {}, 0
    while i < len(ids) - 1:
        counts[ids[i], ids[i + 1]] = counts.get((ids[i], ids[i + 1]), 0) + 1
        i += 2 if ids[i : i + 3] == [ids[i]] * 3 else 1
    return counts


def wrong_order_lost(ids):
    return Counter(tuple(sorted(pair)) for pair in zip(ids, ids[1:]))


def wrong_counted_once_each(ids):
    return {pair: 1 for pair in zip(ids, ids[1:])}


def wrong_counted_one_too_few(ids):
    counts = {}
    for pair in zip(ids, ids[1:]):
        if pair not in counts:
            counts[pair] = 0
        else:
            counts[pair] += 1
    return counts


def wrong_tokens_not_pairs(ids):
    return Counter(ids)


def wrong_end_joined_to_start(ids):
    return Counter((ids[i - 1], ids[i]) for i in range(len(ids)))


def wrong_earlier_counts_lost(ids, counts=None):
    return Counter(zip(ids, ids[1:]))


def right_words_with_counts_in_a_list(words):
    counts = Counter()
    for symbols, freq in words:
        for pair in zip(symbols, symbols[1:]):
            counts[pair] += freq
    return counts


def right_with_places(words):
    counts, places = defaultdict(int), defaultdict(set)
    for place, (word, freq) in enumerate(words.items()):
        for pair in zip(word, word[1:]):
            counts[pair] += freq
            places[pair].add(place)
    return counts, places


def right_splits(splits, word_freqs):
    counts = Counter()
    for word, freq in word_freqs.items():
        for pair in zip(splits[word], splits[word][1:]):
            counts[pair] += freq
    return counts


def right_words_apart(words, freqs):
    counts = {}
    for word, freq in zip(words, freqs):
        for pair in zip(word, word[1:]):
            counts[pair] = counts.get(pair, 0) + freq
    return counts


def wrong_last_pair_missing__with_counts(words):
    counts = Counter()
    for symbols, freq in words:
        for i in range(len(symbols) - 2):
            counts[symbols[i], symbols[i + 1]] += freq
    return counts


def right_set_of_pairs(word):
    pairs, before = set(), word[0]
    for symbol in word[1:]:
        pairs.add((before, symbol))
        before = symbol
    return pairs


def right_list_of_distinct_pairs(ids):
    return list(set(zip(ids, ids[1:])))
