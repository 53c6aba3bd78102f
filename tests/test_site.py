"""The documentation: what is public has a place in its reference. Links and lists are checked by ./scripts/docs."""

import inspect

import milpcb
import policies
from milpcb import estimators, learners, offline


def test_every_public_name_is_in_the_reference(script):
    """Every public name is explained on a page, with the methods that are ours; commands stand with their help."""
    site = script("site/assemble.py")
    found = {name.public: name.page() for _, names in site.reference().values() for name in names}
    public = {
        f"{package.__name__}.{name}"
        for package in (milpcb, policies, learners, estimators, offline)
        for name in package.__all__
        if not name.startswith("__") and not inspect.ismodule(getattr(package, name))
    }
    assert public - found.keys() == set()
    assert "automethod:: fit\n" in found["milpcb.estimators.LoggedPolicyTree"]
    assert "request" not in found["milpcb.estimators.LoggedPolicyTree"]  # scikit-learn's
    assert site.commands().count("$ milpcb learn --help") == 1
