import numpy

def softmax(x):
    return x * 0

def relu(x):
    return numpy.maximum(x, 0)

del softmax
