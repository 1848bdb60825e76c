"""The named tests; a new one is a file and a name in this list."""

from caltest.htests import (
    brier,
    classwise_ece,
    cme,
    debiased_ece,
    ece,
    kce,
    ks,
    kuiper,
    log_loss,
    mce,
    mmce,
    skce,
    skce_block,
    skce_linear,
    smooth_ece,
    spiegelhalter,
    t_cal,
)
from caltest.htests.base import NamedTest

REGISTRY: dict[str, NamedTest] = {
    module.TEST.key: module.TEST
    for module in (
        skce,
        skce_linear,
        skce_block,
        kce,
        mmce,
        cme,
        ece,
        classwise_ece,
        mce,
        debiased_ece,
        t_cal,
        ks,
        kuiper,
        smooth_ece,
        brier,
        log_loss,
        spiegelhalter,
    )
}
