"""Stage six: programs to text. Decides nothing; the same program gives the same bytes."""
