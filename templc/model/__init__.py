"""Stage three: what a spec means, every name resolved."""
