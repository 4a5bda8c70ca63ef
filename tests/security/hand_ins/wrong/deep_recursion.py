import sys

sys.setrecursionlimit(10**9)

def softmax(x):
    return softmax(x)
