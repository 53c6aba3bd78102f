"""Conditions: tests that rules print are read back as such, one grammar both ways, with or without spaces."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milpcb.core.text import quoted, unquoted
from milpcb.data.columns import Membership, Number, Reached, in_words, name_in_words
from milpcb.data.conditions import holds, names_in
from milpcb.errors import InputError
from policies.names import Names

SIGNS = [
    '"', "\\", "\n", "\\n", "{", "}", ",", "<=", ">", "=", "!=", "(", ")", "1", "1e3", "-2.5", "inf", "a", " and ",
    " is ", " not ", "is", "not", "in", "missing", "(or missing)", "true", "False", " ", "\u202e",
]  # fmt: skip
TEXTS = st.one_of(st.text(max_size=6), st.lists(st.sampled_from(SIGNS), max_size=5).map("".join))
VALUES = st.one_of(
    TEXTS, st.booleans(), st.integers(-3, 3), st.integers(-(10**20), 10**20), st.none(), st.floats(-9, 9)
)
NUMBERS = st.floats(-9e99, 9e99)


@st.composite
def printed_tests(draw):
    """Return a table, a test as a rule prints it, and where it holds by the rule."""
    names = draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True))
    name = draw(st.sampled_from(names))
    kind = draw(st.sampled_from(["number", "reached", "between", "among"]))
    values = {other: np.zeros(6) for other in names}
    if kind == "among":
        listed = draw(st.lists(VALUES, min_size=2, max_size=6))
        column = np.empty(6, dtype=object)
        column[:] = np.resize(np.array([*listed, "a string"], dtype=object), 6)
        chosen = tuple(dict.fromkeys(draw(st.lists(st.sampled_from(column.tolist()), min_size=1, max_size=4))))
        values[name] = column
        membership = Membership(name, chosen, inside=draw(st.integers(0, 1)))
        sign = draw(st.sampled_from(["<=", ">"]))
        number = membership.read(column)
        return values, membership.test(sign, 0.5), number <= 0.5 if sign == "<=" else number > 0.5
    cut = draw(NUMBERS)
    column = np.array([cut, np.nextafter(cut, np.inf), np.nextafter(cut, -np.inf), np.nan, 0.0, 1.0])
    values[name] = column
    if kind == "reached":
        sign = draw(st.sampled_from(["<=", ">"]))
        number = Reached(name, cut).read(column)
        return values, Reached(name, cut).test(sign, 0.5), number <= 0.5 if sign == "<=" else number > 0.5
    if kind == "between":
        high = draw(st.floats(min_value=cut, max_value=9.9e99, exclude_min=True))
        values[name] = column = np.append(column[~np.isnan(column)], high)
        values = {other: np.resize(entry, 6) for other, entry in values.items()}
        return values, Names((name,)).between(0, cut, high), (cut < values[name]) & (values[name] <= high)
    missing = draw(st.sampled_from([np.inf, -np.inf]))
    sign, read = draw(st.sampled_from(["<=", ">"])), np.where(np.isnan(column), missing, column)
    return values, Number(name, missing).test(sign, cut), read <= cut if sign == "<=" else read > cut


@settings(max_examples=100)
@given(printed_tests())
def test_a_printed_test_is_read_as_what_it_was(drawn):
    """Whatever names, categories and numbers are: the condition holds where the rule's test does."""
    values, printed, expected = drawn
    assert holds(printed, values).tolist() == expected.tolist(), printed


@settings(max_examples=60)
@given(st.lists(VALUES, max_size=5), TEXTS)
def test_two_values_are_never_written_alike(values, text):
    """Conditions that are written alike are equal; a string in quotes is on one line, and comes back."""
    written = {in_words(value): value for value in values}
    assert all(written[in_words(value)] == value for value in values)
    assert unquoted(quoted(text)) == text
    assert len(quoted(text).splitlines()) == 1
    assert name_in_words(text) in (text, quoted(text))


@pytest.mark.parametrize(
    ("column", "where", "message"),
    [
        (["missing", "a"], "g is missing", "some have \"missing\" in column 'g'; write 'g = \"missing\"'"),
        (["missing", "a"], "g = missing", 'some have "missing"'),
        (["1", "a"], "g = 1", "write 'g = \"1\"'"),
        (["True", "a"], "g = true", "write 'g = True'"),
        ([True, "a"], "g = True", "write 'g = true'"),
        (["a"], "g = a and", "is no condition"),
        (["a"], "g = a and ", "is no condition"),
        (["a"], 'g = "a', "is no condition"),
        (["a"], "g = a (or missing)", "is for numbers"),
        (["a"], "1 < g <= 2", "holds categories"),
        (["a"], "h = a", "'h = a' does not begin with a column"),
    ],
)
def test_a_condition_that_would_constrain_nobody_is_one_line(column, where, message):
    """A value that no row has, while another one is written alike, is an error that shows how to write it."""
    with pytest.raises(InputError, match=message):
        holds(where, {"g": np.array(column, dtype=object)})


def test_a_value_that_no_row_has_is_a_warning():
    """A rare value may be absent from a fold: the test holds nowhere, and a line reports it."""
    column = np.array(["a", None], dtype=object)
    for where in ("g = b", 'g in {b, "c"}', 'g = "missing"'):
        with pytest.warns(UserWarning, match="no row has the value"):
            assert not holds(where, {"g": column}).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert holds("g is not missing", {"g": column[:1]}).all()


PEOPLE = {"age": np.array([20.0, 30.0, 40.0]), "sex": np.array(["f", "m", "is"], dtype=object)}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("age>20", [0, 1, 1]), ("age>=30 and sex=m", [0, 1, 0]), ("age !=30", [1, 0, 1]), ("sex= f", [1, 0, 0]),
        ("sex is not m", [1, 0, 1]), ("sex = is", [0, 0, 1]), ("age<=30 and age>20", [0, 1, 0]),
    ],
)  # fmt: skip
def test_spaces_around_a_sign_are_free(where, expected):
    """A condition typed in haste means the same."""
    assert holds(where, PEOPLE).tolist() == [bool(value) for value in expected]


def test_the_columns_of_a_condition_are_listed():
    """Each test gives its column, up to where nothing can be read."""
    assert list(names_in('age>20 and "a b" in {1, 2} and sex is missing')) == ["age", "a b", "sex"]
    assert list(names_in("age > 20 and nonsense")) == ["age"]
    assert list(names_in("")) == []
