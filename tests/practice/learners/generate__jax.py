import jax.numpy as jnp


def right_cache_returned(model, prompt, max_new_tokens):
    logits, cache = model(prompt, cache=None)
    ids = prompt
    for _ in range(max_new_tokens):
        token = logits[-1].argmax()[None].astype(ids.dtype)
        ids = jnp.concatenate([ids, token])
        if len(ids) < len(prompt) + max_new_tokens:
            logits, cache = model(token, cache=cache)
    return ids


def wrong_cache_not_passed(model, prompt, max_new_tokens):
    ids, new = prompt, prompt
    for _ in range(max_new_tokens):
        logits, cache = model(new, cache=None)
        new = logits[-1].argmax()[None].astype(ids.dtype)
        ids = jnp.concatenate([ids, new])
    return ids
