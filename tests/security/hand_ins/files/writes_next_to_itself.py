import os

here = os.path.dirname(os.path.abspath(__file__))
for path in ("victim.txt", "new.txt", "headway.toml", "conftest.py"):
    try:
        open(os.path.join(here, path), "w").write("changed")
    except OSError:
        pass


def softmax(x):
    return x * 0
