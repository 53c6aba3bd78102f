"""Playing cells: the loop, checkpoints, progress, and the backends that spread cells over cores and machines."""
