"""Stage two: located YAML nodes and the small languages inside their scalars, as trees."""
