import numpy

def softmax(x):
    return numpy.full(numpy.shape(x), numpy.nan)
