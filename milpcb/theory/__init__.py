"""What the theorems say about one instance: their bounds, computed rather than bounded again, and whether they hold."""
