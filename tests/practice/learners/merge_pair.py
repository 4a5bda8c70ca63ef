# ruff: noqa: B905, C416, RUF005


def right_minbpe(ids, pair, idx):
    newids = []
    i = 0
    while i < len(ids):
        if ids[i] == pair[0] and i < len(ids) - 1 and ids[i + 1] == pair[1]:
            newids.append(idx)
            i += 2
        else:
            newids.append(ids[i])
            i += 1
    return newids


def right_with_a_flag(tokens, pair, new_token):
    out, skip = [], False
    for a, b in zip(tokens, [*tokens[1:], None]):
        if skip:
            skip = False
        elif (a, b) == pair:
            out.append(new_token)
            skip = True
        else:
            out.append(a)
    return out


def wrong_first_occurrence_only(ids, pair, idx):
    for i in range(len(ids) - 1):
        if (ids[i], ids[i + 1]) == pair:
            return ids[:i] + [idx] + ids[i + 2 :]
    return ids


def wrong_second_token_kept(ids, pair, idx):
    out = []
    for i in range(len(ids)):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            out.append(idx)
        else:
            out.append(ids[i])
    return out


def wrong_from_the_right(ids, pair, idx):
    out, i = [], len(ids) - 1
    while i >= 0:
        if i > 0 and (ids[i - 1], ids[i]) == pair:
            out.insert(0, idx)
            i -= 2
        else:
            out.insert(0, ids[i])
            i -= 1
    return out


def wrong_last_token_dropped(ids, pair, idx):
    out, i = [], 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == pair:
            out.append(idx)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def wrong_last_pair_missed(ids, pair, idx):
    out, i = [], 0
    while i < len(ids):
        if i < len(ids) - 2 and (ids[i], ids[i + 1]) == pair:
            out.append(idx)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def wrong_either_order(ids, pair, idx):
    out, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and sorted(ids[i : i + 2]) == sorted(pair):
            out.append(idx)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def wrong_nothing_merged(ids, pair, idx):
    return [t for t in ids]


def right_in_place(ids, pair, idx):
    i = 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == pair:
            ids[i : i + 2] = [idx]
        i += 1
    return ids


def wrong_overlapping_occurrences(ids, pair, idx):
    out = []
    for i, token in enumerate(ids):
        if i < len(ids) - 1 and (token, ids[i + 1]) == pair:
            out.append(idx)
        elif i == 0 or (ids[i - 1], token) != pair:
            out.append(token)
    return out


def right_word_tuple(word, best_pair, new_token_id):
    new_word, k = [], 0
    while k < len(word):
        if k < len(word) - 1 and (word[k], word[k + 1]) == best_pair:
            new_word.append(new_token_id)
            k += 2
        else:
            new_word.append(word[k])
            k += 1
    return tuple(new_word)


def right_written_into_the_list(ids, pair, new_id):
    write = read = 0
    while read < len(ids):
        is_pair = tuple(ids[read : read + 2]) == pair
        ids[write] = new_id if is_pair else ids[read]
        read += 2 if is_pair else 1
        write += 1
    del ids[write:]


def wrong_past_the_end(ids, pair, new_id):
    merged, i = [], 0
    while i + 1 < len(ids):
        is_pair = (ids[i], ids[i + 1]) == pair
        merged.append(new_id if is_pair else ids[i])
        i += 2 if is_pair else 1
    merged.append(ids[i])
    return merged
