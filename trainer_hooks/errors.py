"""What can go wrong in the trainer, as one tree.

::

    TrainerHooksError
    ├── ConfigError            an argument or a variable of the environment makes no sense
    ├── UntrustedFileError     a file from outside is not one we may read
    │   └── FlagError          the flag file cannot be understood: taken as a stop, loudly
    ├── NoticeUnknownError     the watcher has not said, over HTTP, what is in force
    ├── AgreementError         the Store is lost: a crash, never a stop
    ├── LauncherGoneError      the launcher died before this rank began
    ├── WorkerError            a DataLoader worker does not come to life
    ├── StateError             something cannot be captured, or a checkpoint lacks it
    └── CheckpointError        a save or a resume failed; training may go on
        ├── DirectoryError     (also a ConfigError) checkpoint_dir can't be one, ever
        ├── FencedError        a newer attempt of the job has started: this one must end
        └── UncommittedError   (also a FileNotFoundError) the directory is no committed checkpoint
"""


class TrainerHooksError(Exception):
    """Base of every error that trainer_hooks raises on purpose."""


class ConfigError(TrainerHooksError):
    """Raised when an argument, or a variable of the environment, makes no sense."""


class UntrustedFileError(TrainerHooksError):
    """Raised when a file written by somebody else is not one we may read."""


class FlagError(UntrustedFileError):
    """Raised when the flag file is there but cannot be understood."""


class NoticeUnknownError(TrainerHooksError):
    """Raised when nobody has said over HTTP what is in force: what was said last still stands."""


class AgreementError(TrainerHooksError):
    """Raised when ranks can agree no more, so that none may act on its own: the Store is lost."""


class LauncherGoneError(TrainerHooksError):
    """Raised when the launcher has died, so that nobody would know of this rank."""


class WorkerError(TrainerHooksError):
    """Raised when a DataLoader worker does not come to life, however often it is started."""


class StateError(TrainerHooksError):
    """Raised when a component cannot be captured, or does not fit the checkpoint."""


class CheckpointError(TrainerHooksError):
    """Raised when a checkpoint could not be written, committed or loaded."""


class DirectoryError(CheckpointError, ConfigError):
    """Raised when no checkpoint can be kept in a directory until somebody has mended it."""


class FencedError(CheckpointError):
    """Raised when a newer attempt has started: what this one trains can never be committed."""


class UncommittedError(CheckpointError, FileNotFoundError):
    """Raised when a directory is not a committed checkpoint; the message says why."""


SETUP_ERRORS = (ConfigError, StateError)
"""What no other start of the same command, on whatever node, would change."""
