def softmax(x):
    while True:
        yield 0.0
