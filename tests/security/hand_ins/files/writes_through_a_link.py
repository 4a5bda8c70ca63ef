import os

here = os.path.dirname(os.path.abspath(__file__))
try:
    os.symlink(os.path.join(here, "victim.txt"), "link")
    open("link", "w").write("changed")
except OSError:
    pass
try:
    os.link(os.path.join(here, "victim.txt"), "hard")
    open("hard", "w").write("changed")
except OSError:
    pass


def softmax(x):
    return x * 0
