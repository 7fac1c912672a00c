"""Settings that every test needs before anything else is imported."""

import os
import signal

os.environ["OMP_NUM_THREADS"] = "1"  # forked ranks cannot inherit a thread pool
os.environ.pop("REPRIEVE_RUN_DIR", None)
os.environ.pop("REPRIEVE_NOTICE_URL", None)
# A background job inherits ignored signals, and so would every process that a test starts.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
