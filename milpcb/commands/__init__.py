"""The commands, one a file; milpcb.cli finds them by this table and loads only the one that is asked for."""

COMMANDS = {
    "run": "milpcb.commands.run:run",
    "plot": "milpcb.commands.plot:plot",
    "solve": "milpcb.commands.solve:solve",
    "solvers": "milpcb.commands.solvers:solvers",
    "list": "milpcb.commands.listing:list_names",
}
