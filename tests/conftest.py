"""Settings that every test needs before anything else is imported."""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # forked ranks cannot inherit a thread pool
os.environ.pop("REPRIEVE_RUN_DIR", None)
