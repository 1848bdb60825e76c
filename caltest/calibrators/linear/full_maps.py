"""Dirichlet calibration and matrix scaling: linear maps of log probabilities and of logits."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy.special import digamma

from caltest.calibrators.base import CalibrationSet
from caltest.calibrators.inputs import Inputs
from caltest.calibrators.linear.linear_maps import (
    LinearMap,
    Penalty,
    generative_to_linear,
    linear_to_generative,
)
from caltest.checks import check_choice
from caltest.errors import invalid, shown
from caltest.numerics.dirichlet import fit_dirichlet
from caltest.types import Floats

LARGEST = 1e6  # sum of the parameters; predictions that vary less are taken as equal
# Options that are not those of the log loss and its penalty.
OF_BOTH = {"classes", "from_logits", "clip", "cv", "random_state", "n_jobs"}


@dataclass(kw_only=True, eq=False, repr=False)
class DirichletCalibrator(LinearMap):
    r"""Dirichlet calibration: a linear map of log probabilities before the softmax.

    By default with ODIR; `reg="l2"` is the paper's plain L2, which draws all weights to 0 and has
    no prior on the diagonal; `parametrisation="generative"` fits a Dirichlet to each class.

    .. math:: \hat\mu(q) = \mathrm{softmax}(W \ln q + b) \quad \text{(equation 7)}

    are the posterior probabilities of the classes if predictions q of each class are Dirichlet.
    For two classes it is beta calibration, without a constraint on the signs.

    The weighted mean log loss is minimised plus a penalty. With "odir" (off-diagonal and intercept
    regularisation) it is

    .. math:: \frac{\lambda}{m (m - 1)} \sum_{i \ne j} w_{ij}^2
        + \frac{\mu}{m} \sum_i b_i^2 + \frac{\kappa}{m} \sum_i (w_{ii} - 1)^2,

    and with "l2" :math:`\lambda \sum_{ij} w_{ij}^2 + \mu \sum_i b_i^2`. (The authors' package
    dirichletcal leaves the divisors of the first out, unless reg_norm=True; the second is its own.)
    The minimum of the convex objective is found by Newton's method to a gradient below 1e-9 of that
    at W = I, b = 0, as far as rounding allows.

    In the generative parametrisation (equation 6) nothing is penalised: the predictions of each
    class i get the Dirichlet of greatest likelihood, :math:`\alpha_i`, and the class its share
    :math:`\pi_i` of the weights, as in the `GenerativeDirichletCalibrator` of the authors' package.
    The map is that of Bayes' rule, :math:`\hat\mu_i(q) \propto \pi_i f_i(q)`. It needs no search,
    and is the better the more the predictions of a class are Dirichlet; no log loss is minimised.

    Parameters
    ----------
    parametrisation : {"linear", "generative"}
        What is fitted: (W, b), or (alpha, pi), which takes no other options than `clip`.
    reg : {"odir", "l2"}
        The penalty, see above.
    lam : "auto", float or sequence of float, default "auto"
        Penalty of W, at least 0. "auto" is that of independent normal priors: with "odir" of
        standard deviation 1/2m for the off-diagonal weights, lam = 2 m^3 (m - 1) / n; with "l2" of
        1/(3 sqrt(m)) for all, lam = 9m / 2n; n is the sum of the sample weights. Of a sequence, the
        value with the least log loss in cross-validation is taken, and fitted to all data. The
        paper averages the maps of the folds, as `EnsembleCalibrator` with `param_grid` does.
    mu : "auto", float or sequence of float, optional
        Penalty of b, at least 0; by default lam, and "auto" where that is "auto": that of a normal
        prior of standard deviation 1, m / 2n with "odir", 1 / 2n with "l2". Of two sequences all
        pairs are compared.
    diagonal_lam : "auto" or float, default "auto"
        kappa, at least 0, of "odir". The paper's is 0, which leaves the diagonal without a bound
        where the labels are separated, and with it the certainty of the map. "auto" is that of
        normal priors of mean 1 and standard deviation 2 where `lam` is "auto", kappa = m / 8n (for
        a common diagonal 1 / 8n), and 0 where `lam` is given.
    diagonal : {"free", "common", "fixed"}
        Whether the diagonal weights are fitted, share one value (with `off_diagonal="zero"` and
        `intercept=False` that is temperature scaling, the fixed-diagonal map of dirichletcal), or
        stay 1.
    off_diagonal : {"free", "dropped", "zero"}
        Whether the other weights are fitted, fitted and then set to 0 (MS-ODIR-zero in the
        supplement of the paper), or 0 from the start (vector scaling).
    intercept : bool, default True
        Whether b is fitted.
    reference_class : bool, default False
        Keep the last row of W and b at 0 and penalise the other weights relative to it, as the
        package dirichletcal does. The fit then depends on the order of the classes.
    clip : float, default 2.2e-16
        In (0, 0.1]; smaller probabilities are raised to it before their logarithm is taken, as in
        dirichletcal. A network in double precision may have many that are smaller, which logits
        keep: they are not clipped.
    cv : int, splitter or iterable, default 5
        Folds to choose `lam` and `mu`, as in `EnsembleCalibrator`; used where one is a sequence.
    random_state : int, optional
        Seed by which rows are shuffled before they are dealt to folds.
    n_jobs : int, optional
        Threads over the folds, as in joblib.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.

    Attributes
    ----------
    linear_ : tuple of (m, m) array and (m,) array
        (W, b). Where nothing is penalised, constants can be added to a column of W or to b without
        effect: columns of W then sum to 1 and b to 0.
    canonical_ : tuple of (m, m) array and (m,) array
        (A, c) of the unique form softmax(A ln(m q) + ln c) with A >= 0 and a zero in every column
        of A; c is what the uniform prediction is mapped to.
    generative_ : tuple of (m, m) array and (m,) array
        (alpha, pi): predictions of class i follow the Dirichlet of row i, with alpha = A + 1,
        and class i has the share pi_i. Of a generative fit, the alpha that were fitted.
    lam_, mu_ : float
        The penalties used.
    gradient_norm_ : float
        Euclidean norm of the gradient of the objective; of a generative fit the largest of all
        classes.
    n_iter_ : int
        Newton steps; of a generative fit the most of all classes.
    standard_errors_ : (m, m + 1) array or None
        Standard errors of (W, b) by the observed information of the total log likelihood, where
        nothing is penalised and there are at most 600 parameters.

    Raises
    ------
    InvalidInput
        If, with more than 300 classes, there are over 100 free weights for each row. If options of
        the penalty or of the matrix are given to the generative fit.

    Warns
    -----
    DegenerateDataWarning
        If the labels are separated, or a class does not occur, and the penalty leaves a weight
        free to grow: there is no minimum, and the weights are those where the gradient is 1e-9 of
        that at the start. In a generative fit, if a class does not occur (its predictions count as
        uniform on the simplex, and its share as half a row) or all its predictions are equal (its
        parameters sum to 1e6).

    References
    ----------
    Kull et al. (2019), Beyond temperature scaling: obtaining well-calibrated multiclass
    probabilities with Dirichlet calibration, NeurIPS 32, section 3 and theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from caltest.calibrators import DirichletCalibrator
    >>> rng = np.random.default_rng(0)
    >>> logits = 2 * rng.normal(size=(2000, 3))
    >>> y = (logits / 2 + rng.gumbel(size=(2000, 3))).argmax(axis=1)  # too sure of itself
    >>> dirichlet = DirichletCalibrator(from_logits=True).fit(logits, y)
    >>> A, c = dirichlet.canonical_
    >>> A.round(1), c.round(2)  # close to half the identity, and to thirds
    (array([[0.5, 0. , 0. ],
           [0. , 0.5, 0. ],
           [0. , 0. , 0.6]]), array([0.33, 0.35, 0.32]))
    """

    key, title = "dirichlet", "Dirichlet calibration"

    parametrisation: str = "linear"

    def _scores(self, inputs: Inputs) -> Floats:
        return inputs.clipped(self.clip).log_probs

    def _minimise(
        self, data: CalibrationSet, lam: Penalty, mu: Penalty, start: Floats | None = None
    ) -> None:
        check_choice(self.parametrisation, ("linear", "generative"), "parametrisation")
        if self.parametrisation == "linear":
            super()._minimise(data, lam, mu, start)
            return
        for option in fields(LinearMap):
            value, usual = (getattr(of, option.name) for of in (self, DirichletCalibrator))
            if option.name not in OF_BOTH and not np.array_equal(value, usual):
                rule = f"{option.name} must go with parametrisation='linear'"
                raise invalid(rule, shown(value), "leave it out")
        X, codes, weight, total = self._design(data)
        m = data.inputs.m
        mass = np.bincount(codes, weight, m)
        fits = []
        for k, name in enumerate(self.classes_.tolist()):
            own = codes == k
            logs = weight[own] @ X[own, :m] / mass[k] if mass[k] else digamma(1) - digamma(m)
            fits.append(fit_dirichlet(np.broadcast_to(logs, m), LARGEST))
            if not mass[k]:
                self._note(f"no label is {name}: its predictions count as uniform")
            elif fits[k][0].sum() > LARGEST:
                self._note(f"the predictions of class {name} are all equal, or nearly so")
        alphas, norms, steps = zip(*fits, strict=True)
        alpha = np.array(alphas)
        share = np.maximum(mass, 0.5 / total)
        W, b = generative_to_linear(alpha, share / share.sum())
        self._keep(np.column_stack([W, b]), 0.0, 0.0, max(norms), max(steps), None)

    @property
    def generative_(self) -> tuple[Floats, Floats]:
        """(alpha, pi): Dirichlet parameters of the predictions of each class, and its share."""
        shift = 1 + self.weights_.min(axis=0) if self.parametrisation == "generative" else 1
        return linear_to_generative(*self.linear_, shift)


# ---- Matrix scaling, Guo et al. 2017, with the penalties of Kull et al. 2019 --------------------


class MatrixScaling(LinearMap):
    r"""Matrix scaling: a linear map of the logits before the softmax.

    .. math:: \hat\mu(z) = \mathrm{softmax}(W z + b),

    of logits z, or of ln q where probabilities q are given; then it is the map of
    `DirichletCalibrator`. On logits the result depends on what was added to the rows.

    The weighted mean log loss is minimised plus a penalty. With "odir" (off-diagonal and intercept
    regularisation) it is

    .. math:: \frac{\lambda}{m (m - 1)} \sum_{i \ne j} w_{ij}^2
        + \frac{\mu}{m} \sum_i b_i^2 + \frac{\kappa}{m} \sum_i (w_{ii} - 1)^2,

    and with "l2" :math:`\lambda \sum_{ij} w_{ij}^2 + \mu \sum_i b_i^2`. (The authors' package
    dirichletcal leaves the divisors of the first out, unless reg_norm=True; the second is its own.)
    The minimum of the convex objective is found by Newton's method to a gradient below 1e-9 of that
    at W = I, b = 0, as far as rounding allows.

    Parameters
    ----------
    reg : {"odir", "l2"}
        The penalty, see above.
    lam : "auto", float or sequence of float, default "auto"
        Penalty of W, at least 0. "auto" is that of independent normal priors: with "odir" of
        standard deviation 1/2m for the off-diagonal weights, lam = 2 m^3 (m - 1) / n; with "l2" of
        1/(3 sqrt(m)) for all, lam = 9m / 2n; n is the sum of the sample weights. Of a sequence, the
        value with the least log loss in cross-validation is taken, and fitted to all data. The
        paper averages the maps of the folds, as `EnsembleCalibrator` with `param_grid` does.
    mu : "auto", float or sequence of float, optional
        Penalty of b, at least 0; by default lam, and "auto" where that is "auto": that of a normal
        prior of standard deviation 1, m / 2n with "odir", 1 / 2n with "l2". Of two sequences all
        pairs are compared.
    diagonal_lam : "auto" or float, default "auto"
        kappa, at least 0, of "odir". The paper's is 0, which leaves the diagonal without a bound
        where the labels are separated, and with it the certainty of the map. "auto" is that of
        normal priors of mean 1 and standard deviation 2 where `lam` is "auto", kappa = m / 8n (for
        a common diagonal 1 / 8n), and 0 where `lam` is given.
    diagonal : {"free", "common", "fixed"}
        Whether the diagonal weights are fitted, share one value (with `off_diagonal="zero"` and
        `intercept=False` that is temperature scaling, the fixed-diagonal map of dirichletcal), or
        stay 1.
    off_diagonal : {"free", "dropped", "zero"}
        Whether the other weights are fitted, fitted and then set to 0 (MS-ODIR-zero in the
        supplement of the paper), or 0 from the start (vector scaling).
    intercept : bool, default True
        Whether b is fitted.
    reference_class : bool, default False
        Keep the last row of W and b at 0 and penalise the other weights relative to it, as the
        package dirichletcal does. The fit then depends on the order of the classes.
    clip : float, default 2.2e-16
        In (0, 0.1]; smaller probabilities are raised to it before their logarithm is taken, as in
        dirichletcal. A network in double precision may have many that are smaller, which logits
        keep: they are not clipped.
    cv : int, splitter or iterable, default 5
        Folds to choose `lam` and `mu`, as in `EnsembleCalibrator`; used where one is a sequence.
    random_state : int, optional
        Seed by which rows are shuffled before they are dealt to folds.
    n_jobs : int, optional
        Threads over the folds, as in joblib.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.

    Attributes
    ----------
    linear_ : tuple of (m, m) array and (m,) array
        (W, b). Where nothing is penalised, constants can be added to a column of W or to b without
        effect: columns of W then sum to 1 and b to 0.
    canonical_ : tuple of (m, m) array and (m,) array
        (A, c) of the unique form softmax(A ln(m q) + ln c) with A >= 0 and a zero in every column
        of A; c is what the uniform prediction is mapped to. Only where probabilities are given.
    generative_ : tuple of (m, m) array and (m,) array
        (alpha, pi): predictions of class i follow the Dirichlet of row i, with alpha = A + 1,
        and class i has the share pi_i. Only where probabilities are given.
    lam_, mu_ : float
        The penalties used.
    gradient_norm_ : float
        Euclidean norm of the gradient of the objective.
    n_iter_ : int
        Newton steps.
    standard_errors_ : (m, m + 1) array or None
        Standard errors of (W, b) by the observed information of the total log likelihood, where
        nothing is penalised and there are at most 600 parameters.

    Raises
    ------
    InvalidInput
        If, with more than 300 classes, there are over 100 free weights for each row.

    Warns
    -----
    DegenerateDataWarning
        If the labels are separated, or a class does not occur, and the penalty leaves a weight
        free to grow: there is no minimum, and the weights are those where the gradient is 1e-9 of
        that at the start.

    References
    ----------
    Guo et al. (2017), On calibration of modern neural networks, ICML, section 4.2; Kull et al.
    (2019), Beyond temperature scaling: obtaining well-calibrated multiclass probabilities with
    Dirichlet calibration, NeurIPS 32, section 3 and table 21 of the supplement.

    Examples
    --------
    >>> import numpy as np
    >>> from caltest.calibrators import MatrixScaling
    >>> rng = np.random.default_rng(2)
    >>> logits = 2 * rng.normal(size=(2000, 3))
    >>> y = (logits / 2 + rng.gumbel(size=(2000, 3))).argmax(axis=1)  # too sure of itself
    >>> W, b = MatrixScaling(from_logits=True).fit(logits, y).linear_
    >>> W.round(1) + 0.0
    array([[0.5, 0. , 0. ],
           [0. , 0.5, 0. ],
           [0. , 0. , 0.5]])
    """

    key, title = "matrix", "Matrix scaling"

    def _scores(self, inputs: Inputs) -> Floats:
        return inputs.clipped(self.clip).logits

    def _of_log_probs(self) -> tuple[Floats, Floats]:
        if self.from_logits:
            rule = "canonical and generative forms must come from a map of probabilities"
            remedy = "fit DirichletCalibrator(from_logits=True)"
            raise AttributeError(f"{rule}; got one of logits; {remedy}")
        return self.linear_
