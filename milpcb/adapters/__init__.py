"""Learners and environments of this project as other packages call them, one package a file."""
