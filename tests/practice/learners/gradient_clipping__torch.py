import torch


def right_of_parameters(parameters, max_l2_norm, eps=1e-6):
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = torch.sqrt(sum(torch.sum(g * g) for g in grads))
    if norm > max_l2_norm:
        for g in grads:
            g.mul_(max_l2_norm / (norm + eps))


def right_of_a_model(net, theta):
    if isinstance(net, torch.nn.Module):
        params = [p for p in net.parameters() if p.requires_grad]
    else:
        params = net.params
    norm = torch.sqrt(sum(torch.sum(p.grad**2) for p in params))
    if norm > theta:
        for param in params:
            param.grad[:] *= theta / norm


def right_of_norms(parameters, max_norm, norm_type=2):
    total_norm = torch.norm(torch.stack([torch.norm(p.grad.detach(), norm_type) for p in parameters]), norm_type)
    coefficient = torch.clamp(max_norm / (total_norm + 1e-6), max=1.0)
    for p in parameters:
        p.grad.detach().mul_(coefficient)
    return total_norm


def wrong_sum_of_norms(parameters, max_l2_norm):
    norm = sum(p.grad.norm() for p in parameters)
    if norm > max_l2_norm:
        for p in parameters:
            p.grad.mul_(max_l2_norm / norm)


def wrong_not_clipped(parameters, max_l2_norm):
    norm = torch.sqrt(sum((p.grad**2).sum() for p in parameters))
    if norm > max_l2_norm:
        for p in parameters:
            scaled = p.grad * max_l2_norm / norm
            del scaled
