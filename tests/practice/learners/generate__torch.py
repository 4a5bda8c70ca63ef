import torch
import torch.nn.functional as F


def right_text_simple(model, idx, max_new_tokens, context_size):
    for _ in range(max_new_tokens):
        idx_cond = idx[:, -context_size:]
        with torch.no_grad():
            logits = model(idx_cond)
        logits = logits[:, -1, :]
        idx_next = torch.argmax(logits, dim=-1, keepdim=True)
        idx = torch.cat((idx, idx_next), dim=1)
    return idx


@torch.no_grad()
def right_with_loss_and_draws(model, idx, max_new_tokens, temperature=1.0, top_k=None):
    model.eval()
    for _ in range(max_new_tokens):
        idx_cond = idx if idx.size(1) <= model.config.block_size else idx[:, -model.config.block_size :]
        logits, _ = model(idx_cond)
        logits = logits[:, -1, :] / temperature
        idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)), dim=1)
    return idx


def right_with_stop(model, idx, max_new_tokens, context_size, temperature=0.0, eos_id=None):
    for _ in range(max_new_tokens):
        with torch.no_grad():
            logits = model(idx[:, -context_size:])[:, -1, :]
        idx_next = torch.argmax(logits, dim=-1, keepdim=True)
        if idx_next == eos_id:
            break
        idx = torch.cat((idx, idx_next), dim=1)
    return idx


def right_hugging_face(model, input_ids, max_new_tokens):
    for _ in range(max_new_tokens):
        logits = model(input_ids[:, -model.config.n_positions :]).logits
        input_ids = torch.cat([input_ids, logits[:, -1].argmax(-1, keepdim=True)], dim=-1)
    return input_ids


def wrong_logits_of_first_position(model, idx, max_new_tokens, context_size):
    for _ in range(max_new_tokens):
        logits = model(idx[:, -context_size:])[:, 0, :]
        idx = torch.cat((idx, logits.argmax(dim=-1, keepdim=True)), dim=1)
    return idx


def wrong_first_tokens_kept(model, idx, max_new_tokens, context_size):
    for _ in range(max_new_tokens):
        logits = model(idx[:, :context_size])[:, -1, :]
        idx = torch.cat((idx, logits.argmax(dim=-1, keepdim=True)), dim=1)
    return idx


def wrong_cropped_tokens_lost(model, idx, max_new_tokens, context_size):
    for _ in range(max_new_tokens):
        idx = idx[:, -context_size:]
        idx = torch.cat((idx, model(idx)[:, -1, :].argmax(dim=-1, keepdim=True)), dim=1)
    return idx


def wrong_first_row_for_all(model, idx, max_new_tokens, context_size):
    for _ in range(max_new_tokens):
        logits = model(idx[:, -context_size:])[:, -1, :]
        idx = torch.cat((idx, logits.argmax(dim=-1, keepdim=True)), dim=1)
    return idx[:1].expand_as(idx)


def right_text_simple_cached(model, idx, max_new_tokens, context_size=None, use_cache=True):
    model.eval()
    ctx_len = context_size or model.pos_emb.num_embeddings
    with torch.no_grad():
        if use_cache:
            model.reset_kv_cache()
            logits = model(idx[:, -ctx_len:], use_cache=True)
            for _ in range(max_new_tokens):
                next_idx = logits[:, -1].argmax(dim=-1, keepdim=True)
                idx = torch.cat([idx, next_idx], dim=1)
                logits = model(next_idx, use_cache=True)
        else:
            for _ in range(max_new_tokens):
                logits = model(idx[:, -ctx_len:], use_cache=False)
                idx = torch.cat([idx, logits[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
    return idx


@torch.no_grad()
def right_past_key_values(model, input_ids, max_new_tokens, eos_token_id=None):
    past_key_values, current = None, input_ids
    for _ in range(max_new_tokens):
        outputs = model(current, past_key_values=past_key_values, use_cache=True)
        past_key_values = outputs.past_key_values
        current = outputs.logits[:, -1, :].argmax(dim=-1, keepdim=True)
        if eos_token_id is not None and current.item() == eos_token_id:
            break
        input_ids = torch.cat([input_ids, current], dim=-1)
    return input_ids


class KVCache:
    def __init__(self, n_layers):
        self.cache = [None] * n_layers

    def get(self, layer_idx):
        return self.cache[layer_idx]

    def update(self, layer_idx, value):
        self.cache[layer_idx] = value


@torch.inference_mode()
def right_cache_object(model, token_ids, max_new_tokens):
    cache = KVCache(n_layers=model.cfg["n_layers"])
    model.reset_kv_cache()
    logits = model(token_ids, cache=cache)[:, -1]
    for step in range(max_new_tokens):
        next_token = torch.argmax(logits, dim=-1, keepdim=True)
        token_ids = torch.cat([token_ids, next_token], dim=1)
        if step + 1 < max_new_tokens:
            logits = model(next_token, cache=cache)[:, -1]
    return token_ids


@torch.no_grad()
def right_input_pos(model, prompt, max_new_tokens):
    T = prompt.size(0)
    seq = torch.empty(T + max_new_tokens, dtype=prompt.dtype)
    seq[:T] = prompt
    input_pos = torch.arange(0, T)
    x = prompt
    for i in range(max_new_tokens):
        logits = model(x, input_pos)
        x = logits[-1].argmax(-1, keepdim=True)
        seq[T + i] = x
        input_pos = torch.tensor([T + i])
    return seq


def wrong_cache_not_passed(model, input_ids, max_new_tokens):
    past_key_values, current = None, input_ids
    for _ in range(max_new_tokens):
        outputs = model(current, past_key_values=past_key_values, use_cache=True)
        current = outputs.logits[:, -1, :].argmax(dim=-1, keepdim=True)
        input_ids = torch.cat([input_ids, current], dim=-1)
    return input_ids


def wrong_cache_not_passed__always_the_start(model, prompt, max_new_tokens):
    tokens, x = prompt, prompt
    for _ in range(max_new_tokens):
        x = model.forward(x, 0)[-1].argmax(-1, keepdim=True)
        tokens = torch.cat([tokens, x])
    return tokens


def wrong_whole_text_beside_cache(model, idx, max_new_tokens):
    model.reset_kv_cache()
    for _ in range(max_new_tokens):
        logits = model(idx, use_cache=True)[:, -1]
        idx = torch.cat([idx, logits.argmax(dim=-1, keepdim=True)], dim=1)
    return idx


def wrong_least_likely_taken__cached(model, idx, max_new_tokens):
    cache = KVCache(n_layers=model.cfg["n_layers"])
    new = idx
    for _ in range(max_new_tokens):
        logits = model(new, cache=cache)[:, -1]
        new = logits.argmin(dim=-1, keepdim=True)
        idx = torch.cat([idx, new], dim=1)
    return idx


def right_text_without_prompt(model, enc, prompt, max_new_tokens=5, device="cpu"):
    ids = enc(prompt, return_tensors="pt").input_ids.to(device)
    start = ids.shape[1]
    for _ in range(max_new_tokens):
        ids = torch.cat([ids, model(ids)[:, -1].argmax(-1, keepdim=True)], dim=1)
    return enc.decode(ids[0, start:], skip_special_tokens=True)


@torch.no_grad()
def right_stream(model, idx, max_new_tokens, temperature=1.0):
    for _ in range(max_new_tokens):
        probs = F.softmax(model(idx)[:, -1, :] / temperature, dim=-1)
        new = torch.multinomial(probs, num_samples=1)
        idx = torch.cat([idx, new], dim=1)
        yield new


@torch.no_grad()
def right_stream_of_text(model, tokenizer, prompt, max_new_tokens):
    ids = torch.tensor([tokenizer.encode(prompt)])
    for _ in range(max_new_tokens):
        new = model(ids)[0, -1].argmax()
        ids = torch.cat([ids, new.view(1, 1)], dim=1)
        yield tokenizer.decode([new.item()])


@torch.no_grad()
def wrong_logits_of_first_position__stream(model, idx, max_new_tokens):
    for _ in range(max_new_tokens):
        new = model(idx)[:, 0].argmax(-1, keepdim=True)
        idx = torch.cat([idx, new], dim=1)
        yield new


def right_filters_by_default(model, idx, max_new_tokens, context_size, temperature=0.8, top_k=50, top_p=0.9, beams=1):
    for _ in range(max_new_tokens):
        logits = model(idx[:, -context_size:])[:, -1, :] / temperature
        logits[logits < logits.topk(top_k).values[:, -1:]] = -float("inf")
        probs = F.softmax(logits, dim=-1)
        ordered, order = probs.sort(descending=True)
        ordered[ordered.cumsum(-1) - ordered > top_p] = 0
        idx = torch.cat((idx, order.gather(-1, torch.multinomial(ordered, beams))), dim=1)
    return idx


@torch.no_grad()
def right_reads_logits_of_a_dict(model, input_ids, max_new_tokens=20, do_sample=False, eos_token_id=None):
    for _ in range(max_new_tokens):
        logits = model(input_ids[:, -model.config.block_size :])["logits"][:, -1, :]
        chosen = torch.multinomial(logits.softmax(-1), 1) if do_sample else logits.argmax(-1, keepdim=True)
        input_ids = torch.cat([input_ids, chosen], dim=1)
        if eos_token_id is not None and (chosen == eos_token_id).all():
            break
    return input_ids


def right_of_a_model_with_a_loss_and_a_cache(model, start_tokens, block_size, max_new_tokens):
    tokens, past = start_tokens, None
    for _ in range(max_new_tokens):
        logits, _, past = model(tokens[:, -block_size:] if past is None else tokens[:, -1:], past_kv=past)
        tokens = torch.cat([tokens, logits[:, -1, :].argmax(dim=-1, keepdim=True)], dim=1)
    return tokens
