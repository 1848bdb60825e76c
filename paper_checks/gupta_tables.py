"""Tables 1 and 2 of Gupta et al. 2021: KS errors in per cent.

The numbers are those of the submission to ICLR as it stood under review, openreview.net id
eQe8DEWNN2W: a copy converted to Markdown in a public GitHub repository, text 62033882561 of the
index that was searched, which does not name the repository. The copy ends with the references,
before the supplement and so before table 4. No second copy of the tables was found. That the ten
cells which leave nothing to choose come out to the last digit speaks for the copy
(`single_errors` of splines.py).
"""

from __future__ import annotations

Cells = dict[str, tuple[float, ...]]  # by network, then by method

METHODS = ("Uncal", "TempS", "VecS", "MS-ODIR", "Dir-ODIR", "Spline")

TABLE_1: Cells = {
    "c10_resnet110": (4.750, 0.916, 0.996, 0.977, 1.060, 0.643),
    "c10_resnet110_SD": (4.102, 0.362, 0.430, 0.358, 0.389, 0.269),
    "c10_densenet40": (5.493, 0.900, 0.890, 0.897, 1.057, 0.773),
    "c10_resnet_wide32": (4.475, 0.296, 0.267, 0.305, 0.291, 0.367),
    "c10_lenet5": (5.038, 0.799, 0.839, 0.646, 0.854, 0.348),
    "c100_resnet110": (18.481, 1.489, 1.827, 2.845, 2.575, 0.575),
    "c100_resnet110_SD": (15.832, 0.748, 1.303, 3.572, 1.645, 1.028),
    "c100_densenet40": (21.156, 0.304, 0.483, 2.350, 0.618, 0.454),
    "c100_resnet_wide32": (18.784, 1.130, 1.642, 2.524, 1.788, 0.930),
    "c100_lenet5": (12.117, 1.215, 0.768, 1.047, 2.125, 0.391),
    "ImageNet_densenet161": (5.721, 0.744, 2.014, 4.723, 3.103, 0.406),
    "ImageNet_resnet152": (6.544, 0.791, 1.985, 5.805, 3.528, 0.441),
    "SVHN_resnet152_SD": (0.852, 0.552, 0.570, 0.573, 0.607, 0.556),
}
TABLE_2: Cells = {
    "c10_resnet110": (3.011, 0.947, 0.948, 0.598, 0.953, 0.347),
    "c10_resnet110_SD": (2.716, 0.478, 0.486, 0.401, 0.500, 0.310),
    "c10_densenet40": (3.342, 0.535, 0.543, 0.598, 0.696, 0.695),
    "c10_resnet_wide32": (2.669, 0.426, 0.369, 0.412, 0.382, 0.364),
    "c10_lenet5": (1.708, 0.367, 0.279, 0.409, 0.426, 0.837),
    "c100_resnet110": (4.731, 1.401, 1.436, 0.961, 1.269, 0.371),
    "c100_resnet110_SD": (3.923, 0.315, 0.481, 0.772, 0.506, 0.595),
    "c100_densenet40": (5.803, 0.305, 0.653, 0.219, 0.135, 0.903),
    "c100_resnet_wide32": (5.349, 0.790, 1.095, 0.646, 0.845, 0.372),
    "c100_lenet5": (2.615, 0.571, 0.439, 0.324, 0.799, 0.587),
    "ImageNet_densenet161": (1.689, 1.044, 1.166, 1.288, 1.321, 0.178),
    "ImageNet_resnet152": (1.793, 1.151, 1.264, 1.660, 1.430, 0.580),
    "SVHN_resnet152_SD": (0.373, 0.226, 0.216, 0.973, 0.218, 0.492),
}
