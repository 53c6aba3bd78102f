"""The commands, one a file; the registry knows them by name, and milpcb.cli loads only the one that is asked for."""
