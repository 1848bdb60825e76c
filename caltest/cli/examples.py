"""Examples of each command: what `--help` ends with, and what a test runs."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": ("caltest demo --seed 1",),
    "test": (
        "caltest test predictions.csv --label y --probs p_",
        "caltest test predictions.csv --label y --lens confidence,classwise",
        "caltest test predictions.csv --label y --test ece --set bins=10 -o ece.json",
        "caltest test predictions.csv --label y --by ward --level 0.05 --fail",
        "caltest test predictions.csv --label y --segments ward --level 0.05",
        "cat predictions.csv | caltest test - --label y --format markdown",
    ),
    "report": (
        "caltest report predictions.csv --label y -o report.html",
        "caltest report predictions.csv --label y --by ward --level 0.05 -o report.md",
    ),
    "compare": (
        "caltest compare predictions.csv --label y --probs p_",
        "caltest compare val.csv --label y --calibrators vector,dirichlet -o c.md",
        "caltest compare models.csv --label y --models forest_,boosting_ --level 0.05",
    ),
    "power": (
        "caltest power --beta 2,5 --temperature 1.5 --n 100,200,500",
        "caltest power val.csv --noise 0.2 --test skce,ece --n 200",
        "caltest power --dirichlet 1,1,1 --test brier --n 50 -o size.json",
    ),
    "sample-size": (
        "caltest sample-size --beta 2,5 --slope 0.7 --test cox --null asymptotic",
        "caltest sample-size val.csv --temperature 2 --test brier --power 0.9",
    ),
    "precision": (
        "caltest precision --beta 2,5",
        "caltest precision risks.csv --ratio-width 0.1 --intercept-width 0.4",
    ),
    "monitor": (
        "caltest monitor state.json predictions.csv --label y --level 0.01",
        "caltest monitor watch.json predictions.csv --label y --by ward --fail",
    ),
    "plan-monitoring": (
        "caltest plan-monitoring --beta 2,5 --rows-per-day 500 --n-streams 2",
        "caltest plan-monitoring val.csv --rows-per-day 9 --slope 0.5 -o plan.json",
    ),
    "calibrate fit": (
        "caltest calibrate fit val.csv --label y --method temperature -o map.json",
        "caltest calibrate fit val.csv --label y --method auto -o map.json",
        "caltest calibrate fit val.csv --label y --method matrix --set lam=1 -q",
    ),
    "calibrate apply": (
        "caltest calibrate apply map.json new.csv -o calibrated.csv",
        "caltest calibrate apply map.json new.csv --prefix q_ -o calibrated.parquet",
        "caltest test calibrated.csv --label y --probs calibrated_",
    ),
    "list": ("caltest list", "caltest list tests ece", "caltest list calibrators"),
    "schema": ("caltest schema", "caltest schema htest -o htest.schema.json"),
}


def epilog(command: str) -> str:
    """Return the examples as the last lines of a help page; Typer wants blank lines between."""
    return "\n\n".join(["Examples:", *(f"$ {line}" for line in EXAMPLES[command])])
