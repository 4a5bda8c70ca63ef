import torch
import torch.nn.functional as F


def right_generate_step(logits, temperature=1.0, top_k=None):
    if temperature == 0.0:
        return torch.argmax(logits, dim=-1, keepdim=True)
    logits = logits / temperature
    if top_k is not None:
        v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
        logits = torch.where(logits < v[..., [-1]], -float("Inf"), logits)
    return torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)


def right_with_a_generator(logits, temperature=1.0, generator=None):
    if temperature < 1e-5:
        return logits.argmax(-1)
    return torch.multinomial(torch.softmax(logits / temperature, -1), 1, generator=generator).squeeze(-1)


def right_categorical(logits):
    return torch.distributions.Categorical(logits=logits).sample()


def wrong_temperature(logits, temperature=1.0):
    if temperature == 0.0:
        return torch.argmax(logits, dim=-1)
    return torch.multinomial(F.softmax(logits * temperature, dim=-1), num_samples=1)


def right_zero_divides(logits, temperature=1.0):
    return torch.multinomial(F.softmax(logits / temperature, dim=-1), num_samples=1)


def wrong_most_likely_always(logits, temperature=1.0, top_k=None):
    return torch.argmax(F.softmax(logits / (temperature + 1e-9), dim=-1), dim=-1)
