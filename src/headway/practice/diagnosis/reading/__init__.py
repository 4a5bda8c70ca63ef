"""Facts about a learner's file that are known before any of it is called: its subjects, its values, its imports."""
