import mlx.core as mx


def right_step_by_step(model, prompt, max_tokens):
    cache = model.make_cache()
    logits = model(prompt[None], cache=cache)
    tokens = [prompt]
    y = mx.argmax(logits[:, -1, :], axis=-1)
    for _ in range(max_tokens):
        tokens.append(y.astype(prompt.dtype))
        if len(tokens) <= max_tokens:
            y = mx.argmax(model(y[:, None], cache=cache)[:, -1, :], axis=-1)
    return mx.concatenate(tokens)


def wrong_whole_text_beside_cache(model, prompt, max_tokens):
    cache = model.make_cache()
    y = prompt
    for _ in range(max_tokens):
        token = mx.argmax(model(y[None], cache=cache)[:, -1, :], axis=-1)
        y = mx.concatenate([y, token.astype(y.dtype)])
    return y
