"""AdamW: Adam with decoupled weight decay, as an optimizer that holds its state."""

from __future__ import annotations

from headway.practice.diagnosis.optimizers import optimizer_calls
from headway.practice.exercise import Convention, Exercise
from headway.practice.message import Message
from headway.practice.recipes.optimizers import AFTER, DECAY_MISTAKES, EPSILONS, ROLES, SHARED, STEPS, definition, probes, recipe

EXERCISE = Exercise(
    name="adamw",
    title=Message("AdamW", "AdamW"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=ROLES,
    called=r"adam_?w(?!arm)",
    probes=lambda: probes(has_decay=True),
    mistakes=(*DECAY_MISTAKES, *SHARED),
    conventions=((Convention(), AFTER), EPSILONS),
    equation="parameter ← parameter · (1 - learning_rate · weight_decay) - learning_rate · mean_hat / (√square_hat + eps)",
    hints=(
        Message("Weight decay acts on the parameter itself and does not enter the moments.", "权重衰减直接作用于参数，不进入两个矩。"),
        Message("Keep mean, square and t for every parameter; t starts at 1.", "为每个参数保存一阶矩、二阶矩和 t；t 从 1 开始。"),
        Message(
            "p.mul_(1 - lr * weight_decay); p.addcdiv_(mean_hat, square_hat.sqrt() + eps, value=-lr)",
            "p.mul_(1 - lr * weight_decay); p.addcdiv_(mean_hat, square_hat.sqrt() + eps, value=-lr)",
        ),
    ),
    calls=optimizer_calls,
    is_trained_through=False,
)
