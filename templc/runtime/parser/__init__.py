"""The response parser: tokens or text of a completion to the message that it says."""
