"""Policies as source code: a rule as nested decisions, and these as SQL and as Python."""
