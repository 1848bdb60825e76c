"""A check of skore, whether calibration is rejected on the test set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skore import Check

from caltest.checks import check_choice, check_level, check_seed
from caltest.errors import NotApplicable
from caltest.htests import test_calibration
from caltest.htests.combine import adjusted_pvalues
from caltest.testing.assertions import checked_result


class CalibrationCheck(Check):
    """The check; skore reads its attributes and calls `check_function`.

    Parameters
    ----------
    level : float
        Significance level.
    rng : int
        The seed.
    code : str
        By which skore names the check.
    severity : {"issue", "tip"}
        Where skore lists what is found.
    arguments : mapping of str to object
        Others of `test_calibration`.
    """

    title = "Probabilities are not calibrated"
    docs_url = None
    slow = False

    def __init__(
        self, *, level: float, rng: int, code: str, severity: str, arguments: Mapping[str, Any]
    ) -> None:
        self.report_types = ["estimator", "cross-validation"]
        self.code = code
        self.severity = check_choice(severity, ("issue", "tip"), "severity")
        self.level, self.rng = check_level(level), check_seed(rng)
        self.arguments = dict(arguments)

    def check_function(self, report: Any) -> str | None:
        """Test the test set of a report, or those of its folds.

        Parameters
        ----------
        report : EstimatorReport or CrossValidationReport
            Of a classifier.

        Returns
        -------
        str or None
            What is wrong, or None where nothing is found.
        """
        found = list(filter(None, map(self._tested, getattr(report, "reports_", [report]))))
        if not found:
            raise _not_applicable("the report has no classifier with probabilities and a test set")
        adjusted, _ = adjusted_pvalues([pvalue for pvalue, _ in found], "holm")
        worst = int(adjusted.argmin())
        if adjusted[worst] > self.level:
            return None
        where = "" if len(found) == 1 else f" (fold {worst + 1} of {len(found)}, Holm's method)"
        again = f"Repeat with ct.test_calibration(model, (X, y), rng={self.rng})."
        return f"{found[worst][1]}{where} {again}"

    def _tested(self, report: Any) -> tuple[float, str] | None:
        model = report.estimator_
        if report.X_test is None or not hasattr(model, "predict_proba"):
            return None
        asked = {"level": self.level, "rng": self.rng, **self.arguments}
        try:
            result = test_calibration(model, (report.X_test, report.y_test), **asked)
        except NotApplicable as error:
            raise _not_applicable(str(error)) from error
        answer = checked_result(result, level=self.level)
        return answer.pvalue, answer.headline


def _not_applicable(reason: str) -> Exception:
    from skore._checks.utils import CheckNotApplicable  # skore exports no other

    return CheckNotApplicable(reason)  # type: ignore[no-any-return]  # skore has no types
