"""The five papers, table by table and figure by figure, and why numbers differ or are missing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Item:
    """A table, figure or section of a paper.

    Attributes
    ----------
    name, what : str
        "Table 3", and what it shows.
    starts : tuple of str
        How the places of its claims start; none where nothing is compared.
    why : str
        Why numbers differ, or cannot be had.
    absent : bool
        Whether it has numbers that cannot be had; otherwise there is nothing to compare.
    """

    name: str
    what: str
    starts: tuple[str, ...] = ()
    why: str = ""
    absent: bool = False


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper, the checks on it and its contents."""

    key: str
    name: str
    citation: str
    checks: tuple[str, ...]
    summary: str
    items: tuple[Item, ...]


NETWORKS = "Logits of 4 of the 14 networks are at hand. "
ADAM = (
    "Explained: Adam with the authors' settings stops before the minimum, and comes to the paper's "
    "value for some order of the rows. Not explained: it does not in the orders tried."
)

PAPERS = (
    Paper(
        "widmann_2019",
        "Widmann et al. 2019",
        "Widmann, Lindsten, Zachariah (2019), Calibration tests in multi-class classification: A "
        "unifying framework, NeurIPS 32",
        ("skce_tests",),
        "estimators, tests and their errors are the paper's, to Monte Carlo error; 14 of 959 "
        "numbers differ, each for a known reason (single precision, few data sets of ours, or "
        "words that the paper's own figures do not bear out).",
        (
            Item("Table 1", "the estimators of the SKCE", why="Formulas; the figures test them."),
            Item("Figure 1", "distributions of the estimates, m = 10", ("figure 1",)),
            Item("Figure 2", "empirical test errors, m = 10", ("figure 2",)),
            Item(
                "Section 7",
                "statements on bias and tests",
                ("section 7",),
                "With uniform bins the ECE is smaller at m = 1000 than at m = 100, in the paper's "
                "own figure 4 too.",
            ),
            Item(
                "Figures 3 to 34",
                "appendix J.2.3: estimates of 24 models, m = 2 to 1000",
                ("figures 3", "figure 4,", "figure 6,"),
                "SKCE_ul has two modes at m = 1000, and 50 data sets are few for its mean.",
            ),
            Item("Figures 35 to 82", "appendix J.2.4: test errors of these", ("figures 35",)),
            Item("Figure 83", "appendix: errors of networks on CIFAR-10", ("figure 83",)),
            Item("Figure 84", "appendix: p-values of networks on CIFAR-10", ("figure 84",)),
        ),
    ),
    Paper(
        "kull_2019",
        "Kull et al. 2019",
        "Kull, Perello-Nieto, Kaengsepp, Silva Filho, Song, Flach (2019), Beyond temperature "
        "scaling: Obtaining well-calibrated multi-class probabilities with Dirichlet calibration, "
        "NeurIPS 32",
        ("dirichlet_calibration", "dirichlet_networks"),
        "the rankings hold. Ranks differ mostly for trees and nearest neighbours, which predict "
        "probabilities of 0: there the paper's code leaves temperature scaling at 1. On networks, "
        "differences are where Adam stops; the logits of ten of the 14 networks are not at hand.",
        (
            Item(
                "Table 1",
                "ranks by p-cw-ECE, 11 classifiers x 7 calibrators",
                ("table 1,", "table 1"),
                "Explained: trees and neighbours, where the paper's temperature scaling is the "
                "identity. Shuttle is another version of the set.",
            ),
            Item(
                "Table 2",
                "ranks by log loss",
                ("table 2,", "table 2"),
                "As table 1. Not explained: beta calibration and binning of neighbours and trees, "
                "five ranks of naive Bayes, LDA and SVM, and the averages that they move.",
            ),
            Item(
                "Table 3",
                "classwise ECE of 14 networks",
                ("table 3",),
                NETWORKS + ADAM + " Penalties of c10_resnet110 and c100_convnet are not known.",
            ),
            Item("Table 4", "log loss of 14 networks", ("table 4",), "As table 3."),
            Item(
                "Section 2, figure 1",
                "p-values of c10_resnet_wide32, reliability diagrams",
                ("section 2",),
                "The network is not at hand. The same tests are run on four others.",
            ),
            Item("Figure 2", "interpretation of maps", why="Pictures of one fit, without numbers."),
            Item(
                "Figure 3",
                "critical differences, how often each calibrator is calibrated",
                why="Prints no numbers; ours are on the page of dirichlet_calibration.",
            ),
            Item(
                "Section 4.1",
                "Dirichlet calibration has the best average rank",
                ("section 4.1",),
                "By accuracy isotonic calibration is first here; not explained.",
            ),
            Item(
                "Section 4.2",
                "MS-ODIR-zero: MS-ODIR without what is off the diagonal",
                ("section 4.2",),
                NETWORKS,
            ),
            Item(
                "Supplement, tables 1 and 2",
                "ECE of two examples",
                ("supplement, table 1,", "supplement, table 2,"),
            ),
            Item(
                "Supplement, table 4",
                "log loss of naive Bayes, 21 sets x 9 calibrators",
                ("supplement, table 4",),
                "Eight of 180 differ. Explained: one cell of binning, with the number of bins "
                "chosen for each class as in the paper's code. For beta calibration the optimiser "
                "of the authors' package was tried and is not the reason. Isotonic calibration of "
                "these rows kept scores apart that differ by less than 1e-15, which scikit-learn "
                "and caltest's today take as one: on glass, first repetition, the log loss is "
                "then 1.16 in place of 1.46.",
            ),
            Item(
                "Supplement, tables 5 to 12, figure 6",
                "ranks by eight measures, 9 calibrators",
                (
                    *(f"supplement, table {k}," for k in range(5, 13)),
                    *(f"supplement, table {k}" for k in (10, 11, 12)),
                    "supplement, figure 6",
                ),
                "Explained: the loss of the paper's code clips probabilities after the softmax, so "
                "that labels of probability 0 have no gradient. Each note has the distance before "
                "and after.",
            ),
        ),
    ),
    Paper(
        "gupta_2021",
        "Gupta et al. 2021",
        "Gupta, Rahimi, Ajanthan, Mensink, Sminchisescu, Hartley (2021), Calibration of neural "
        "networks using splines, ICLR",
        ("splines",),
        "what leaves nothing to choose agrees to the last digit, cut off and in single precision. "
        "The spline's own cells depend on ties in single precision and on clipping. Logits of two "
        "of 13 networks are at hand, and confidences of three more.",
        (
            Item(
                "Table 1",
                "KS error of the first prediction",
                ("table 1",),
                "Explained: single precision and cutting off. " + ADAM,
            ),
            Item(
                "Table 2",
                "KS error of the second prediction",
                ("table 2",),
                "As table 1; the spline's cells come without the clipping to [0, 1] that the "
                "published script has.",
            ),
            Item("Table 3", "sizes of the splits", why="The sizes of `--data`, by construction."),
            Item("Table 4", "KS error within the first two", ("table 4",), "As table 1."),
            Item(
                "Table 5",
                "accuracy, splines of all ranks",
                ("table 5",),
                "One row of 10,000 is 0.01. " + ADAM,
            ),
            Item("Table 6", "ECE with 25 bins", ("table 6",), ADAM),
            Item(
                "Table 7",
                "KDE-ECE, MCE and Brier score on ImageNet",
                ("table 7",),
                "Only densenet161 before calibration can be had. Its KDE-ECE is not explained: no "
                "random half of the set comes near it, with the cited code's bandwidth or another.",
            ),
            Item(
                "Figures 1 to 10",
                "calibration graphs of c10_densenet40; captions have numbers",
                ("figure 1", "figure 3", "figure 5", "figure 7", "figure 9"),
                "Figure 7: 2.2555 in single precision.",
            ),
            Item("Section 6", "statements on the spline", ("section 6",)),
        ),
    ),
    Paper(
        "wenger_2020",
        "Wenger et al. 2020",
        "Wenger, Kjellstroem, Triebel (2020), Non-parametric calibration for classification, "
        "AISTATS",
        ("gp_calibration",),
        "all that can be had agrees but for Bayesian binning (of forests a fault of the authors' "
        "program) and single cells; Mondrian forests and active learning are the paper's. Rows of "
        "accuracies are so close that most of their cells are not decidable. On a network with "
        "100 classes, temperature scaling of the logits is as good as GP calibration.",
        (
            Item(
                "Figure 1",
                "errors of a network over training epochs",
                ("figure 1",),
                "After calibration the error is a little higher here.",
            ),
            Item("Figure 2", "a latent function", ("figure 2",)),
            Item(
                "Table 1",
                "ECE of binary classifiers",
                ("table 1",),
                "PCam is not at hand. Explained: the program's BBQ gives scores of 0 the last bin; "
                "it draws anew for each row. Not explained: BBQ of AdaBoost. Ten cells "
                "cannot be decided by any number of our repetitions, since the paper's one fit and "
                "ten folds leave more than half of their row within three standard errors: GP "
                "calibration of AdaBoost; BBQ of XGBoost; Platt, beta, BBQ and temperature scaling "
                "of the Mondrian forest; BBQ of the random forest; no map, BBQ and GP calibration "
                "of the network. XGBoost has 70 folds here and the random forest 12 seeds, which "
                "decide Platt scaling of the one and GP calibration of the other.",
            ),
            Item(
                "Table 2",
                "ECE of classifiers of several classes",
                ("table 2",),
                "The text's forest and network on MNIST were found to have 10 trees and pixels to "
                "255. Not explained: BBQ of AdaBoost and of both forests, and the uncalibrated "
                "network (0.0282 for 0.0262). ImageNet: no logits at hand.",
            ),
            Item("Table S1", "accuracy of binary classifiers", ("table S1",), "As table 1."),
            Item("Table S2", "accuracy, several classes", ("table S2",), "As table 2."),
            Item("Theorem 1", "bound of the ECE", ("theorem 1",)),
            Item(
                "Section 4, figures 3 and 4",
                "active learning",
                ("section 4",),
                "Ten passes of a Mondrian forest over KITTI as it is, not standardised.",
            ),
        ),
    ),
    Paper(
        "milios_2018",
        "Milios et al. 2018",
        "Milios, Camoriano, Michiardi, Rosasco, Filippone (2018), Dirichlet-based Gaussian "
        "processes for large-scale calibrated classification, NeurIPS 31",
        ("dirichlet_gp",),
        "GPD is faster than GPC, and its bands are narrower. Beside GPR with Platt scaling, the "
        "paper's baseline, GPD has the smaller MNLL on EEG and letter, not on HTRU2 and MAGIC.",
        (
            Item(
                "Figure 1",
                "convergence of classifiers to a known function",
                ("figure 1",),
                "The text has lost the function; with ours, GPR is level with GPC at 160 rows.",
            ),
            Item("Figure 2", "GPD in one dimension", ("figure 2",)),
            Item(
                "Figure 3",
                "MNLL against alpha_eps",
                ("figure 3",),
                "The curves print no numbers: compared is which alpha_eps is best.",
            ),
            Item(
                "Figure 4",
                "error, MNLL and ECE",
                ("figure 4",),
                "Prints no numbers. Statements are tested against GPR with Platt scaling on a "
                "hold-out, as in section 5. Five data sets are not in `--data`.",
            ),
            Item("Figure 5", "time", ("figure 5",), "Other sets than the paper's on the right."),
            Item(
                "Figure 6",
                "reliability with 95 % bands",
                ("figure 6", "appendix A"),
                "GPD is overconfident on HTRU2 and MAGIC at the authors' alpha_eps. MiniBooNE is "
                "not in `--data`.",
            ),
            Item("Figure 7", "reliability, several classes", why="A picture without numbers."),
            Item(
                "Table 1",
                "the data sets",
                why="Sizes. Of letter the fits here have 500 inducing points, as in the authors' "
                "program; the text has 200. With 200, on splits 1 to 3, GPD has an MNLL of 0.43, "
                "0.41 and 0.43, GPR with Platt scaling of 0.73, 0.70 and 0.70: the same order.",
            ),
        ),
    ),
)
