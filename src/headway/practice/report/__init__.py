"""Results of a check of several files, and the formats in which they are written."""
