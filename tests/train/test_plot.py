"""Loss history and its plot."""

from __future__ import annotations

import json
import sys

import pytest

from headway.errors import OptionError
from headway.train.history import History, SavedProgress
from headway.train.plot import save_plot


def history() -> History:
    made = History()
    for step in range(1, 601):
        made.add(step, 600, 1 / step)
        if step % 200 == 0:
            made.add_validation(step, 1 / step, 2 / step, step / 10)
    return made


def test_the_finer_line_is_the_mean_of_the_steps_between_its_points():
    made = history()
    assert len(made.losses) == 200
    assert made.losses[1] == (6, pytest.approx((1 / 4 + 1 / 5 + 1 / 6) / 3))
    assert made.curve[-1] == {"step": 600, "loss": 0.0017, "validation_loss": 0.0033, "seconds": 60.0}


def test_a_history_goes_on_from_its_values():
    whole, halves = history(), History()
    for step in range(1, 601):
        halves.add(step, 600, 1 / step)
        halves = SavedProgress.from_dict(json.loads(json.dumps(SavedProgress(step, 1.5, halves).to_dict())), "state").history
    assert halves.losses == whole.losses


def test_the_picture_is_a_png_with_named_axes(tmp_path, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure")
    kept, save = [], figure.Figure.savefig

    def keeping(self, path, **more):
        kept.append(self)
        save(self, path, **more)

    monkeypatch.setattr(figure.Figure, "savefig", keeping)
    save_plot(tmp_path / "curve.png", history())
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    (axes,) = kept[0].axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("step", "loss (nats per token)")
    training, validation = axes.lines
    assert (training.get_label(), validation.get_label()) == ("training", "validation")
    assert list(validation.get_xdata()) == [200, 400, 600]
    assert len(training.get_xdata()) == 200


def test_without_matplotlib_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(
        OptionError, match=r"(?s)curve\.png is not written: matplotlib is not installed .*run: pip install 'headway\[plot\]'"
    ):
        save_plot(tmp_path / "curve.png", history())
    assert not list(tmp_path.iterdir())
