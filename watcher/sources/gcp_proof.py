"""Whether this machine is a VM of Compute Engine's, by the metadata server's own positive word.

The address 169.254.169.254 is every cloud's, and a captive portal answers everything. Google's
server alone signs its answers.
"""

from watcher.errors import ConfigError
from watcher.gcp.metadata import FLAVOR, ID, ROOT, WORDS, is_signed
from watcher.httpclient import HttpClient
from watcher.sources.gcp_config import GcpConfig
from watcher.sources.gcp_session import refusal

DMI = {"product_name": r"Google Compute Engine"}
"""What the firmware says on every VM. Source: cloud-init, ds-identify (read 2026-11-30)."""


async def proof(config: GcpConfig) -> str | None:
    """Say what proves that this is Compute Engine: a signed answer, and in it the VM's id.

    Raises:
        ConfigError: The metadata server may not be asked.
        SourceError: There is no answer, or none that says anything.
    """
    if config.metadata == "off":
        raise ConfigError("cloud = auto can't tell GCP, as gcp.metadata is off: set cloud = gcp")
    async with HttpClient(config.metadata_endpoint, config.metadata_limit_s) as client:
        answer = await client.call("GET", ROOT + ID, FLAVOR)
    vm_id = answer.body[:64].decode("ascii", "replace").strip()
    if not is_signed(answer) or (answer.status == 200 and not WORDS[ID].fullmatch(vm_id)):
        return None
    if answer.status != 200:
        raise refusal(answer.status, ID)
    return f"the header Metadata-Flavor, and the VM's id {vm_id}"
