"""From a name in a config to the class behind it, whether built in, installed or beside the config.

Read registry, injection, local_classes.
"""
