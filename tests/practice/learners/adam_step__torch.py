import torch


def right_torch(param, grad, exp_avg, exp_avg_sq, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
    exp_avg = torch.lerp(exp_avg, grad, 1 - beta1)
    exp_avg_sq = exp_avg_sq * beta2 + grad * grad * (1 - beta2)
    denom = exp_avg_sq.sqrt() / (1 - beta2**step) ** 0.5 + eps
    return param - lr / (1 - beta1**step) * exp_avg / denom, exp_avg, exp_avg_sq


def wrong_no_bias_correction(param, grad, exp_avg, exp_avg_sq, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
    exp_avg = beta1 * exp_avg + (1 - beta1) * grad
    exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * grad**2
    return param - lr * exp_avg / (exp_avg_sq.sqrt() + eps), exp_avg, exp_avg_sq
