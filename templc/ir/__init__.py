"""Stage four: the program that every later stage reads, with its facts and horizons."""
