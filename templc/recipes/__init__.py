"""Runnable examples of reinforcement learning over several turns."""
