"""What several test modules need: real vocabularies."""
