"""Programs in conventions of public code, by the parts that they are."""
