"""Numbers of Widmann et al. (2019) that are not in a reference file."""

from __future__ import annotations

# The dashed lines of figures 1, 4 and 6, from their sources: expected calibration errors of M2 and
# M3 by the formula of appendix J.2.1.
TRUE_ECE = {
    ("M2", 10): ("figure 1", 0.45),
    ("M3", 10): ("figure 1", 0.7106418012290426),
    ("M2", 2): ("figure 6", 0.25),
    ("M3", 2): ("figure 4", 0.4415756949446846),
}

# The SKCE with the kernel exp(-TV / mean TV) I, m = 10, by 4e7 simulated pairs, standard errors
# 1.0e-5 and 1.8e-5. The paper takes the mean of SKCE_uq over its data sets for the true value.
TRUE_SKCE = {"M2": 0.089374, "M3": 0.015598}

# Figure 83 (appendix J.3); the authors' experiments/data/PyTorch-CIFAR10/errors.csv
# (devmotion/CalibrationPaper@a164e8ba): ECE with uniform bins and with data-dependent bins, SKCE_b,
# SKCE_uq, SKCE_ul with the median heuristic.
NETWORK_ERRORS = {
    "densenet121": (0.0660727, 0.0295329, 1.42003e-4, 1.30142e-4, -3.43002e-4),
    "densenet161": (0.06416, 0.0268455, 1.42729e-4, 1.31499e-4, 1.12448e-4),
    "densenet169": (0.0649675, 0.0311883, 1.82087e-4, 1.70153e-4, -2.32153e-4),
    "googlenet": (0.0701184, 0.0227271, 2.75929e-5, 1.68669e-5, -4.05125e-4),
    "inception_v3": (0.0662233, 0.0274117, 1.22109e-4, 1.11068e-4, 2.25632e-5),
    "mobilenet_v2": (0.0868392, 0.0345635, 2.06405e-4, 1.91090e-4, -4.48774e-5),
    "resnet_orig": (0.0981729, 0.0441439, 4.27027e-4, 4.09013e-4, 4.08221e-4),
    "resnet18": (0.0748815, 0.0364462, 2.76145e-4, 2.62524e-4, 3.56545e-4),
    "resnet34": (0.0798106, 0.03298, 3.44724e-4, 3.30021e-4, 4.72206e-4),
    "resnet50": (0.074844, 0.0287909, 2.27965e-4, 2.14644e-4, 7.61803e-5),
    "vgg11_bn": (0.0828967, 0.0367953, 3.14847e-4, 2.99821e-4, -1.50497e-4),
    "vgg13_bn": (0.0647789, 0.0320985, 1.76859e-4, 1.65422e-4, -2.14130e-4),
    "vgg16_bn": (0.0661185, 0.029127, 2.73980e-4, 2.61633e-4, 3.21807e-4),
    "vgg19_bn": (0.0602593, 0.0334595, 2.37775e-4, 2.26661e-4, 1.26733e-4),
}

# Figure 84; the same folder, pvalues.csv: D_b, D_uq, D_l, A_l. C (both binnings) and A_uq are 0
# for all 14.
NETWORK_PVALUES = {
    "densenet121": (1.0, 0.999989, 0.999926, 0.839234),
    "densenet161": (1.0, 0.999989, 0.999992, 0.380988),
    "densenet169": (1.0, 0.999982, 0.999966, 0.761373),
    "googlenet": (1.0, 1.0, 0.999897, 0.900492),
    "inception_v3": (1.0, 0.999992, 1.0, 0.4619),
    "mobilenet_v2": (0.999874, 0.999977, 0.999999, 0.539343),
    "resnet_orig": (0.899103, 0.999895, 0.999896, 0.261561),
    "resnet18": (0.984797, 0.999957, 0.999921, 0.183453),
    "resnet34": (0.952236, 0.999932, 0.999861, 0.224376),
    "resnet50": (0.997716, 0.999971, 0.999996, 0.439994),
    "vgg11_bn": (0.968088, 0.999944, 0.999986, 0.659029),
    "vgg13_bn": (1.0, 0.999983, 0.999971, 0.748517),
    "vgg16_bn": (0.985582, 0.999957, 0.999935, 0.234576),
    "vgg19_bn": (0.995926, 0.999968, 0.99999, 0.362042),
}
