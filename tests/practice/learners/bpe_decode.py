def right_minbpe(ids, vocab):
    tokens = b"".join(vocab[idx] for idx in ids)
    return tokens.decode("utf-8", errors="replace")


def right_from_merges(ids, merges):
    vocab = {idx: bytes([idx]) for idx in range(256)}
    for (p0, p1), idx in merges.items():
        vocab[idx] = vocab[p0] + vocab[p1]
    return b"".join(vocab[i] for i in ids).decode("utf-8", "replace")


def right_strict(ids, vocab):
    return bytes(byte for i in ids for byte in vocab[i]).decode("utf-8")


def right_inverted(ids, vocab):
    names = {number: token for token, number in vocab.items()}
    out = b""
    for i in ids:
        out = out + names[i]
    return str(out, "utf-8", "replace")


def wrong_each_token_read_alone(ids, vocab):
    return "".join(vocab[i].decode("utf-8", errors="replace") for i in ids)


def wrong_each_token_read_alone_and_dropped(ids, vocab):
    text = ""
    for i in ids:
        text += vocab[i].decode("utf-8", "ignore")
    return text


def wrong_read_as_latin_1(ids, vocab):
    return "".join(chr(byte) for i in ids for byte in vocab[i])


def wrong_joined_with_spaces(ids, vocab):
    return b" ".join(vocab[i] for i in ids).decode("utf-8", errors="replace")


def wrong_bytes_returned(ids, vocab):
    return b"".join(vocab[i] for i in ids)


def wrong_invalid_bytes_dropped(ids, vocab):
    return b"".join(vocab[i] for i in ids).decode("utf-8", errors="ignore")


def wrong_backwards(ids, vocab):
    out = b""
    for i in ids:
        out = vocab[i] + out
    return out.decode("utf-8", errors="replace")


def wrong_repetitions_lost(ids, vocab):
    seen = []
    for i in ids:
        if i not in seen:
            seen.append(i)
    return b"".join(vocab[i] for i in seen).decode("utf-8", errors="replace")


def wrong_stripped(ids, vocab):
    return b"".join(vocab[i] for i in ids).decode("utf-8", errors="replace").strip()


def right_text_tokens(ids, itos):
    return "".join(itos[i] for i in ids)


def wrong_backwards__text_tokens(ids, itos):
    return "".join(itos[i] for i in reversed(ids))
