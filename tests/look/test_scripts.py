"""The pages' modules, checked by TypeScript and ESLint, which npm fetches."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from headway.look.html import PAGE, bundle

PACKAGES = ("typescript@7.0.2", "eslint@10.15.0")
LEAST_NODE = 20
OPTIONS = "--noEmit --allowJs --checkJs --strict --target es2022 --lib es2022,dom,dom.iterable --module es2022 --moduleResolution bundler"
CONFIG = Path(__file__).with_name("eslint.config.mjs")
SERVER_PAGE = PAGE.parents[1] / "server" / "page"


def run(*command, **options):
    return subprocess.run([str(each) for each in command], capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """The folder of the two programs, kept for the next run; without node or the registry the tests are skipped."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None or int(run(node, "--version").stdout.strip("v \n").partition(".")[0]) < LEAST_NODE:
        pytest.skip(f"needs npm and node {LEAST_NODE} or newer")
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headway-tests" / "_".join(PACKAGES)
    if not (folder / "node_modules" / ".bin" / "eslint").exists():
        part = folder.with_name(f"{folder.name}.{os.getpid()}")
        installed = run(npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", part, *PACKAGES)
        if installed.returncode:
            pytest.skip(f"npm cannot install {', '.join(PACKAGES)}: {installed.stderr[-200:]}")
        try:
            part.rename(folder)
        except OSError:  # another run was faster
            shutil.rmtree(part)
    return folder / "node_modules" / ".bin"


def type_errors(tools, *paths):
    return run(tools / "tsc", *OPTIONS.split(), *sorted(paths)).stdout


def lint_errors(tools, folder):
    found = run(tools / "eslint", "--config", CONFIG, "--no-warn-ignored", "--max-warnings", 0, ".", cwd=folder)
    return found.stdout + found.stderr if found.returncode else ""


@pytest.mark.slow
def test_types_of_the_scripts_are_right(tools, tmp_path):
    assert type_errors(tools, *PAGE.glob("*.js")) == ""
    wrong = tmp_path / "wrong.js"
    wrong.write_text('import { short } from "./dom.js";\nshort({});\n')
    shutil.copy(PAGE / "dom.js", tmp_path)
    assert "wrong.js" in type_errors(tools, wrong), "the check finds errors"


@pytest.mark.slow
@pytest.mark.parametrize("folder", [PAGE, SERVER_PAGE], ids=["look", "server"])
def test_the_scripts_follow_the_rules(tools, folder):
    assert lint_errors(tools, folder) == ""


@pytest.mark.slow
def test_a_script_that_parses_text_as_html_breaks_a_rule(tools, tmp_path):
    (tmp_path / "wrong.js").write_text("export const f = (node, text) => { node.innerHTML = text; };\n")
    assert "never parsed as HTML" in lint_errors(tools, tmp_path)


def test_a_bundle_has_no_import_or_export_left():
    lines = bundle(tuple(sorted(path.name for path in PAGE.glob("*.js")))).splitlines()
    assert not [line for line in lines if line.startswith(("import ", "export "))]
