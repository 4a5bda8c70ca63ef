"""Adam as an optimizer that holds its state: a class with a step or update method."""

from __future__ import annotations

from headway.practice.diagnosis.optimizers import optimizer_calls
from headway.practice.exercise import Convention, Exercise
from headway.practice.message import Message
from headway.practice.recipes.optimizers import COUPLED, EPSILONS, ROLES, SHARED, STEPS, definition, probes, recipe

EXERCISE = Exercise(
    name="adam_optimizer",
    title=Message("Adam as an optimizer", "Adam 优化器"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=ROLES,
    called=r"adam_?optim|optimi[sz]er_?adam",
    also_called=r"^(?!.*(adamw|adamax|nadam|radam|amsgrad|adagrad)).*adam",
    probes=lambda: probes(has_decay=True),
    mistakes=SHARED,
    conventions=(
        (
            Convention(
                Message("weight_decay acts on the parameter itself, as in AdamW", "weight_decay 直接作用于参数，与 AdamW 相同"),
            ),
            Convention(
                Message("weight_decay is added to the gradient (L2), as in torch.optim.Adam", "weight_decay 加进梯度（L2），与 torch.optim.Adam 相同"),
                steps=COUPLED,
            ),
        ),
        EPSILONS,
    ),
    equation="parameter ← parameter - learning_rate · (mean / (1 - β₁ᵗ)) / (√(square / (1 - β₂ᵗ)) + eps)",
    hints=(
        Message("Keep two moving averages for every parameter: of the gradient, and of its square.", "为每个参数维护两个滑动平均：梯度的，以及梯度平方的。"),
        Message("They start at zero, so divide them by 1 - beta**t; t is 1 in the first step.", "它们从零开始，所以要除以 1 - beta**t；第一步 t 为 1。"),
        Message(
            "self.t += 1 once per step; then for every parameter: update the moments, correct copies of them, update the parameter",
            "每步 self.t += 1 一次；再对每个参数：更新两个矩，修正它们的副本，更新参数",
        ),
    ),
    related=("adam_step",),
    calls=optimizer_calls,
    is_trained_through=False,
)
