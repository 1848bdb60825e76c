"""For whom a report is: words, order of the sections, and tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from caltest import checks


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The words, the order and the tests of a field.

    Attributes
    ----------
    key, title : str
    predicted, observed : str
        Heads of the columns of two classes: what the model says, and what happened.
    too_high, too_low : str
        The direction of a gap.
    event, events : str
        What is predicted; `meta["event"]` and `meta["events"]` take their place.
    binary : tuple of str
        Further tests of two classes, after the default one.
    estimates : str
        The title of the table of numbers.
    first : tuple of str
        Keys of the sections that follow the answer, before the places.
    graded : bool
        Whether the grades of a master scale are tested.
    decisions : bool
        Whether the net benefit is shown.
    """

    key: str
    title: str
    predicted: str = "predicted"
    observed: str = "observed"
    too_high: str = "too high"
    too_low: str = "too low"
    event: str = "event"
    events: str = "events"
    binary: tuple[str, ...] = ("skce", "ece", "spiegelhalter", "cox", "calibration-slope")
    estimates: str = "Calibration in numbers"
    first: tuple[str, ...] = ("within", "estimates")
    graded: bool = False
    decisions: bool = False


PROFILES: dict[str, Profile] = {
    profile.key: profile
    for profile in (
        Profile(key="general", title="probabilities of an event"),
        Profile(
            key="clinical",
            title="validation of a risk model",
            predicted="mean risk",
            observed="observed",
            too_high="risks too high",
            too_low="risks too low",
            binary=(
                "calibration-in-the-large",
                "calibration-slope",
                "ici",
                "calibration-belt",
                "unreliability",
            ),
            estimates="Calibration of the risks",
            first=("within", "estimates", "decisions"),
            decisions=True,
        ),
        Profile(
            key="credit",
            title="validation of PDs",
            predicted="mean PD",
            observed="default rate",
            too_high="PD too high",
            too_low="PD too low",
            event="default",
            events="defaults",
            binary=(
                "calibration-in-the-large",
                "calibration-slope",
                "spiegelhalter",
                "hosmer-lemeshow",
            ),
            estimates="Calibration of the PDs",
            first=("grades", "within", "estimates"),
            graded=True,
        ),
        Profile(
            key="ml",
            title="confidence of a classifier",
            predicted="confidence",
            observed="accuracy",
            too_high="overconfident",
            too_low="underconfident",
        ),
        Profile(
            key="forecast",
            title="verification of probability forecasts",
            predicted="mean forecast",
            observed="observed",
            too_high="forecasts too high",
            too_low="forecasts too low",
            binary=("corp", "brier", "spiegelhalter", "cox"),
            estimates="Skill and reliability",
        ),
    )
}


def profile_of(key: str | None, m: int) -> Profile:
    """Return the profile of a key, or the one for so many classes.

    Raises
    ------
    InvalidInput
        If there is no such profile.

    Examples
    --------
    >>> profile_of(None, 2).key, profile_of(None, 10).key, profile_of("credit", 2).observed
    ('general', 'ml', 'default rate')
    """
    if key is None:
        return PROFILES["general" if m == 2 else "ml"]
    return PROFILES[checks.check_choice(key, PROFILES, "profile")]


def worded(profile: Profile, meta: Iterable[tuple[str, str]]) -> Profile:
    """Return the profile with the author's words for the event.

    Examples
    --------
    >>> worded(PROFILES["clinical"], [("event", "death"), ("events", "deaths")]).events
    'deaths'
    """
    given = dict(meta)
    event = given.get("event", profile.event)
    events = given.get("events", f"{event}s" if "event" in given else profile.events)
    return replace(profile, event=event, events=events)
