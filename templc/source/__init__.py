"""Stage one: text and places. Files to located nodes, spans to lines and columns."""
