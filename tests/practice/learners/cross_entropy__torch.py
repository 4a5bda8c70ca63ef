import torch
import torch.nn.functional as F  # noqa: N812


def right_functional(logits, targets):
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten())


def right_cs336(inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    shifted = inputs - inputs.max(dim=-1, keepdim=True).values
    lse = torch.log(torch.sum(torch.exp(shifted), dim=-1))
    return (lse - shifted.gather(-1, targets.unsqueeze(-1)).squeeze(-1)).mean()


def right_score_and_logsumexp(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    rows, classes = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    largest = rows.max(dim=-1).values
    total = torch.log(torch.exp(rows - largest[:, None]).sum(dim=-1)) + largest
    return (total - rows[torch.arange(len(classes)), classes]).mean()


def right_nll(logits, targets, ignore_index=-100):
    return F.nll_loss(F.log_softmax(logits, -1), targets, ignore_index=ignore_index)


def wrong_softmax_twice(logits, targets):
    return F.cross_entropy(F.softmax(logits, dim=-1), targets)


def wrong_summed(logits, targets):
    return F.cross_entropy(logits, targets, reduction="sum")


def right_logarithm_of_softmax(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return -torch.log(torch.softmax(logits, -1)).gather(-1, targets[..., None]).mean()


def wrong_ignored_averaged_in(logits, targets, ignore_index=-100):
    losses = F.cross_entropy(logits, targets, ignore_index=ignore_index, reduction="none")
    return losses.mean()


def right_loss_of_each_row(logits, targets):
    return F.cross_entropy(logits, targets, reduction="none")
