"""The theorems on one instance: their bounds, computed rather than bounded again, and whether they hold."""
