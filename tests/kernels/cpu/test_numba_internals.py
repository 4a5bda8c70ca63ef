"""The version of Numba, and its private names that the kernels use."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib.metadata import requires, version
from pathlib import Path

import numba
import pytest
from packaging.requirements import Requirement

import headway
from headway.kernels.cpu import numba_internals
from headway.kernels.cpu.memory import wait_for_change

ROOT = Path(__file__).resolve().parents[3]
KERNELS = Path(headway.__file__).parent / "kernels" / "cpu"


def declared(name):
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    return next(requirement for requirement in map(Requirement, dependencies) if requirement.name == name)


@pytest.mark.parametrize("name", ["numba", "llvmlite"])
def test_the_installed_version_is_in_the_range_that_was_tested(name):
    assert any(specifier.operator == "<" for specifier in declared(name).specifier)
    assert declared(name).specifier.contains(version(name))


def test_the_range_of_llvmlite_is_numbas():
    (numbas,) = [requirement for requirement in map(Requirement, requires("numba")) if requirement.name == "llvmlite"]
    limit = next(specifier.version for specifier in numbas.specifier if specifier.operator == "<")
    assert f"<{limit}" in {str(specifier) for specifier in declared("llvmlite").specifier}


def test_every_method_that_is_replaced_exists():
    for owner, name, _ in numba_internals._patches():
        assert callable(owner.__dict__[name]), f"{owner.__name__}.{name}"


def test_every_private_attribute_that_is_read_exists():
    code = numba_internals.object_code(wait_for_change, "symbol")
    assert b"symbol" in code
    (result,) = wait_for_change.overloads.values()
    for value, name in (
        (result.library, "_final_module"),
        (result.library._codegen, "_module_pass_manager"),
        (result.library._codegen, "_tm"),
    ):
        assert hasattr(value, name)


def test_numba_is_as_before_after_a_compilation():
    numba_internals.object_code(wait_for_change, "symbol")
    assert all(owner.__dict__[name] is not replacement for owner, name, replacement in numba_internals._patches())

    @numba.njit
    def double(x):
        return 2 * x

    assert double(21) == 42


def test_private_names_of_numba_are_used_in_one_module_only():
    used = set()
    for path in KERNELS.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            module = getattr(node, "module", None) or ""
            names = [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
            if re.match(r"numba\.(core|np)\b", module) or any(re.match(r"numba\.(core|np)\b", name) for name in names):
                used.add(path.name)
            if isinstance(node, ast.Attribute) and node.attr in {"_final_module", "_codegen", "_tm", "_module_pass_manager"}:
                used.add(path.name)
    assert used == {"numba_internals.py"}
