"""The page's modules, checked by TypeScript where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from headway.look.html import PAGE, bundle

OPTIONS = "--noEmit --allowJs --checkJs --strict --target es2022 --lib es2022,dom,dom.iterable --module es2022 --moduleResolution bundler"


@pytest.mark.slow
def test_types_of_the_scripts_are_right():
    tsc = os.environ.get("HEADWAY_TSC") or shutil.which("tsc")
    if tsc is None:
        pytest.skip("needs TypeScript: npm install -g typescript, or HEADWAY_TSC")
    found = subprocess.run([tsc, *OPTIONS.split(), *sorted(map(str, PAGE.glob("*.js")))], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


def test_a_bundle_has_no_import_or_export_left():
    lines = bundle(tuple(sorted(path.name for path in PAGE.glob("*.js")))).splitlines()
    assert not [line for line in lines if line.startswith(("import ", "export "))]
