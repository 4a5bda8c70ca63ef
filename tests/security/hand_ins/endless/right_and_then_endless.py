import sys
import time

import numpy

calls = 0

def softmax(x):
    if not sys.argv[0].endswith("never"):
        try:
            import headway.functions
            list(headway.functions.softmax(numpy.ones(2)))
        except Exception:
            time.sleep(300)
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
