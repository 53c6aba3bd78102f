"""Conditions are read with or without spaces around their signs."""

import numpy as np
import pytest

from milpcb.data.conditions import holds, names_in

VALUES = {"age": np.array([20.0, 30.0, 40.0]), "sex": np.array(["f", "m", "is"], dtype=object)}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("age>20", [0, 1, 1]), ("age>=30 and sex=m", [0, 1, 0]), ("age !=30", [1, 0, 1]), ("sex= f", [1, 0, 0]),
        ("sex is not m", [1, 0, 1]), ("sex = is", [0, 0, 1]), ("age<=30 and age>20", [0, 1, 0]),
    ],
)  # fmt: skip
def test_spaces_around_a_sign_are_free(where, expected):
    """A condition typed in haste means the same."""
    assert holds(where, VALUES).tolist() == [bool(value) for value in expected]


def test_the_columns_of_a_condition_are_listed():
    """Each test gives its column, up to where nothing can be read."""
    assert list(names_in('age>20 and "a b" in {1, 2} and sex is missing')) == ["age", "a b", "sex"]
    assert list(names_in("age > 20 and nonsense")) == ["age"]
    assert list(names_in("")) == []
