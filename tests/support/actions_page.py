"""What docs/actions.md says, and the settings that it shows."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "actions.md").read_text()

BLOCKS: list[str] = re.findall(
    r"^    # /etc/reprieve/watcher.toml\n((?:    .*\n|\n)+)", PAGE, re.MULTILINE
)
