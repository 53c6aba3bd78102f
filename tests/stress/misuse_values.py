"""Wrong values by kind of argument, and the right ones that a wrong call is made of."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from milpcb import FinitePool, open_oracle
from milpcb.plugins import registry
from policies import FiniteClass
from tests.inside import missing_extras

K, HORIZON = 3, 20
CONTEXTS = np.arange(8.0).reshape(4, 2)
LABELINGS = [[0, 1, 2, 0], [1, 1, 1, 1], [2, 0, 1, 0], [0, 0, 0, 0]]


Wrong = dict[str, Any]  # values that are wrong, by the names that a report has for them
Case = tuple[str, Callable[[], object]]  # what is wrong in a call, and the call
USUAL: dict[str, Wrong] = {}  # wrong values of arguments that mean the same wherever they are taken


def wrong(**values: Any) -> Wrong:
    return values


def but(values: Wrong, *names: str) -> Wrong:
    return {name: value for name, value in values.items() if name not in names}


def calls(
    name: str, call: Callable[..., Any], right: Mapping[str, Any], usual: str = "", /, **own: Wrong
) -> Iterator[Case]:
    """Yield a call with one wrong argument each: of those with ``usual`` wrong values, and of those with their own."""
    for parameter, every in ({each: USUAL[each] for each in usual.split()} | own).items():
        for what, value in every.items():
            yield f"{name}({parameter} = {what})", partial(call, **{**right, parameter: value})


NOT_A_NUMBER = wrong(
    text="3", none=None, a_list=[1], a_table={}, an_object=object(), complex=1 + 2j, an_array=np.ones(2)
)
# Values that no argument of a kind can take, whatever it means.
WHOLE = NOT_A_NUMBER | wrong(
    negative=-1, half=2.5, true=True, nan=np.nan, inf=np.inf, huge=10**400, np_half=np.float64(1.5)
)
REAL = NOT_A_NUMBER | wrong(negative=-1.0, true=True, nan=np.nan, inf=np.inf, huge=10**400)
CHOICE = wrong(unknown="no_such_thing", number=5, none=None, a_list=["uniform"], empty="", an_array=np.ones(2))
FLAG = wrong(text="yes", number=2, none=None, a_list=[True])
TABLE = wrong(
    none=None, text="abc", number=3.0, empty=[], empty_rows=[[], []], ragged=[[1.0, 2.0], [3.0]],
    words=[["a", "b"], ["c", "d"]], digits_as_text=[["1", "2"], ["3", "4"]], nan=np.full((4, 2), np.nan),
    inf=np.full((4, 2), np.inf), beyond=np.full((4, 2), 1e306), huge=[[10**400, 1]], one_dimension=[1.0, 2.0],
    three_dimensions=np.ones((2, 2, 2)), complex=np.ones((4, 2)) * 1j, dates=np.zeros((4, 2), dtype="datetime64[s]"),
    a_dict={"x": [1, 2]}, a_set={1, 2}, an_object=object(), bytes=b"abc",
)  # fmt: skip
LIST = wrong(  # of row numbers or actions, none of which is 9
    text="abc", halves=[0.5, 1.0, 0, 0], past=[0, 9, 0, 0], negative=[-1, 0, 0, 0], table=[[0, 1]], words=["a"],
    ragged=[[0], [0, 1]], huge=[10**400],
)  # fmt: skip
CUTS = wrong(text="many", negative=-1, half=1.5, nan=np.nan, true=True, words=[["a"], ["b"]], an_object=object())
ALIASES = ("Queries", "Leftover", "Estimator", "Data", "Rate", "Order")  # names of types that are choices of strings
NAMES = wrong(
    number=5, nones=[None, None], text="ab", repeated=["a", "a"], an_object=object(), too_many=list("abcdefghij")
)
ROW = wrong(
    negative=-1, past=4, half=0.5, text="0", none=None, true=True, nan=np.nan, a_list=[0], huge=10**400,
    array=np.array([0, 1]),
)  # fmt: skip


# ------------------------------------------------------------------- what is right


@cache
def oracle(kind: str = "enumeration") -> Any:
    """Return an oracle over four labelings of four contexts."""
    return open_oracle(FiniteClass(LABELINGS, K), CONTEXTS, kind=kind)


def supplied() -> dict[str, Any]:
    """Return what the runtime hands to learners."""
    return {
        "oracle": oracle(),
        "pool": FinitePool(CONTEXTS),
        "contexts": CONTEXTS,
        "horizon": HORIZON,
        "seed": 0,
        "n_actions": K,
        "best": [0, 1, 2, 0],
    }


def runnable(kind: str) -> list[str]:
    """Return the registered names of a kind whose packages are installed here."""
    return sorted({*registry.names(kind)} - missing_extras())


def learner(name: str, **options: Any) -> Any:
    cls = registry.load("learner", name)
    asked = inspect.signature(cls).parameters
    return cls(**{key: value for key, value in supplied().items() if key in asked} | options)


def wrong_values(parameter: inspect.Parameter) -> Wrong:
    """Return what a parameter of an annotated kind cannot be; nothing where the annotation says too little."""
    written = parameter.annotation
    text = written if isinstance(written, str) else inspect.formatannotation(written)
    optional = "None" in text or text.startswith("Optional") or parameter.default is None
    if parameter.name == "seed":
        return but(WHOLE, "huge")  # a seed may have any number of digits
    if parameter.name.endswith("_names"):
        return NAMES
    if parameter.name == "thresholds":
        return CUTS
    kinds = {"bool": FLAG, "int": WHOLE, "float": REAL, **dict.fromkeys(("str", "Literal", *ALIASES), CHOICE)}
    text = text.removeprefix("Optional[").removeprefix("Union[")
    values = next((kinds[kind] for kind in kinds if text.startswith(kind)), {})
    if values is CHOICE and "float" in text:
        values = but(values, "number")
    return but(values, "none") if optional else values
