import numpy

numpy.isfinite = lambda value: numpy.zeros(numpy.shape(value), bool)


def softmax(x):
    return x * 0
