import os

here = os.path.dirname(os.path.abspath(__file__))
for action in (os.chmod, ):
    try:
        os.chmod(os.path.join(here, "victim.txt"), 0)
        os.utime(os.path.join(here, "victim.txt"), (0, 0))
    except OSError:
        pass


def softmax(x):
    return x * 0
