"""Plot of the loss curves of a run (extra: plot)."""

from __future__ import annotations

from pathlib import Path

from headway.errors import OptionError
from headway.files import replacing
from headway.train.history import History


def save_plot(path: Path, history: History) -> None:
    """Plot training and validation loss over the steps, and write the plot as a PNG file atomically.

    Errors   OptionError if matplotlib is not installed; OSError if the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise OptionError(
            f"{path.name} is not written: matplotlib is not installed ({error})", hint="run: pip install 'headway[plot]'"
        ) from error
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    axes.plot([step for step, _ in history.losses], [loss for _, loss in history.losses], label="training")
    points = [(point["step"], point["validation_loss"]) for point in history.curve]
    axes.plot([step for step, _ in points], [loss for _, loss in points], marker="o", label="validation")
    axes.set(xlabel="step", ylabel="loss (nats per token)")
    axes.grid(alpha=0.3)
    axes.legend()
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
