"""A run directory and what is read from it: records, curves, tables, figures, the report."""
