"""Tests against a real training service, in an environment of their own: see README.md."""
