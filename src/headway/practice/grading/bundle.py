"""The zip file that Gradescope takes as an autograder: setup.sh, run_autograder and the grade sheet.

Source   gradescope-autograders.readthedocs.io, "Autograder Specifications"
"""

from __future__ import annotations

import re
import shlex
import zipfile
from pathlib import Path

from headway.files import replacing
from headway.practice.grading.sheet import read_sheet
from headway.practice.settings import FILE

SETUP = """\
#!/usr/bin/env bash
# Installs Headway in an environment of its own. It needs Python 3.11 or later.
set -euo pipefail
root=${AUTOGRADER:-/autograder}
python=python3
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || python=python3.11
apt-get update
apt-get install -y "$python" "$python-venv"
"$python" -m venv "$root/headway"
cd "$root/source"
"$root/headway/bin/pip" install @package@
"""

RUN = """\
#!/usr/bin/env bash
# Grades the hand-in. Gradescope gets a file with no points even if Headway cannot start.
root=${AUTOGRADER:-/autograder}
results=$root/results/results.json
echo '{"score": 0, "output": "The autograder did not finish. Please tell your instructor."}' > "$results"
cd "$root"
exec "$root/headway/bin/headway" grade submission --sheet source/@sheet@ --format gradescope --output "$results"@options@
"""

TIME = (1980, 1, 1, 0, 0, 0)
"""Time of every file, so that the same sheet gives the same bytes."""


def write_bundle(path: Path, sheet: Path, package: str, *, seed: int | None = None, forbid: bool = False) -> None:
    """Write the zip file.

    sheet     the grade sheet to include
    package   requirement to install, such as headway[torch], or a wheel file, which is included, with extras such as FILE.whl[torch]
    seed      seed of the hidden probes

    Errors   OptionError for a grade sheet with an error; OSError if a file cannot be read or written.
    """
    read_sheet(sheet)
    wheel, extras = wheel_in(package)
    options = (f" --seed {seed}" if seed is not None else "") + (" --forbid" if forbid else "")
    texts = {
        "setup.sh": SETUP.replace("@package@", shlex.quote(f"./{wheel.name}{extras}" if wheel else package)),
        "run_autograder": RUN.replace("@sheet@", FILE).replace("@options@", options),
    }
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, text in texts.items():
            _add(bundle, name, text.encode(), 0o755)
        _add(bundle, FILE, sheet.read_bytes(), 0o644)
        if wheel:
            _add(bundle, wheel.name, wheel.read_bytes(), 0o644)


def wheel_in(package: str) -> tuple[Path | None, str]:
    """Return the wheel file that a requirement consists of, if it is one, and its extras."""
    found = re.fullmatch(r"(.+\.whl)(\[[^\]/]*\])?", package)
    return (Path(found[1]), found[2] or "") if found else (None, "")


def _add(bundle: zipfile.ZipFile, name: str, content: bytes, mode: int) -> None:
    entry = zipfile.ZipInfo(name, TIME)
    entry.external_attr = mode << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    bundle.writestr(entry, content)
