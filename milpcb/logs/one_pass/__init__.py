"""Logs that do not fit memory: one pass over files adds up what a policy class asks of their rows.

Read ``files``, ``counting``, ``learning``.
"""
