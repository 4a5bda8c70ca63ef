"""Shares of the maximum rate to which a schedule without a parameter for its minimum may fall."""

SHARES = (0.01, 0.05, 0.1, 0.2)
