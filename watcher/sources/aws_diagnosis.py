"""Why the instance metadata service does not answer as it should, in words a person can act on.

The same words stand in the log, on /readyz, in /v1/state and in what ``doctor`` says.

Source: EC2 user guide, "Use IMDSv2", "Configure the instance metadata options"; AWS SDKs and tools
reference guide, "IMDS client" (all read 2026-11-30).
"""

HOP_LIMIT = (
    "the service is there but its token does not come through: a container behind a bridge is one "
    "hop too far at hop limit 1; use the host's network, or set the instance's "
    "HttpPutResponseHopLimit to 2"
)
UNREACHABLE = (
    "nothing answers at that address: a firewall, an iptables rule or a NetworkPolicy blocks it, "
    "or this is no EC2 instance"
)
SWITCHED_OFF = (
    "the metadata service is switched off for this instance: set its HttpEndpoint to enabled, or "
    "take the AWS notices from a queue"
)
FORWARDED = (
    "a token is refused to us and demanded of us: a proxy on the way adds X-Forwarded-For; let "
    "this address bypass it"
)
NOT_EC2 = "whoever answers there is not EC2's metadata service; look at aws.metadata_endpoint"
V1_FORBIDDEN = "there is no IMDSv2 at that address, and IMDSv1 is switched off (aws.metadata_v1)"
TOKEN_REQUIRED = "EC2 demands a token here, and there is no way to get one"  # noqa: S105 - words for people, not a secret


def why_no_token(token_status: int, instance_id_status: int) -> str:
    """Return what two answers together mean: to the PUT for a token, and to a GET without one."""
    if token_status == 403 and instance_id_status == 403:
        return SWITCHED_OFF
    if token_status == 403 and instance_id_status == 401:
        return FORWARDED
    if instance_id_status == 401:
        return TOKEN_REQUIRED
    return NOT_EC2
