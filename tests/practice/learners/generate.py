import numpy as np


def right_list(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        logits = model(ids[-context_size:])
        ids.append(int(np.argmax(logits[-1])))
    return ids


def right_new_tokens_only(model, prompt, max_new_tokens, context_size=1024, eos_id=None):
    ids, new = list(prompt), []
    while len(new) < max_new_tokens:
        token = int(np.argmax(model(ids[-context_size:])[-1]))
        if token == eos_id:
            break
        ids.append(token)
        new.append(token)
    return new


def right_stop_token_kept(model, ids, n, block_size, stop_token=None):
    out = np.array(ids)
    for _ in range(n):
        token = model(out[-block_size:])[-1].argmax()
        out = np.append(out, token)
        if token == stop_token:
            break
    return out


def right_yields(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        token = int(model(ids[-context_size:])[-1].argmax())
        ids.append(token)
        yield token


def right_max_length(model, tokens, max_length):
    tokens = list(tokens)
    while len(tokens) < max_length:
        tokens.append(int(model(tokens[-model.block_size :])[-1].argmax()))
    return tokens


def right_last_logits(next_token_logits, prompt_ids, num_tokens, context_size):
    out = list(prompt_ids)
    for _ in range(num_tokens):
        scores = next_token_logits(out[-context_size:])
        out.append(max(range(len(scores)), key=lambda i: scores[i]))
    return out


def right_plain_lists(model, prompt, n_tokens, context_size):
    ids = list(prompt)
    for _ in range(n_tokens):
        last = model(ids[-context_size:])[-1]
        ids.append(last.index(max(last)))
    return ids


def right_recursion(model, prompt, max_new_tokens, context_size):
    if max_new_tokens == 0:
        return list(prompt)
    token = int(np.argmax(model(list(prompt)[-context_size:])[-1]))
    return right_recursion(model, [*prompt, token], max_new_tokens - 1, context_size)


def wrong_logits_of_first_position(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        ids.append(int(np.argmax(model(ids[-context_size:])[0])))
    return ids


def wrong_logits_of_last_but_one(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        logits = model(ids[-context_size:])
        ids.append(int(np.argmax(logits[:-1][-1] if len(logits) > 1 else logits[-1])))
    return ids


def wrong_mean_of_all_positions(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        ids.append(int(np.argmax(model(ids[-context_size:]).sum(axis=0))))
    return ids


def wrong_argmax_over_all_positions(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        ids.append(int(np.argmax(model(ids[-context_size:]))))
    return ids


def wrong_argmax_over_positions(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        ids.append(int(np.argmax(model(ids[-context_size:]), axis=0)[-1]))
    return ids


def wrong_least_likely_taken(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        ids.append(int(np.argsort(model(ids[-context_size:])[-1])[0]))
    return ids


def wrong_context_not_cropped(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        ids.append(int(np.argmax(model(ids)[-1])))
    return ids


def wrong_first_tokens_kept(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        ids.append(int(np.argmax(model(ids[:context_size])[-1])))
    return ids


def wrong_window_one_too_short(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        ids.append(int(np.argmax(model(ids[-context_size + 1 :])[-1])))
    return ids


def wrong_context_not_cropped__by_one(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        ids.append(int(np.argmax(model(ids[-context_size - 1 :])[-1])))
    return ids


def wrong_cropped_tokens_lost(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        ids = ids[-context_size:]
        ids.append(int(np.argmax(model(ids)[-1])))
    return ids


def wrong_only_last_token_given(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        ids.append(int(np.argmax(model(ids[-1:])[-1])))
    return ids


def wrong_only_prompt_given(model, prompt, max_new_tokens, context_size):
    prompt, new = list(prompt), []
    for _ in range(max_new_tokens):
        new.append(int(np.argmax(model(prompt[-context_size:])[-1])))
    return prompt + new


def wrong_token_not_appended(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        np.append(ids, np.argmax(model(ids[-context_size:])[-1]))
    return ids


def wrong_token_put_in_front(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        ids.insert(0, int(np.argmax(model(ids[-context_size:])[-1])))
    return ids


def wrong_last_token_overwritten(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        ids[-1] = int(np.argmax(model(ids[-context_size:])[-1]))
    return ids


def wrong_one_too_many(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(max_new_tokens + 1):
        ids.append(int(np.argmax(model(ids[-context_size:])[-1])))
    return ids


def wrong_one_too_few(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    for _ in range(1, max_new_tokens):
        ids.append(int(np.argmax(model(ids[-context_size:])[-1])))
    return ids


def wrong_prompt_counted(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    while len(ids) < max_new_tokens:
        ids.append(int(np.argmax(model(ids[-context_size:])[-1])))
    return ids


def wrong_stop_token_ignored(model, prompt, max_new_tokens, context_size, eos_id=None):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        ids.append(int(np.argmax(model(ids[-context_size:])[-1])))
    return ids


def wrong_stop_token_of_prompt_counts(model, prompt, max_new_tokens, context_size, eos_id=None):
    ids = list(prompt)
    for _ in range(max_new_tokens):
        token = int(np.argmax(model(ids[-context_size:])[-1]))
        if eos_id in [*ids, token]:
            break
        ids.append(token)
    return ids


def wrong_prompt_twice(model, prompt, max_new_tokens, context_size):
    return [*prompt, *right_list(model, prompt, max_new_tokens, context_size)]


def wrong_last_token_only(model, prompt, max_new_tokens, context_size):
    return right_list(model, prompt, max_new_tokens, context_size)[-1:]


def right_appends_to_prompt(model, prompt, max_new_tokens, context_size):
    for _ in range(max_new_tokens):
        prompt.append(int(np.argmax(model(prompt[-context_size:])[-1])))
    return prompt


def right_cache_returned(model, prompt, max_new_tokens):
    ids = list(prompt)
    logits, cache = model(ids, None)
    for _ in range(max_new_tokens):
        token = int(np.argmax(logits[-1]))
        ids.append(token)
        if len(ids) < len(prompt) + max_new_tokens:
            logits, cache = model([token], cache)
    return ids


def right_cache_of_ones_own(model, prompt, max_new_tokens, eos_id=None):
    kv_cache = {"k": [], "v": []}
    ids, new = list(prompt), list(prompt)
    for _ in range(max_new_tokens):
        token = int(np.argmax(model(new, kv_cache=kv_cache)[-1]))
        if token == eos_id:
            break
        ids.append(token)
        new = [token]
    return ids


def right_start_pos(model, prompt, max_new_tokens):
    """Keys and values are kept inside the model."""
    tokens, prev_pos = list(prompt), 0
    for cur_pos in range(len(prompt), len(prompt) + max_new_tokens):
        logits = model.forward(np.array(tokens[prev_pos:cur_pos]), prev_pos)
        tokens.append(int(logits[-1].argmax()))
        prev_pos = cur_pos
    return tokens


def right_cache_begun_anew_when_full(model, prompt, max_new_tokens, context_size):
    ids = list(prompt)
    cache, new = model.make_cache(), ids[-context_size:]
    for _ in range(max_new_tokens):
        if cache.get_seq_length() + len(new) > context_size:
            cache, new = model.make_cache(), ids[-context_size:]
        ids.append(int(np.argmax(model(new, cache=cache)[-1])))
        new = ids[-1:]
    return ids


class right_generator:
    def __init__(self, model):
        self.model = model
        self.cache = None

    def prefill(self, prompt):
        logits, self.cache = self.model(prompt, None)
        return int(np.argmax(logits[-1]))

    def decode(self, token):
        logits, self.cache = self.model([token], self.cache)
        return int(np.argmax(logits[-1]))

    def generate(self, prompt, max_new_tokens):
        new = [self.prefill(list(prompt))]
        while len(new) < max_new_tokens:
            new.append(self.decode(new[-1]))
        return list(prompt) + new


def wrong_cache_of_prompt_kept(model, prompt, max_new_tokens):
    tokens = list(prompt)
    logits, cache = model(prompt, None)
    for _ in range(max_new_tokens):
        token = int(np.argmax(logits[-1]))
        tokens.append(token)
        logits, _ = model(np.array([token]), cache)
    return np.array(tokens)


def wrong_cache_not_passed(model, prompt, max_new_tokens):
    ids = new = list(prompt)
    for _ in range(max_new_tokens):
        logits, cache = model(new, None)
        ids = [*ids, int(np.argmax(logits[-1]))]
        new = ids[-1:]
    return ids


def wrong_cache_not_passed__new_each_time(model, prompt, max_new_tokens):
    ids = new = list(prompt)
    for _ in range(max_new_tokens):
        kv_cache = {}
        ids = [*ids, int(np.argmax(model(new, kv_cache=kv_cache)[-1]))]
        new = ids[-1:]
    return ids


def wrong_whole_text_beside_cache(model, prompt, max_new_tokens):
    ids, cache = list(prompt), None
    for _ in range(max_new_tokens):
        logits, cache = model(ids, cache)
        ids.append(int(np.argmax(logits[-1])))
    return ids


def wrong_end_of_prompt_given_twice(model, prompt, max_new_tokens):
    ids = list(prompt)
    _, cache = model(ids, None)
    for _ in range(max_new_tokens):
        logits, cache = model(ids[-1:], cache)
        ids.append(int(np.argmax(logits[-1])))
    return ids


def wrong_logits_of_first_position__cached(model, prompt, max_new_tokens):
    ids, new, cache = list(prompt), list(prompt), None
    for _ in range(max_new_tokens):
        logits, cache = model(new, cache)
        new = [int(np.argmax(logits[0]))]
        ids += new
    return ids


def wrong_one_too_many__cached(model, prompt, max_new_tokens):
    ids, cache = list(prompt), None
    logits, cache = model(ids, cache)
    ids.append(int(np.argmax(logits[-1])))
    for _ in range(max_new_tokens):
        logits, cache = model(ids[-1:], cache)
        ids.append(int(np.argmax(logits[-1])))
    return ids


class wrong_last_token_only(right_generator):
    def generate(self, prompt, max_new_tokens):
        token = self.prefill(list(prompt))
        for _ in range(max_new_tokens - 1):
            token = self.decode(token)
        return [token]


class wrong_not_repeatable(right_generator):
    def generate(self, prompt, max_new_tokens):
        new = list(prompt)
        ids = list(prompt)
        for _ in range(max_new_tokens):
            logits, self.cache = self.model(new, self.cache)  # begins where the text before ended
            new = [int(np.argmax(logits[-1]))]
            ids += new
        return ids


def right_without_a_context_size(model, prompt, max_new_tokens, cache=None):
    was_training, ids = model.training, list(prompt)
    for _ in range(max_new_tokens):
        ids.append(int(np.argmax(model(ids)[-1])))
    assert not was_training and cache is None
    return ids


def right_of_text(model, tokenizer, text, max_tokens):
    ids = tokenizer.encode(text)
    for _ in range(max_tokens):
        ids.append(int(np.argmax(model(np.array(ids))[-1])))
        if ids[-1] == tokenizer.eos_token_id:
            break
    return tokenizer.decode(ids)


def right_with_logits_that_hold_their_data(model, idx, max_new_tokens):
    out = np.asarray(idx)
    out = out[None, :] if out.ndim == 1 else out
    for _ in range(max_new_tokens):
        logits, _ = model.forward(out[:, -model.config.block_size :])
        out = np.concatenate([out, logits.data[:, -1, :].argmax(-1)[:, None]], axis=1)
    return out


def wrong_one_too_many__text(model, tokenizer, text, max_tokens):
    ids = tokenizer.encode(text)
    for _ in range(max_tokens + 1):
        ids.append(int(np.argmax(model(np.array(ids))[-1])))
    return tokenizer.decode(ids)
