"""What is trained is what a model samples: proved of a program, for every option, past and kind of message."""
