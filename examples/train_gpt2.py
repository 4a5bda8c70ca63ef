"""Train a small GPT-2 on a text file, then generate from it. Needs torch: pip install 'headway[torch]'."""

import subprocess
import sys
import tempfile
from pathlib import Path

import headway

text_file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "README.md"
num_steps = sys.argv[2] if len(sys.argv) > 2 else "200"

with tempfile.TemporaryDirectory() as folder:
    out = Path(folder) / "model"
    shape = ["--context", "64", "--num-layers", "2", "--num-heads", "2", "--hidden-size", "64"]
    schedule = ["--num-steps", num_steps, "--batch-size", "8", "--learning-rate", "3e-3", "--warmup-steps", "10"]
    command = [sys.executable, "-m", "headway", "train", "--out", str(out), "--tokenizer", "bytes", *shape, *schedule, str(text_file)]
    subprocess.run(command, check=True)

    model = headway.load(out)  # an ordinary Hugging Face folder; transformers opens it too
    print(model.generate("import ", max_new_tokens=60, temperature=0.8, seed=1))
    model.close()
