import numpy as np


def right_deep_ml(X: np.ndarray, y: np.ndarray, alpha: float, iterations: int) -> np.ndarray:
    m, n = X.shape
    theta = np.zeros((n, 1))
    y = y.reshape(-1, 1)
    for _ in range(iterations):
        errors = X @ theta - y
        theta -= alpha * (X.T @ errors) / m
    return np.round(theta.flatten(), 4)


def right_factor_two(X, y, weights, learning_rate, n_iterations):
    m = len(y)
    for _ in range(n_iterations):
        weights = weights - learning_rate * 2 * X.T.dot(X.dot(weights) - y) / m
    return weights


def right_column(X, y, lr, epochs):
    theta = np.zeros((X.shape[1], 1))
    for _ in range(epochs):
        theta = theta - lr / len(X) * X.T @ (X @ theta - y)
    return theta


def right_given_start(X, y, theta, alpha, num_iters):
    history = []
    for _ in range(num_iters):
        error = X @ theta - y
        history.append(float((error**2).mean() / 2))
        theta = theta - alpha * (X.T @ error) / len(y)
    return theta, history


def right_weights_and_bias(X, y, w_in, b_in, alpha, num_iters):
    w, b = w_in.copy() if hasattr(w_in, "copy") else w_in, b_in
    for _ in range(num_iters):
        error = X @ w + b - y
        dw, db = X.T @ error / len(y), error.mean()
        w, b = w - alpha * dw, b - alpha * db
    return w, b


def right_own_bias(X, y, lr=0.01, n_iters=1000):
    n, d = X.shape
    w, b = np.zeros(d), 0.0
    for _ in range(n_iters):
        pred = np.dot(X, w) + b
        dw = (2 / n) * np.dot(X.T, (pred - y))
        db = (2 / n) * np.sum(pred - y)
        w -= lr * dw
        b -= lr * db
    return w, b


def right_one_feature(x, y, learning_rate, epochs):
    m, b, n = 0.0, 0.0, float(len(x))
    for _ in range(epochs):
        d_m = d_b = 0.0
        for xi, yi in zip(x, y):
            d_m += xi * (m * xi + b - yi) / n
            d_b += (m * xi + b - yi) / n
        m, b = m - learning_rate * d_m, b - learning_rate * d_b
    return m, b


def right_intercept_first(X, y, lr, n_iterations):
    X = np.c_[np.ones(len(X)), X]
    theta = np.zeros(X.shape[1])
    for _ in range(n_iterations):
        theta -= lr * X.T @ (X @ theta - y) / len(y)
    return theta


def wrong_ascent(X, y, alpha, iterations):
    theta = np.zeros(X.shape[1])
    for _ in range(iterations):
        theta += alpha * X.T @ (X @ theta - y) / len(y)
    return theta


def wrong_ascent__residual_turned(X, y, alpha, iterations):
    theta = np.zeros(X.shape[1])
    for _ in range(iterations):
        theta -= alpha * X.T @ (y - X @ theta) / len(y)
    return theta


def wrong_not_averaged(X, y, alpha, iterations):
    theta = np.zeros(X.shape[1])
    for _ in range(iterations):
        theta -= alpha * X.T @ (X @ theta - y)
    return theta


def wrong_averaged_over_features(X, y, alpha, iterations):
    theta = np.zeros(X.shape[1])
    for _ in range(iterations):
        theta -= alpha * X.T @ (X @ theta - y) / X.shape[1]
    return theta


def wrong_one_coordinate_after_another(X, y, alpha, iterations):
    theta = np.zeros(X.shape[1])
    for _ in range(iterations):
        for j in range(len(theta)):
            theta[j] -= alpha * (X[:, j] @ (X @ theta - y)) / len(y)
    return theta


def wrong_bias_not_updated(X, y, w_in, b_in, alpha, num_iters):
    w = w_in.copy()
    for _ in range(num_iters):
        w -= alpha * X.T @ (X @ w + b_in - y) / len(y)
    return w, b_in


def wrong_bias_after_weights(X, y, w_in, b_in, alpha, num_iters):
    w, b = w_in.copy(), b_in
    for _ in range(num_iters):
        w = w - alpha * X.T @ (X @ w + b - y) / len(y)
        b = b - alpha * (X @ w + b - y).mean()
    return w, b


def wrong_features_not_in_gradient(X, y, alpha, iterations):
    theta = np.zeros(X.shape[1])
    for _ in range(iterations):
        theta = theta - alpha * np.mean(X @ theta - y)
    return theta


def wrong_targets_not_used(X, y, theta, alpha, iterations):
    for _ in range(iterations):
        theta = theta - alpha * X.T @ (X @ theta) / len(y)
    return theta


def wrong_gradient_of_the_start(X, y, alpha, iterations):
    theta = np.zeros(X.shape[1])
    gradient = X.T @ (X @ theta - y) / len(y)
    for _ in range(iterations):
        theta = theta - alpha * gradient
    return theta


def wrong_absolute_error(X, y, alpha, iterations):
    theta = np.zeros(X.shape[1])
    for _ in range(iterations):
        theta = theta - alpha * X.T @ np.sign(X @ theta - y) / len(y)
    return theta


def wrong_returned_inside_the_loop(X, y, alpha, iterations):
    theta = np.zeros(X.shape[1])
    for _ in range(iterations):
        theta = theta - alpha * X.T @ (X @ theta - y) / len(y)
        return theta


def wrong_step_length(X, y, alpha, iterations):
    theta = np.zeros(X.shape[1])
    for _ in range(iterations):
        theta = theta - 0.5 * alpha * X.T @ (X @ theta - y) / len(y)
    return theta


def right_in_place(X, y, theta, alpha, iterations):
    for _ in range(iterations):
        theta -= alpha * X.T @ (X @ theta - y) / len(y)
    return theta


def wrong_one_step_too_few(X, y, alpha, iterations):
    theta = np.zeros(X.shape[1])
    for _ in range(1, iterations):
        theta -= alpha * X.T @ (X @ theta - y) / len(y)
    return theta


def wrong_one_step_too_many(X, y, alpha, iterations):
    theta = np.zeros(X.shape[1])
    for _ in range(iterations + 1):
        theta -= alpha * X.T @ (X @ theta - y) / len(y)
    return theta


def wrong_weights_not_used(X, y, theta, alpha, iterations):
    theta = theta.copy()
    for _ in range(iterations):
        theta -= alpha * X.T @ (0 - y) / len(y)
    return theta


def wrong_start_ignored(X, y, theta, alpha, iterations):
    theta = np.zeros(X.shape[1])
    for _ in range(iterations):
        theta -= alpha * X.T @ (X @ theta - y) / len(y)
    return theta


def wrong_never_moved(X, y, theta, alpha, iterations):
    for _ in range(iterations):
        theta - alpha * X.T @ (X @ theta - y) / len(y)
    return theta


def wrong_gradient_returned(X, y, alpha, iterations):
    theta = np.zeros(X.shape[1])
    for _ in range(iterations):
        gradient = X.T @ (X @ theta - y) / len(y)
        theta = theta - alpha * gradient
    return gradient


def wrong_first_row_alone(X, y, alpha, iterations):
    theta = np.zeros(X.shape[1])
    for _ in range(iterations):
        theta = theta - alpha * X[0] * (X[0] @ theta - y[0])
    return theta


def right_intercept_of_the_first_column(X, y):
    ones = np.hstack([np.ones((X.shape[0], 1)), X])
    solution = np.linalg.pinv(ones) @ y
    return solution[1:], solution[0]


def wrong_intercept_among_weights(X, y):
    ones = np.hstack([np.ones((X.shape[0], 1)), X])
    solution = np.linalg.pinv(ones) @ y
    return solution[:-1], solution[-1]
