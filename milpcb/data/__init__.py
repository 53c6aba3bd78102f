"""Tables of users: files, data frames, their columns as the numbers that policies read, conditions on rows, actions.

Read tables, frames, columns, fields, schema, made_columns, conditions, actions.
"""
