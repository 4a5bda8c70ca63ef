import torch.nn.functional as F


def right_calc_loss_batch(input_batch, target_batch, model, device):
    input_batch, target_batch = input_batch.to(device), target_batch.to(device)
    logits = model(input_batch)
    return F.cross_entropy(logits.flatten(0, 1), target_batch.flatten())


def right_with_a_second_output(model, x, y):
    logits, _ = model(x)
    return F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))


def wrong_summed(net, x, y):
    return F.cross_entropy(net(x).transpose(1, 2), y, reduction="sum")
