"""What several exercises share: steps of recipes, conventions, mistakes, probes' sequences and weights."""
