"""Recipes, mistakes and conventions that several exercises share."""
