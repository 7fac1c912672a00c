"""docs/settings.md is what the code that reads the settings makes of itself."""

import re

from tests.support.settings_page import PAGE, keys, page
from watcher.settings import SETTINGS


def test_page_is_up_to_date_when_it_is_made_anew() -> None:
    """After a change of settings: make settings."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_page_has_every_setting_and_no_other() -> None:
    """Those of the policy are a table of their own, docs/policy.md."""
    policy = {key for key in SETTINGS if key.startswith("policy.")}
    assert policy
    assert sorted(keys()) == sorted(SETTINGS.keys() - policy)


def test_every_setting_has_a_row_that_says_what_it_takes_and_means() -> None:
    """Without an empty cell."""
    rows = re.findall(r"^\| `\w+` \| (.+) \| (.+) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    assert len(rows) == len(keys())
    assert all(cell.strip() for row in rows for cell in row)
