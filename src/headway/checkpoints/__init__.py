"""Files to weight trees, and back."""
