"""Everything that can be said to the author of a spec: problems, their codes, and how they look."""
