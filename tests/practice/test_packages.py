"""Imports of files next to a learner's file."""

from types import ModuleType

import numpy

from headway.practice.diagnosis.files import load_module


def test_relative_imports_work_in_a_folder_named_like_a_module_of_python(tmp_path):
    folder = tmp_path / "thread" / "part" / "of" / "course"  # Python has a module _thread
    folder.mkdir(parents=True)
    (tmp_path / "thread" / "sums.py").write_text("def total(x):\n    return x.sum(-1, keepdims=True)\n")
    text = "from ....sums import total\n\ndef share(x):\n    return x / total(x)\n"
    (folder / "share.py").write_text(text)
    module = load_module(folder / "share.py", text)
    assert isinstance(module, ModuleType), module
    assert module.share(numpy.array([1.0, 3.0])).tolist() == [0.25, 0.75]
