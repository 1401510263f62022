"""What can be promised: stability tables with witnesses, and what of a text a tokenizer keeps apart."""
