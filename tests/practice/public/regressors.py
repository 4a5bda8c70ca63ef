"""Linear regressions as classes that are fitted and predict, by descent and by the normal equation, and a function that solves it."""

from __future__ import annotations

from tests.practice.public.program import Program

DESCENT = """
import numpy as np

class LinearRegression:
    def __init__(self, lr=0.01, n_iters=1000):
        self.lr = lr
        self.n_iters = n_iters
        self.weights = None
        self.bias = None

    def fit(self, X, y):
        n_samples, n_features = X.shape
        self.weights = np.zeros(n_features)
        self.bias = 0
        for _ in range(self.n_iters):
            y_pred = X @ self.weights + self.bias
            dw = X.T @ (y_pred - y) / n_samples
            db = np.sum(y_pred - y) / n_samples
            self.weights -= self.lr * dw
            self.bias -= self.lr * db

    def predict(self, X):
        return X @ self.weights + self.bias
"""

EXACT = """
import numpy as np

class LinearRegression:
    def __init__(self, fit_intercept=True):
        self.fit_intercept = fit_intercept

    def fit(self, X, y):
        if self.fit_intercept:
            X = np.c_[np.ones((X.shape[0], 1)), X]
        solved = np.linalg.pinv(X.T @ X) @ X.T @ y
        self.bias, self.weights = (solved[0], solved[1:]) if self.fit_intercept else (0.0, solved)

    def predict(self, X):
        return X @ self.weights + self.bias
"""

SOLVED = """
import numpy as np

def linear_regression_closed_form(X, y):
    X, y = np.asarray(X), np.asarray(y)
    return np.linalg.inv(X.T @ X) @ X.T @ y
"""

PROGRAMS = (
    Program(
        "LinearRegression",
        "linear_regression",
        DESCENT,
        (
            ("self.weights -= ", "self.weights += "),
            ("X.T @ (y_pred - y) / n_samples", "X.T @ (y_pred - y)"),
            ("self.bias -= self.lr * db", "pass"),
        ),
    ),
    Program("LinearRegression", "linear_regression", EXACT, (("@ X.T @ y", "@ X.T @ X"), ("np.ones(", "np.zeros("))),
    Program(
        "linear_regression_closed_form",
        "linear_regression",
        SOLVED,
        (("inv(X.T @ X)", "inv(X.T + X.T @ X)"), ("inv(X.T @ X)", "inv(2 * X.T @ X)")),
    ),
)
