"""The command line: one module per command, and what several of them share.

A command reads its arguments, calls the library and prints; it holds no knowledge of formats. Results go to standard
output, everything else to standard error. The exit status is 0, 1 for a finding, 2 for bad input.
"""
