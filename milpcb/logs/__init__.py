"""From a table of what was done and what came of it to a policy, what it is worth, and a page that reports it."""
