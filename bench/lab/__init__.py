"""What the benches share: ranks to measure on, intervals around figures, the machine's name."""

import sys
from pathlib import Path

# A bench is run by its path, and the stand-in for an API server is among the tests.
sys.path.append(str(Path(__file__).parents[2]))
