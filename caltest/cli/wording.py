"""Words of the command line: errors in its terms, and examples in its help."""

from __future__ import annotations

import re
from collections.abc import Callable

from caltest.cli.options import flag_of

INSTEAD = {  # what people type first, and what they mean
    "--label": "labels target y y-true truth outcome actual observed",
    "--probs": "prob proba p pred preds predictions predicted y-prob y-pred score scores",
    "--by": "group groups groupby group-by subgroup subgroups stratify",
    "--level": "alpha significance confidence threshold",
    "--test": "metric method measure statistic",
    "--set bins=10": "bins n-bins num-bins",
    "--weight": "weights sample-weight sample-weights",
    "--n-resamples": "n permutations n-permutations bootstrap b",
    "--seed": "random-state random-seed rng",
    "--jobs": "n-jobs workers threads",
    "--sep": "separator delimiter delim",
    "--format": "json md markdown",
    "--output": "out out-file outfile save",
    "--help": "help",
    "--version": "version v",
    "caltest test FILE": "check run evaluate validate",
    "caltest report FILE": "plot html pdf",
}


def instead(word: str) -> str | None:
    """Return what is meant by a name of an option or a command that there is not.

    Examples
    --------
    >>> instead("--alpha"), instead("--n_bins"), instead("--xyz")
    ('--level', '--set bins=10', None)
    """
    name = word.lstrip("-").lower().replace("_", "-")
    return next((one for one, names in INSTEAD.items() if name in names.split()), None)


TRUTHS = "temperature|slope|intercept|ratio|noise"


def _flagged(found: re.Match[str]) -> str:
    """Name the option that stands for an argument, before what follows it."""
    return " ".join([flag_of(found[1]).split()[0], *found.groups()[1:]])


def _numbered(ends: re.Match[str]) -> str:
    """Write classes that are numbered as the option takes them, beyond ten by their ends."""
    names = [str(k) for k in range(int(ends[1]), int(ends[2]))]
    shown = names if len(names) <= 10 else [*names[:2], "...", names[-1]]
    return f"--classes {','.join(shown)}"


# What messages say of Python arguments, and the options that stand for them.
OPTIONS: dict[str, str | Callable[[re.Match[str]], str]] = {
    r"\bsep=, decimal= and encoding=": "--sep, --decimal and --encoding",
    r"\bsheet= names": "--sheet names",
    r"^resolve needs": "outcomes need",
    r"; pass them to update first$": "; pass their predictions first",
    r"; pass names given to update$": "; name rows that wait, or pass predictions too, by --probs",
    r"\bclasses=\[\.\.\.\]": "--classes NAMES",
    r"\bclasses=\[(.*?)\]": lambda m: f"--classes {m[1].replace(', ', ',').replace(chr(39), '')}",
    r"\bclasses=range\((\d+), (\d+)\)": _numbered,
    r"\b(renormalize|from_logits|again)=True": _flagged,
    r"\b(engine|on_error|null|lens|file_format)='([\w-]+)'": _flagged,
    r"\b(tolerance)=([\d.]+)": _flagged,
    rf"\b(batch_id|classes|truth|{TRUTHS})=(?=[, ]|$)": _flagged,
    r"\btest without by=$": "leave out --by",
    r"\bat row (\d+)\b(?! of)": r"at row \1 (counted from 0)",
    r"^probs must come before labels; got (.*); swap the two arguments": (
        r"--label must name the labels and --probs the probabilities; got \1; swap the two options"
    ),
    r"; got tolerance=None;": "; got none;",
    r"leave out null or tolerance$": "leave out --null or --tolerance",
    r"\bestimator='unbiased'": "--test skce",
    r"\bestimator='biased'": "--test kce",
    r"\binternal=True": "--set internal=true",
    r"\btest=('[\w-]+'(?:, '[\w-]+')*(?: or '[\w-]+')?)": r"--test \1",
    r"^groups must": "--by must",
    r"^(slopes|reference) (has no effect|must be one of the classes)": r"--set \1 \2",
    r"\bwithout slopes='reference'": "without --set slopes=reference",
    r"^n_jobs must be None or": "--jobs must be",
    r"^path must (name|be)": r"FILE must \1",
    r"^(label|null|lens|test|level|correction|recalibrate|tolerance|equivalence|classes|"
    rf"calibrators|score|reference|cluster|time|lag|{TRUTHS}|sample_weight|n_resamples|n_datasets|"
    r"file_format|cv|inner_cv|power|n|batch_id|ids|sep|decimal|encoding|sheet) "
    r"(must|has|is about)": _flagged,
    r"\b(ratio|slope|intercept)_width\b": r"--\1-width",
    r"\bn_(min|max)\b": r"--n-\1",
    r"^sample_size must": "caltest sample-size must",
    r"; call sample_size once for each$": "; run it once for each",
    r"^(the truth must be stated once: )(.*)": lambda words: (
        words[1] + re.sub(r"\btruth\b", "--map", re.sub(rf"\b({TRUTHS})\b", r"--\1", words[2]))
    ),
    r"; pass the probabilities of one class, \(n,\)$": "; name the column of one class by --probs",
    r"^null '([\w-]+)' (has|takes)": r"--null \1 \2",
    r"^k must be one of the classes": "--lens must name one of the classes",
    r"(^(?:column '.*'|--weight) must be numbers; .*); convert them to floats first": (
        r"\1; correct that row, or choose another column"
    ),
    r"; got None for the columns": "; got no p_... and no prob_... among",
    r"^probs must be (a column|one of)": r"--probs must be \1",
    r"pass probs= with": "pass --probs with",
    r", or load it and use from_frame": "",
    r"^rng must be [^;]*; got ([^;]*); .*": r"--seed must be an integer of at least 0; got \1",
}


def in_words_of_the_command_line(message: str) -> str:
    """Name the option where a message names the argument of the Python function.

    Examples
    --------
    >>> in_words_of_the_command_line("pass renormalize=True")
    'pass --renormalize'
    """
    for argument, option in OPTIONS.items():
        message = re.sub(argument, option, message)
    return message


# ---- Examples of each command: what `--help` ends with, and what a test runs --------------------

EXAMPLES: dict[str, list[str]] = {}
for line in """\
demo: caltest demo --seed 1
test: caltest test predictions.csv --label y --probs p_
test: caltest test predictions.csv --label y --lens confidence,classwise
test: caltest test predictions.csv --label y --test ece --set bins=10 -o ece.json
test: caltest test predictions.csv --label y --by ward --level 0.05 --fail
test: caltest test predictions.csv --label y --segments ward --level 0.05
test: cat predictions.csv | caltest test - --label y --format markdown
verdict: caltest verdict predictions.csv --label y --probs p_
verdict: caltest verdict predictions.csv --label y --by ward --level 0.05 --fail
report: caltest report predictions.csv --label y -o report.html
report: caltest report predictions.csv --label y --by ward --level 0.05 -o report.md
compare: caltest compare predictions.csv --label y --probs p_
compare: caltest compare val.csv --label y --calibrators vector,dirichlet -o c.md
compare: caltest compare models.csv --label y --models forest_,boosting_ --level 0.05
power: caltest power --beta 2,5 --temperature 1.5 --n 100,200,500
power: caltest power val.csv --noise 0.2 --test skce,ece --n 200
power: caltest power --dirichlet 1,1,1 --test brier --n 50 -o size.json
sample-size: caltest sample-size --beta 2,5 --slope 0.7 --test cox --null asymptotic
sample-size: caltest sample-size val.csv --temperature 2 --test brier --power 0.9
precision: caltest precision --beta 2,5
precision: caltest precision risks.csv --ratio-width 0.1 --intercept-width 0.4
monitor: caltest monitor state.json predictions.csv --label y --level 0.01
monitor: caltest monitor watch.json predictions.csv --label y --by ward --fail
plan-monitoring: caltest plan-monitoring --beta 2,5 --rows-per-day 500 --n-streams 2
plan-monitoring: caltest plan-monitoring val.csv --rows-per-day 9 --slope 0.5 -o plan.json
calibrate fit: caltest calibrate fit val.csv --label y --method temperature -o map.json
calibrate fit: caltest calibrate fit val.csv --label y --method auto -o map.json
calibrate fit: caltest calibrate fit val.csv --label y --method matrix --set lam=1 -q
calibrate apply: caltest calibrate apply map.json new.csv -o calibrated.csv
calibrate apply: caltest calibrate apply map.json new.csv --prefix q_ -o calibrated.parquet
calibrate apply: caltest test calibrated.csv --label y --probs calibrated_
list: caltest list
list: caltest list tests ece
list: caltest list calibrators
schema: caltest schema
schema: caltest schema htest -o htest.schema.json
""".splitlines():
    command, _, example = line.partition(": ")
    EXAMPLES.setdefault(command, []).append(example)


def epilog(command: str) -> str:
    """Return the examples as the last lines of a help page; Typer wants blank lines between."""
    return "\n\n".join(["Examples:", *(f"$ {line}" for line in EXAMPLES[command])])
