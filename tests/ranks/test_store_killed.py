"""The store of two ranks is killed while they upload, and is back later: what has become of it."""

from pathlib import Path

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from tests.support.history import history
from tests.support.launching import launch, wait_until
from tests.support.s3_server import BUCKET, bucket_at, mortal_seaweedfs, s3_client, use_server
from tests.support.store_killer_main import KILLED_STEP
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.latest import committed, damaged_files
from trainer_hooks.checkpoint.layout import saves
from trainer_hooks.checkpoint.retention import sweep

pytestmark = [pytest.mark.ranks, pytest.mark.slow, pytest.mark.timeout(900)]

MAIN = Path(__file__).parents[1] / "support" / "store_killer_main.py"


def takes_objects(endpoint: str) -> bool:
    """Tell whether a store can be written to: it listens some time before."""
    client = s3_client(endpoint)
    try:
        client.put_object(Bucket=BUCKET, Key="is-it-back", Body=b"yes")
    except (BotoCoreError, ClientError):
        return False
    finally:
        client.close()
    return True


def test_next_save_is_committed_when_the_store_was_killed_in_an_upload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The save is given up on both ranks, and said; nothing that was committed before is lost."""
    log, back = tmp_path / "log", tmp_path / "back"
    log.mkdir()
    (tmp_path / "weed").mkdir()
    failed = f"save failed step={KILLED_STEP}: rank "
    with mortal_seaweedfs(tmp_path / "weed") as store:
        use_server(monkeypatch, store.endpoint)
        arguments = [f"s3://{BUCKET}/run", str(log), str(store.process.pid), str(back)]
        with launch(tmp_path / "job", MAIN, *arguments) as running:
            wait_until(lambda: store.process.poll() is not None, "the store to be killed", 200)
            wait_until(lambda: running.output.count(failed) == 2, "both to give up the save", 300)
            store.start()
            wait_until(lambda: takes_objects(store.endpoint), "the store to be back", 200)
            back.touch()
            assert running.wait(200) == 0, running.output
            told = running.output
        root = bucket_at("run")
        whole = list(committed(root))
        assert [found.step for found in whole] == [30, 10], told
        assert [damaged_files(found) for found in whole] == [[], []]
        assert [told.count(f"committed step={step} ") for step in (10, 20, 30)] == [2, 0, 2]
        assert sorted(history(log, 0)) == sorted(history(log, 1)) == [*range(30)]
        start_attempt(root)
        sweep(root)
        assert [name.step for name in saves(root)] == [30, 10]
