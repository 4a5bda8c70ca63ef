"""The judge: a parent process that never imports the learner's code, and the confined processes that run it."""
