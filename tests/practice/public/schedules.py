"""Schedules of the learning rate that are given an optimizer: subclasses of PyTorch's, classes that set its rate, functions that return one; and a
class whose method returns the rate of a step."""

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "LinearWarmupCosineLR",
        "cosine_schedule",
        """
from math import cos, pi

from torch.optim.lr_scheduler import LRScheduler

class LinearWarmupCosineLR(LRScheduler):
    def __init__(self, optimizer, warmup_steps, max_steps, eta_min=1e-5, last_epoch=-1):
        self.warmup_steps, self.max_steps, self.eta_min = warmup_steps, max_steps, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        count = self.last_epoch + 1
        if count < self.warmup_steps:
            return [rate * count / self.warmup_steps for rate in self.base_lrs]
        share = (count - self.warmup_steps) / (self.max_steps - self.warmup_steps)
        return [self.eta_min + (rate - self.eta_min) * (1 + cos(pi * share)) / 2 for rate in self.base_lrs]
""",
        (("(1 + cos(pi * share)) / 2", "(1 + cos(pi * share))"),),
    ),
    Program(
        "CosineWarmupScheduler",
        "cosine_schedule",
        """
import math

class CosineWarmupScheduler:
    def __init__(self, optimizer, warmup, total, peak_lr, final_lr=0.0):
        self.optimizer = optimizer
        self.warmup, self.total, self.peak_lr, self.final_lr = warmup, total, peak_lr, final_lr
        self.count = 0

    def rate(self):
        if self.count < self.warmup:
            return self.peak_lr * self.count / self.warmup
        share = min(1.0, (self.count - self.warmup) / (self.total - self.warmup))
        return self.final_lr + (self.peak_lr - self.final_lr) * 0.5 * (1 + math.cos(math.pi * share))

    def step(self):
        self.count += 1
        lr = self.rate()
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        return lr
""",
        (("(self.count - self.warmup) / (self.total", "self.count / (self.total"), ('group["lr"] = lr', 'group["rate"] = lr')),
    ),
    Program(
        "cosine_schedule_with_warmup",
        "cosine_schedule",
        """
import math

from torch.optim.lr_scheduler import LambdaLR

def cosine_schedule_with_warmup(optimizer, num_warmup_steps, num_training_steps, num_cycles=0.5):
    def factor(current_step):
        if current_step < num_warmup_steps:
            return current_step / max(1, num_warmup_steps)
        share = (current_step - num_warmup_steps) / max(1, num_training_steps - num_warmup_steps)
        return max(0.0, 0.5 * (1.0 + math.cos(2 * math.pi * num_cycles * share)))

    return LambdaLR(optimizer, factor)
""",
        (("0.5 * (1.0 + math", "(1.0 + math"),),
    ),
    Program(
        "CosineSchedule",
        "cosine_schedule",
        """
import math

class CosineSchedule:
    def __init__(self, max_lr, min_lr, warmup_steps, max_steps):
        self.max_lr, self.min_lr, self.warmup_steps, self.max_steps = max_lr, min_lr, warmup_steps, max_steps

    def get_lr(self, step):
        if step < self.warmup_steps:
            return self.max_lr * (step + 1) / self.warmup_steps
        if step > self.max_steps:
            return self.min_lr
        share = (step - self.warmup_steps) / (self.max_steps - self.warmup_steps)
        return self.min_lr + 0.5 * (1 + math.cos(math.pi * share)) * (self.max_lr - self.min_lr)
""",
        (("1 + math.cos", "1 - math.cos"),),
    ),
    Program(
        "NoamRate",
        "noam_schedule",
        """
class NoamRate:
    def __init__(self, optimizer, d_model, n_warmup_steps, factor=1.0):
        self.optimizer, self.d_model, self.n_warmup_steps, self.factor = optimizer, d_model, n_warmup_steps, factor
        self.num_steps = 0

    def rate(self):
        return self.factor * self.d_model ** -0.5 * min(self.num_steps ** -0.5, self.num_steps * self.n_warmup_steps ** -1.5)

    def step(self):
        self.num_steps += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate()
        self.optimizer.step()
""",
        (("min(self.num_steps", "max(self.num_steps"),),
    ),
    Program(
        "NoamSchedule",
        "noam_schedule",
        """
from torch.optim.lr_scheduler import _LRScheduler

class NoamSchedule(_LRScheduler):
    def __init__(self, optimizer, dim_embed, warmup_steps, last_epoch=-1):
        self.dim_embed, self.warmup_steps = dim_embed, warmup_steps
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        step = self.last_epoch + 1
        rate = self.dim_embed ** -0.5 * min(step ** -0.5, step * self.warmup_steps ** -1.5)
        return [rate] * len(self.base_lrs)
""",
        (("self.warmup_steps ** -1.5", "self.warmup_steps ** -0.5"), ("self.dim_embed ** -0.5", "self.dim_embed ** 0.5")),
    ),
    Program(
        "rate",
        "noam_schedule",
        """
def rate(step, model_size, factor, warmup):
    step = max(step, 1)
    return factor * model_size ** (-0.5) * min(step ** (-0.5), step * warmup ** (-1.5))
""",
        (("min(step", "max(step"),),
    ),
    Program(
        "linear_schedule_with_warmup",
        "linear_schedule",
        """
from torch.optim.lr_scheduler import LambdaLR

def linear_schedule_with_warmup(optimizer, num_warmup_steps, num_training_steps):
    def factor(step):
        if step < num_warmup_steps:
            return step / max(1, num_warmup_steps)
        return max(0.0, (num_training_steps - step) / max(1, num_training_steps - num_warmup_steps))

    return LambdaLR(optimizer, factor)
""",
        (("(num_training_steps - step) /", "(step - num_warmup_steps) /"),),
    ),
    Program(
        "warmup_then_line",
        "linear_schedule",
        """
def warmup_then_line(base_lr, warmup_steps, total_steps, current_step):
    if current_step < warmup_steps:
        return base_lr * current_step / warmup_steps
    left = max(0, total_steps - current_step)
    return base_lr * left / (total_steps - warmup_steps)
""",
    ),
)
