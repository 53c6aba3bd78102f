"""The commands, one a file; milpcb.cli finds them by this table and loads only the one that is asked for."""

COMMANDS = {
    "run": "milpcb.commands.run:run",
    "resume": "milpcb.commands.resume:resume",
    "plot": "milpcb.commands.plot:plot",
    "report": "milpcb.commands.report:report",
    "solve": "milpcb.commands.solve:solve",
    "bound": "milpcb.commands.bound:bound",
    "solvers": "milpcb.commands.solvers:solvers",
    "verify": "milpcb.commands.verify:verify",
    "list": "milpcb.commands.listing:list_names",
}
