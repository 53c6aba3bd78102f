"""Parts of cases: a config and tables that are right, and values, names and plug-ins to put into them."""

CONFIG = """\
[experiment]
name = "tiny"
horizon = 20
seeds = [0, 1]
checkpoints = 5
[environment]
name = "planted"
n_contexts = 6
n_features = 3
cost_right = 0.25
[policies]
name = "decision_trees"
depth = 1
thresholds = 2
[oracle]
kind = "milp"
solver = "highs"
time_limit = 5.0
[[learners]]
name = "bistro_plus"
label = "ours"
noise = "half"
queries = "profile"
scale = 6
[[learners]]
name = "uniform"
max_horizon = 50
[[learners]]
name = "exp4"
oracle = { kind = "search" }
contexts = "pool"
[[constraints]]
name = "share_at_most"
action = 1
share = 0.9
[run]
backend = "serial"
save_seconds = 5.0
"""
FREE = CONFIG[: CONFIG.index("[[constraints]]")] + CONFIG[CONFIG.index("[run]") :]
REPLAY = """\
[experiment]
name = "log"
horizon = 4
[environment]
name = "replay"
contexts = "x.csv"
costs = "c.csv"
[policies]
name = "threshold_rules"
[oracle]
kind = "search"
[[learners]]
name = "exp4"
[run]
backend = "serial"
"""
CONTEXTS = "age,insured\n20,0\n30,1\n70,0\n80,1\n"
COSTS = "wait,treat\n0,1\n0,1\n1,0\n1,0\n"


def words(text: str) -> list[str]:
    """Return values without blanks in them, of which each line has many."""
    return text.split()


VALUES = (  # of keys, as TOML has them
    *words(r"""
0 -1 1 2 7 40 1e308 -0.0 nan -inf inf true {} [] [[]] "" "a" 0.5 0x10 1_000 1979-05-27 "=cmd()"
"\u0000" "\u001b[31m" "\ud800" "x\ny" "planted" "exp4" "search" "enumeration" "audited" ":" "click:edit" "os:system"
"mine:Evil" ".." "." "../../up" "/" "a/b" "pulp:PULP_CBC_CMD" "highs:fast" "scipy" "rule_lists" "linear_rules"
"box_rules" "monotone_rules" "finite_class" "replay" "supervised" "doubling" "hedge"
"""),
    *(str(2**63), str(2**63 - 1), str(-(2**63)), "9" * 30, "9" * 5000, "[0, 0]", '["a", 1]', '"\u202e"'),
    *('"' + "x" * 100_000 + '"', "[" * 3000, "{a = " * 50),
)
# Numbers that say how much work is asked for are mutated to small ones only: a long study is no mistake.
WORK = ("horizon", "n_contexts", "n_features", "n_actions", "draws", "depth", "max_cuts", "max_rules", "every", "seeds")
SMALL = (*words('0 -1 1 2 3 5 2.5 true nan "a" [] {}'), "[1, 2]", "[2, 2]", str(2**63), "9" * 5000)
MADE = "from {base} import {name}\nclass Evil({name}):\n"
PLUGINS = {
    "syntax error": "class Evil(:\n",
    "exit at import": "import sys\nsys.exit(3)\n",
    "error at import": "1 / 0\n",
    "endless recursion at import": "def f(): return f()\nf()\n",
    "no such name": "class Good: pass\n",
    "function": "def Evil(): return 1\n",
    "number": "Evil = 3\n",
    "class without a promise": "class Evil: pass\n",
    "constructor that fails": MADE + "    def __init__(self): raise KeyError('x')\n{body}",
    "constructor without types": MADE + "    def __init__(self, a, b=2): pass\n{body}",
    "constructor of anything": MADE + "    def __init__(self, *a, **k): pass\n{body}",
    "constructor with a type that is not there": MADE + "    def __init__(self, a: 'Nowhere' = 1): pass\n{body}",
    "unfinished class": MADE + "    pass\n",
    "methods that fail": MADE + "    def __init__(self): self.n_actions = 3\n{body}",
    "methods that return nonsense": MADE + "    def __init__(self): self.n_actions = 3\n{nonsense}",
    "not UTF-8": "# caf\udce9\n",
    "zero byte": "a = 1\x00\n",
    "file written at import": "open('written_at_import.txt', 'w')\nclass Evil: pass\n",
}
BASES = {  # by section of the config: the base class, and the lines that a class of one's own replaces
    "policies": ("milpcb.protocols", "PolicyClass", 'name = "decision_trees"\ndepth = 1\nthresholds = 2'),
    "environment": (
        "milpcb.protocols", "Environment", 'name = "planted"\nn_contexts = 6\nn_features = 3\ncost_right = 0.25',
    ),
    "learners": ("milpcb.protocols", "Learner", 'name = "uniform"\nmax_horizon = 50'),
}  # fmt: skip
METHODS = (
    *("on", "formulate", "search", "policies", "draw", "log_size", "open", "act", "learn", "_act", "_learn", "state"),
    *("restore", "estimates", "guarantee"),
)
# Of tables, and of command lines.
CELLS = [*words('x nan inf 1e400 " "1 1;2 0x1 1_0 =1+1 \u0661'), "", "9" * 5000, "\x00", "\x1b[2J", " 1 "]
CONTENTS = (b"", b"\n\n", b"\xef\xbb\xbf", "\u00e9,b\n1,2\n".encode("latin-1"), b"a,a\n1,2\n3,4\n")
PATHS = [
    *words("a.toml x.csv c.csv . .. / - nowhere out file/sub /dev/null a.toml/ ~ caf\u00e9.toml fifo empty held =1"),
    *("", "/proc/self/mem", "x" * 5000, "a\nb", "\x1b[31m", "\udcff"),
]
OPTIONS = words(
    "--out --kind --solver --policies --time-limit --backend --workers --progress --figure --noise --draws --depth "
    "--dry-run --quick --all --help --version -- -x --no"
)
GIVEN = [
    *words("0 -1 1 2 nan 1e999 all exp4 search serial quiet json os:system : mine:Evil regret half highs out"),
    *words("pic.png pic.csv answer.json"),
    *("", "9" * 5000, str(2**63), "\x1b[2J", "\udcff", "[" * 2000, "x" * 100_000),
]
COMMANDS = [*words("run resume plot report solve bound solvers list rn"), "", "\x1b", "\udcff"]
