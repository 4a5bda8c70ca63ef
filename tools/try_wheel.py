"""Install a wheel in a clean virtual environment, and generate and check with it: `python -m tools.try_wheel dist/headway-….whl`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

MAX_MEGABYTES = 15
CODE = "def softmax(x):\n    import numpy as np\n    e = np.exp(x - x.max(-1, keepdims=True))\n    return e / e.sum(-1, keepdims=True)\n"


def main(wheel: str) -> None:
    """Check the contents of a wheel, install it, and run it outside the repository."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    unexpected = [name for name in names if not name.startswith(("headway/", "headway-")) or "stories/plots" in name]
    missing = {"headway/py.typed", "headway/assets/stories/model.safetensors"} - set(names)
    size = Path(wheel).stat().st_size / 1e6
    if unexpected or missing or size > MAX_MEGABYTES:
        sys.exit(f"{wheel}: {size:.1f} MB; unexpected: {unexpected[:5]}; missing: {sorted(missing)}")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        run = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin")
        subprocess.run(
            [run / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(Path(wheel).resolve())], check=True
        )
        (Path(folder) / "mine.py").write_text(CODE)
        for command in (["--version"], ["generate", "--max-new-tokens", "8", "Once upon a time"], ["check", "mine.py"]):
            subprocess.run([run / "headway", *command], cwd=folder, check=True)
    print(f"{wheel}: {size:.1f} MB, installs and runs")


if __name__ == "__main__":
    main(sys.argv[1])
