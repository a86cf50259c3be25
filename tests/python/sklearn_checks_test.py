"""scikit-learn's own checks. They seed what has a random_state, so that noise is the same in each run; the data sets are tiny."""
import warnings

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpreduce import DPClassifier, DPMeanClassifier, DPRegressor

# All that fail, and no other: one that passes is a failure here.
_EXPECTED = {"check_class_weight_classifiers": "scores of class means are no log probabilities: weights are refused"}


@parametrize_with_checks([make(**budget) for make in (DPClassifier, DPMeanClassifier, DPRegressor)
                          for budget in ({"non_private": True}, {"epsilon": 1, "delta": 1e-6})])
def test_estimators_pass(estimator, check, request):
    name = getattr(check, "func", check).__name__
    if name in _EXPECTED and isinstance(estimator, DPMeanClassifier):
        request.node.add_marker(pytest.mark.xfail(reason=_EXPECTED[name], strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)
