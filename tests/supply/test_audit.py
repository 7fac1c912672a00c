"""requirements/audit.sh, with an advisory service of our own."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.image_root import ROOT

pytestmark = pytest.mark.e2e

AUDIT = ROOT / "requirements" / "audit.sh"
VULNERABILITY = {
    "id": "PYSEC-2026-1",
    "aliases": ["CVE-2026-1"],
    "summary": "It gives everything away",
    "affected": [],
    "published": "2026-11-01T00:00:00Z",
}


class Osv(BaseHTTPRequestHandler):
    """Knows of one vulnerability: in whatever is called ``leaky``."""

    def do_POST(self) -> None:
        """Answer as https://google.github.io/osv.dev/post-v1-query/ says (2026-11-30)."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_known = asked["package"]["name"] == "leaky"
        body = json.dumps({"vulns": [VULNERABILITY]} if is_known else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def osv() -> Iterator[str]:
    """Return the address of the service."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Osv)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1/query"
    server.shutdown()
    thread.join()
    server.server_close()


def audit(pins: Path, text: str, url: str) -> tuple[int, str]:
    """Run it on some pins, and return its exit status and what it says."""
    pins.write_text(text)
    tool = Path(sys.executable).parent / "pip-audit"
    done = subprocess.run(
        [AUDIT, pins],
        env=os.environ | {"OSV_URL": url, "PIP_AUDIT": str(tool)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_audit_passes_when_the_service_knows_of_nothing(osv: str, tmp_path: Path) -> None:
    """And says so."""
    status, said = audit(tmp_path / "pins", "tight==1.0\n", osv)
    assert (status, "no vulnerability" in said) == (0, True), said


def test_audit_fails_when_the_service_knows_of_one(osv: str, tmp_path: Path) -> None:
    """It names the package and the vulnerability."""
    status, said = audit(tmp_path / "pins", "tight==1.0\nleaky==2.0\n", osv)
    assert status == 1, said
    assert "leaky" in said
    assert "PYSEC-2026-1" in said
    assert "tight" not in said


def test_audit_is_skipped_and_says_why_when_nobody_answers(tmp_path: Path) -> None:
    """A machine without the internet is no reason to fail, nor to claim that all is well."""
    status, said = audit(tmp_path / "pins", "tight==1.0\n", "http://127.0.0.1:9/v1/query")
    assert status == 0, said
    assert "SKIPPED" in said
    assert "no vulnerability" not in said


def test_audit_says_that_it_failed_when_the_pins_are_none(osv: str, tmp_path: Path) -> None:
    """What can't be read was not audited, and that is no skip."""
    status, said = audit(tmp_path / "pins", "not == a pin == at all\n", osv)
    assert status == 2, said
    assert "SKIPPED" not in said
