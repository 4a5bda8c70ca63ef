import numpy as np


def right_plain(grad, x0, lr, steps):
    x = x0
    for _ in range(steps):
        x = x - lr * grad(x)
    return x


def right_with_tolerance(grad_f, x_init, learning_rate=0.1, max_iter=100, tol=1e-6):
    x = np.array(x_init, dtype=float)
    for _ in range(max_iter):
        g = grad_f(x)
        if np.linalg.norm(g) < tol:
            break
        x = x - learning_rate * g
    return x


def right_interview(x0, lr, steps):
    x = x0
    for _ in range(steps):
        x = x - lr * 2 * x
    return x


def right_get_minimizer(iterations: int, learning_rate: float, init: int) -> float:
    minimizer = init
    for _ in range(iterations):
        minimizer = minimizer - learning_rate * 2 * minimizer
    return round(minimizer, 5)


def right_own_parabola(x0: float, lr: float, steps: int):
    x = x0
    for _ in range(steps):
        x = x - lr * 2 * (x - 3)
    return x


def right_history(gradient, start, learning_rate, num_iterations):
    x, history = np.array(start, float), []
    for _ in range(num_iterations):
        x = x - learning_rate * gradient(x)
        history.append(x)
    return x, history


def right_path(gradient, start, learning_rate, n_steps):
    path = [start]
    for _ in range(n_steps):
        path.append(path[-1] - learning_rate * gradient(path[-1]))
    return path


def right_differences(f, x0, lr, steps):
    x = np.array(x0, dtype=float)
    for _ in range(steps):
        g, h = np.zeros_like(x), 1e-4
        for i in np.ndindex(x.shape):
            e = np.zeros_like(x)
            e[i] = h
            g[i] = (f(x + e) - f(x - e)) / (2 * h)
        x = x - lr * g
    return x


def right_while(df, start_point, alpha, epochs):
    point, k = start_point, 0
    while k < epochs:
        point, k = point + alpha * -df(point), k + 1
    return point


def wrong_ascent(grad, x0, lr, steps):
    x = x0
    for _ in range(steps):
        x = x + lr * grad(x)
    return x


def wrong_ascent__interview(x0, lr, steps):
    for _ in range(steps):
        x0 = x0 + lr * 2 * x0
    return x0


def wrong_gradient_of_the_start(grad, x0, lr, steps):
    x, g = x0, grad(x0)
    for _ in range(steps):
        x = x - lr * g
    return x


def wrong_gradients_accumulated(grad, x0, lr, steps):
    x, g = x0, 0
    for _ in range(steps):
        g = g + grad(x)
        x = x - lr * g
    return x


def wrong_one_step_too_few(grad, x0, lr, steps):
    x = x0
    for _ in range(1, steps):
        x = x - lr * grad(x)
    return x


def wrong_one_step_too_many(grad, x0, lr, steps):
    x = x0
    for _ in range(steps + 1):
        x = x - lr * grad(x)
    return x


def wrong_returned_inside_the_loop(grad, x0, lr, steps):
    x = x0
    for _ in range(steps):
        x = x - lr * grad(x)
        return x


def wrong_never_moved(grad, x0, lr, steps):
    x = x0
    for _ in range(steps):
        x_new = x - lr * grad(x)  # noqa: F841
    return x


def wrong_point_forgotten(grad, x0, lr, steps):
    x = x0
    for _ in range(steps):
        x = -lr * grad(x)
    return x


def wrong_start_ignored(grad, x0, lr, steps):
    x = 0 * x0
    for _ in range(steps):
        x = x - lr * grad(x)
    return x


def wrong_one_coordinate_after_another(grad, x0, lr, steps):
    x = np.array(x0, float)
    for _ in range(steps):
        for i in np.ndindex(x.shape):
            x[i] = x[i] - lr * grad(x)[i]
    return x


def wrong_sign_of_gradient(grad, x0, lr, steps):
    x = x0
    for _ in range(steps):
        x = x - lr * np.sign(grad(x))
    return x


def wrong_gradient_of_length_one(grad, x0, lr, steps):
    x = x0
    for _ in range(steps):
        g = grad(x)
        x = x - lr * g / np.sqrt((g * g).sum())
    return x


def wrong_learning_rate_decays(grad, x0, lr, steps):
    x = x0
    for t in range(steps):
        x = x - lr / (1 + t) * grad(x)
    return x


def wrong_gradient_returned(grad, x0, lr, steps):
    x = x0
    for _ in range(steps):
        x = x - lr * grad(x)
    return grad(x)


def wrong_last_change_returned(grad, x0, lr, steps):
    x = x0
    for _ in range(steps):
        new = x - lr * grad(x)
        change, x = new - x, new
    return change


def wrong_step_length(grad, x0, lr, steps):
    x = x0
    for _ in range(steps):
        x = x - 2 * lr * grad(x)
    return x


def wrong_step_length__rate_left_out(grad, x0, lr, steps):
    x = x0
    for _ in range(steps):
        x = x - grad(x)
    return x


def right_in_place(grad, x0, lr, steps):
    for _ in range(steps):
        x0 -= lr * grad(x0)
    return x0


def wrong_path_of_one_array(grad, x0, lr, steps):
    x = np.array(x0, dtype=float)
    points = [x.copy()]
    for _ in range(steps):
        x -= lr * grad(x)
        points.append(x)
    return x, points


def right_with_path(grad, x0, lr, steps):
    x = np.array(x0, dtype=float)
    points = [x.copy()]
    for _ in range(steps):
        x -= lr * grad(x)
        points.append(x.copy())
    return x, points
