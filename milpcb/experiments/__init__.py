"""Experiments: config, loop, regret, run directories, plots."""
