"""Every bench that the page has words and plots for."""

from page.relay_plots import RELAY
from page.run_plots import RUN
from page.stop_plots import STOP
from page.watcher_plots import WATCHER

SUBJECTS = {**STOP, **WATCHER, **RELAY, **RUN}
"""By bench, in the page's order. One that is not in it is shown last, by its intervals, or as
it is where it has none.
"""
