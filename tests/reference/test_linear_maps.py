"""Dirichlet calibration and matrix scaling against dirichletcal and the tables of Kull et al. 2019.

peers.json holds the weights of dirichletcal (github.com/dirichletcal/dirichlet_python). Its
penalties are lam sum_ij w_ij^2 + lam sum_i b_i^2 ("l2"), lam sum_{i != j} w_ij^2 + mu sum_i b_i^2
("odir"), without the divisors m (m - 1) and m of the paper, of weights relative to the last row.

The kull2019 tables are for networks; their authors fitted with Keras (Adam, 128 rows at a time,
early stopping on the training loss; github.com/dirichletcal/experiments_dnn), again without the
divisors, to 5 folds of KFold(shuffle=True, random_state=15), whose maps they averaged. Adam has not
converged when it stops: their log loss differs from that of the minimum by up to 4e-4.
"""

import csv

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.model_selection import KFold

from caltest.calibrators import DirichletCalibrator, EnsembleCalibrator, MatrixScaling

FOLDS = KFold(5, shuffle=True, random_state=15)
METHODS = {
    "Dir-ODIR": (DirichletCalibrator, "odir"),
    "Dir-L2": (DirichletCalibrator, "l2"),
    "MS-ODIR": (MatrixScaling, "odir"),
}


@pytest.fixture(scope="module")
def peers(others):
    """Values on 200 predictions of four classes, the predictions and the labels."""
    r = np.random.RandomState(7)  # the generator of the file
    logits = r.normal(0, 1.5, (200, 4))
    logits[np.arange(200), r.randint(0, 4, 200)] += 1 + np.log(4)
    drawn = softmax(0.7 * logits, axis=1).cumsum(axis=1) < r.uniform(size=(200, 1))
    return others["multi200x4"]["values"], softmax(logits, axis=1), drawn.sum(axis=1).clip(0, 3)


def without_divisors(m, reg, lam, mu):
    """Options that give the authors' packages' penalty."""
    if reg == "l2":
        return {"reg": reg, "lam": lam, "mu": mu}
    return {"reg": reg, "lam": lam * m * (m - 1), "mu": mu * m}


@pytest.mark.parametrize(
    ("key", "method", "penalties"),
    [
        ("full_l2_1e-3", DirichletCalibrator, ("l2", 1e-3, 1e-3)),
        ("full_odir_1e-3_1e-3", DirichletCalibrator, ("odir", 1e-3, 1e-3)),
        ("full_odir_1e-2_1e-1", DirichletCalibrator, ("odir", 1e-2, 1e-1)),
        ("matrix_odir", MatrixScaling, ("odir", 1e-3, 1e-3)),
    ],
)
def test_weights_are_those_of_dirichletcal(peers, key, method, penalties):
    values, probs, y = peers
    fitted = method(**without_divisors(4, *penalties), reference_class=True).fit(probs, y)
    weights = np.column_stack(fitted.linear_)
    assert weights == pytest.approx(np.array(values[f"{key} weights|dirichletcal"]), abs=1e-10)
    expected = np.array(values[f"{key} pred2|dirichletcal"])
    assert fitted.predict_proba(probs[:2]) == pytest.approx(expected, abs=1e-10)


def test_constrained_weights_are_those_of_dirichletcal(peers):
    """Its fixed diagonal is the temperature, its diagonal vector scaling of log probabilities."""
    values, probs, y = peers
    diagonal = {"lam": 0, "off_diagonal": "zero"}
    for key, options in {"diag": {}, "temp": {"diagonal": "common", "intercept": False}}.items():
        fitted = DirichletCalibrator(**diagonal, **options).fit(probs, y)
        weights = np.column_stack(fitted.linear_)
        expected = np.array(values[f"{key} weights|dirichletcal"])
        assert weights - weights[-1] == pytest.approx(expected, abs=2e-8)


def network(data_dir, name):
    """Logits and labels of the calibration set and of the test set."""
    with np.load(data_dir / "logits" / f"kull_{name}.npz") as file:
        parts = [file[f"{kind}_{part}"] for part in ("val", "test") for kind in ("logits", "y")]
    return [
        part.astype(float) if part.ndim == 2 and part.shape[1] > 1 else part.ravel()
        for part in parts
    ]


def log_loss(probs, y):
    """As scikit-learn clipped it in 2019."""
    return -np.log(np.clip(probs[np.arange(len(y)), y], 1e-15, 1)).mean()


def rows(file):
    with file.open() as lines:
        return list(csv.DictReader(lines))


@pytest.mark.parametrize("name", ["c10_densenet40", "c10_convnet"])
@pytest.mark.parametrize("method", METHODS)
def test_log_loss_is_that_of_the_paper(data_dir, reference_dir, name, method):
    """Table 4 to six digits, with the penalties that its authors had chosen."""
    table = rows(reference_dir / "kull2019_dnn_best_hyperparams_5nets.csv")
    chosen = next(row for row in table if (row["Name"], row["Method"]) == (name, method))
    kind, reg = METHODS[method]
    options = without_divisors(10, reg, float(chosen["L2"]), float(chosen["mu"]))
    X, y, X_test, y_test = network(data_dir, name)
    ensemble = EnsembleCalibrator(kind(**options), cv=FOLDS, from_logits=True).fit(X, y)
    loss = log_loss(ensemble.predict_proba(X_test), y_test)
    assert loss == pytest.approx(float(chosen["Loss_test_ens"]), abs=4e-4)
    wrong = np.mean(ensemble.predict(X_test) != y_test)
    measures = rows(reference_dir / "kull2019_dnn_measures.csv")  # Dir-L2 is not in it
    for row in measures:
        if (row["Name"], row["Method"]) == (name, method):
            assert wrong == pytest.approx(float(row["Error"]) / 100, abs=6e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "lams", "mus"),
    [
        ("Dir-ODIR", [0.1, 0.25, 0.5, 1.0], [1e-4, 1e-3, 1e-2]),
        ("Dir-L2", [1e-3, 5e-3, 1e-2, 2.5e-2, 1e-1], None),
        ("MS-ODIR", [0.05, 0.1, 0.25, 0.5], [1e-5, 1e-4, 1e-3]),
    ],
)
def test_chosen_penalties_give_the_log_loss_of_the_paper(
    data_dir, reference_dir, method, lams, mus
):
    """ResNet-110 on CIFAR-10, whose penalties are not given: the grid around our choice of all."""
    kind, reg = METHODS[method]
    unit = without_divisors(10, reg, 1.0, 1.0)
    grid = {"lam": [lam * unit["lam"] for lam in lams]}
    if mus is not None:
        grid["mu"] = [mu * unit["mu"] for mu in mus]
    X, y, X_test, y_test = network(data_dir, "c10_resnet110")
    ensemble = EnsembleCalibrator(kind(reg=reg), param_grid=grid, cv=FOLDS, from_logits=True)
    loss = log_loss(ensemble.fit(X, y).predict_proba(X_test), y_test)
    table = rows(reference_dir / "kull2019_dnn_logloss_all_methods.csv")
    expected = next(float(row[method]) for row in table if row["Name"] == "c10_resnet110")
    assert loss == pytest.approx(expected, abs=4e-4)


@pytest.mark.parametrize(("reg", "most"), [("odir", 0.2036), ("l2", 0.2036)])
def test_penalties_by_default_are_near_the_best(data_dir, reg, most):
    """ResNet-110 on CIFAR-10: the best of each grid has 0.203, no penalty 0.212, T alone 0.209."""
    X, y, X_test, y_test = network(data_dir, "c10_resnet110")
    fitted = MatrixScaling(reg=reg, from_logits=True).fit(X, y)
    assert log_loss(fitted.predict_proba(X_test), y_test) < most
