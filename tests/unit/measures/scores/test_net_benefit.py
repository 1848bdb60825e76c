import numpy as np
import pytest
from scipy.special import stdtrit

from caltest import InvalidInput, NotApplicable, Predictions
from caltest.measures import net_benefit

RNG = np.random.default_rng(1)
P = RNG.random(300)
Y = (RNG.random(300) < P).astype(int)


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_values_are_those_of_dcurves():
    """Family history in df_binary: 105 cancers of 750; 24 of 115 with a history have cancer.

    Net benefits of R's dcurves, dca(cancer ~ famhistory, df_binary), in the file
    dcurves/data/r_dca_famhistory.csv of MSKCC-Epi-Bio/dcurves.
    """
    history = np.repeat([1.0, 0.0], [115, 635])
    cancer = np.concatenate([np.arange(115) < 24, np.arange(635) < 81]).astype(int)
    found = net_benefit(history, cancer, thresholds=[0.05, 0.1, 0.15, 0.2, 0.35])
    published = [0.025614035087719297, 0.018518518518518517, 0.010588235294117645]
    published += [0.0016666666666666635, -0.033333333333333354]
    np.testing.assert_allclose(found.model, published, rtol=1e-12)
    treat_all = [0.09473684210526317, 0.04444444444444445, -0.011764705882352927]
    treat_all += [-0.07499999999999998, -0.32307692307692315]
    np.testing.assert_allclose(found.treat_all, treat_all, rtol=1e-12)


def test_interval_is_that_of_a_mean():
    """A row gains 1, loses the odds of the threshold, or is not treated."""
    found = net_benefit(P, Y, thresholds=[0.25])
    gain = np.where(P >= 0.25, np.where(Y == 1, 1.0, -1 / 3), 0.0)
    assert found.model[0] == pytest.approx(gain.mean())
    error = gain.std(ddof=1) / np.sqrt(300)
    assert found.high[0] - found.low[0] == pytest.approx(2 * 1.959964 * error)


def test_clusters_of_copies_keep_the_interval():
    """Twice the same rows, in clusters, say as much as once; weights of 2 change nothing."""
    rows = np.repeat(np.arange(300), 2)
    copies = net_benefit(Predictions(P[rows], Y[rows], clusters=rows))
    weighted = net_benefit(Predictions(P, Y, sample_weight=np.full(300, 2.0)))
    alone = net_benefit(P, Y)
    np.testing.assert_allclose(weighted.low, alone.low)
    np.testing.assert_allclose(copies.model - copies.low, alone.model - alone.low, rtol=0.02)


def test_interval_of_clusters_is_that_of_the_jackknife():
    """Without the cluster that holds a third of the rows the mean is another."""
    clusters = np.minimum(np.arange(300) // 10, 20)
    found = net_benefit(Predictions(P, Y, clusters=clusters), thresholds=[0.25])
    gain = np.where(P >= 0.25, np.where(Y == 1, 1.0, -1 / 3), 0.0)
    without = np.array([gain[clusters != c].mean() for c in range(21)])
    error = np.sqrt(np.square(without - gain.mean()).sum() * 20 / 21)
    assert found.high[0] - found.model[0] == pytest.approx(stdtrit(20, 0.975) * error)


def test_interval_knows_of_rows_that_were_not_seen():
    """Where none of 50 rows is treated or has the event, 1 - .025^(1/50) = 7.1 % may."""
    found = net_benefit(np.full(50, 0.02), np.zeros(50), classes=[0, 1], thresholds=[0.01, 0.5])
    assert found.high == pytest.approx([0.071 - 1 / 99, 0.071], abs=0.001)
    assert found.low == pytest.approx([-1 / 99, -0.071], abs=0.001)


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
def test_interval_holds_possible_values_alone():
    """No more than all rows are true positives, or false ones."""
    found = net_benefit([0.2, 0.7, 0.7], [1, 0, 1], thresholds=[0.1, 0.5, 0.9])
    assert (found.high <= 1).all()
    assert (found.low >= -found.threshold / (1 - found.threshold)).all()


def test_thresholds_lie_from_0_to_below_1():
    """0 treats everybody; the odds of 1 are infinite. More classes need a lens."""
    found = net_benefit(P, Y, thresholds=0.0)
    assert found.model == found.treat_all == pytest.approx(Y.mean())
    with pytest.raises(InvalidInput, match="thresholds must hold probabilities of at least 0"):
        net_benefit(P, Y, thresholds=[0.5, 1.0])
    for wrong in ("x", None, [1j]):
        with pytest.raises(InvalidInput, match="thresholds must"):
            net_benefit(P, Y, thresholds=wrong)
    with pytest.raises(NotApplicable, match="the net benefit takes one-dimensional"):
        net_benefit(RNG.dirichlet(np.ones(3), 30), RNG.integers(0, 3, 30))
