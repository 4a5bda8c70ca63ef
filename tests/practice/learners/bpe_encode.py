# ruff: noqa: B905, RUF005, RUF007


def get_stats(ids):
    counts = {}
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


def right_minbpe(text, merges):
    ids = list(text.encode("utf-8"))
    while len(ids) >= 2:
        stats = get_stats(ids)
        pair = min(stats, key=lambda p: merges.get(p, float("inf")))
        if pair not in merges:
            break
        ids = merge(ids, pair, merges[pair])
    return ids


def right_every_merge_in_turn(text, merges):
    tokens = [bytes([b]) for b in text.encode("utf-8")]
    known = {bytes([b]): b for b in range(256)}
    for rank, (a, b) in enumerate(merges):
        tokens = merge(tokens, (a, b), a + b)
        known[a + b] = 256 + rank
    return [known[token] for token in tokens]


def right_ranks_and_vocabulary(text, ranks, vocab):
    parts = [bytes([b]) for b in text.encode("utf-8")]
    while True:
        best, at = None, None
        for i, pair in enumerate(zip(parts[:-1], parts[1:])):
            rank = ranks.get(pair)
            if rank is not None and (best is None or rank < best):
                best, at = rank, i
        if best is None:
            break
        parts = parts[:at] + [parts[at] + parts[at + 1]] + parts[at + 2 :]
    return [vocab[part] for part in parts]


def right_tokens(text, merges):
    rank = {pair: i for i, pair in enumerate(merges)}
    word = [bytes([b]) for b in text.encode("utf-8")]
    while True:
        pairs = [p for p in zip(word, word[1:]) if p in rank]
        if not pairs:
            return word
        a, b = min(pairs, key=rank.get)
        word = merge(word, (a, b), a + b)


def wrong_first_match_merged(text, merges):
    ids = list(text.encode("utf-8"))
    i = 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) in merges:
            ids[i : i + 2] = [merges[ids[i], ids[i + 1]]]
            i = 0
        else:
            i += 1
    return ids


def wrong_last_learned_merged_first(text, merges):
    ids = list(text.encode("utf-8"))
    while True:
        pairs = [p for p in get_stats(ids) if p in merges]
        if not pairs:
            return ids
        pair = max(pairs, key=merges.get)
        ids = merge(ids, pair, merges[pair])


def wrong_longest_token_taken(text, vocab):
    data, ids, i = text.encode("utf-8"), [], 0
    while i < len(data):
        for j in range(len(data), i, -1):
            if data[i:j] in vocab:
                ids.append(vocab[data[i:j]])
                i = j
                break
    return ids


def wrong_longest_token_taken__merges(text, merges):
    vocab = {bytes([b]): b for b in range(256)}
    for rank, (a, b) in enumerate(merges):
        vocab[a + b] = 256 + rank
    return wrong_longest_token_taken(text, vocab)


def wrong_most_frequent_merged(text, merges):
    ids = list(text.encode("utf-8"))
    while True:
        stats = {p: n for p, n in get_stats(ids).items() if p in merges}
        if not stats:
            return ids
        pair = max(stats, key=stats.get)
        ids = merge(ids, pair, merges[pair])


def wrong_most_frequent_alone_merged(text, merges):
    ids = list(text.encode("utf-8"))
    while len(ids) >= 2:
        stats = get_stats(ids)
        pair = max(stats, key=stats.get)
        if pair not in merges:
            break
        ids = merge(ids, pair, merges[pair])
    return ids


def wrong_sorted_by_pair(text, merges):
    ids = list(text.encode("utf-8"))
    for pair, new_id in sorted(merges.items()):
        ids = merge(ids, pair, new_id)
    return ids


def wrong_one_merge_only(text, merges):
    ids = list(text.encode("utf-8"))
    pairs = [p for p in get_stats(ids) if p in merges]
    if pairs:
        pair = min(pairs, key=merges.get)
        ids = merge(ids, pair, merges[pair])
    return ids


def wrong_nothing_merged(text, merges):
    return list(text.encode("utf-8"))


def wrong_code_points_for_bytes(text, merges):
    ids = [ord(c) for c in text]
    while len(ids) >= 2:
        pair = min(get_stats(ids), key=lambda p: merges.get(p, float("inf")))
        if pair not in merges:
            break
        ids = merge(ids, pair, merges[pair])
    return ids


def right_ranks_of_tokens(mergeable_ranks, token, max_rank):
    parts = [bytes([byte]) for byte in token]
    while len(parts) > 1:
        ranks = [mergeable_ranks.get(first + second, float("inf")) for first, second in zip(parts, parts[1:])]
        place = ranks.index(min(ranks))
        if ranks[place] == float("inf") or (max_rank is not None and ranks[place] >= max_rank):
            break
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return parts


def right_one_place_at_a_time(ids, merges):
    rank = {pair: i for i, pair in enumerate(merges)}
    while len(ids) > 1:
        best, at = min((rank.get(pair, len(rank)), i) for i, pair in enumerate(zip(ids, ids[1:])))
        if best == len(rank):
            break
        ids = [*ids[:at], merges[ids[at], ids[at + 1]], *ids[at + 2 :]]
    return ids


def right_pairs_with_new_ids(text, merges):
    ids = list(text.encode("utf-8"))
    for pair, new_id in merges:
        ids = merge(ids, pair, new_id)
    return ids


def right_triples(text, rules):
    ids = list(text.encode("utf-8"))
    for left, right, new_id in rules:
        ids = merge(ids, (left, right), new_id)
    return ids


def right_symbols_of_a_word(word, merges):
    symbols = list(word)
    for a, b in merges:
        i = 0
        while i < len(symbols) - 1:
            if symbols[i] == a and symbols[i + 1] == b:
                symbols[i : i + 2] = [a + b]
            i += 1
    return symbols


def right_symbols_by_rank(word, ranks):
    word = tuple(word)
    while len(word) > 1:
        a, b = min(zip(word, word[1:]), key=lambda pair: ranks.get(pair, float("inf")))
        if (a, b) not in ranks:
            break
        word = tuple(merge(word, (a, b), a + b))
    return word


def right_pairs_written_with_a_space(text, merges):
    symbols = list(text)
    while len(symbols) > 1:
        rank, i = min((merges.get(f"{a} {b}", float("inf")), i) for i, (a, b) in enumerate(zip(symbols, symbols[1:])))
        if rank == float("inf"):
            break
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
    return symbols


def right_joined_texts(text, vocab, merges):
    symbols = [chr(b) for b in text.encode("utf-8")]
    for pair, joined in merges.items():
        symbols = merge(symbols, pair, joined)
    return [vocab[symbol] for symbol in symbols]


def right_linked_list(text, merges):
    nodes = [[b, i - 1, i + 1] for i, b in enumerate(text.encode("utf-8"))]
    alive = [True] * len(nodes)
    while True:
        found = []
        for i, (token, _, after) in enumerate(nodes):
            if alive[i] and after < len(nodes) and (token, nodes[after][0]) in merges:
                found.append((merges[token, nodes[after][0]], i))
        if not found:
            return [node[0] for i, node in enumerate(nodes) if alive[i]]
        new_id, i = min(found)
        gone = nodes[i][2]
        alive[gone] = False
        nodes[i][0], nodes[i][2] = new_id, nodes[gone][2]


def wrong_last_match_merged(text, merges):
    ids = list(text.encode("utf-8"))
    while True:
        last = None
        for pair in zip(ids, ids[1:]):
            if pair in merges:
                last = pair
        if last is None:
            return ids
        ids = merge(ids, last, merges[last])
