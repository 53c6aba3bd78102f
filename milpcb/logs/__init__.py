"""From a log to a policy, its value, and a page that reports it."""
