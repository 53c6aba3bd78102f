"""Playing cells: the loop, saved states, progress, and the backends that spread cells over cores and machines."""
