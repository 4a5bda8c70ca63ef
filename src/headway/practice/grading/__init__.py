"""Points: the grade sheet, the grade of a hand-in, and the files that graders need."""
