"""A config as values: sections, cells of the grid, and the objects they stand for."""
