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
