"""Schemas of the custom resources in deploy/, as far as our manifests use them.

Written from the API documentation of JobSet v1alpha2 (at 08dfbdf), Kueue v1beta2 (at ff69552) and
PodMonitor v1 (prometheus-operator.dev), all read 2026-11-30. Jobs and queues were also held against
the published CRDs of these two commits.
"""

from typing import Any

Schema = dict[str, Any]

_NAME = {"type": "string", "pattern": r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"}


def _object(required: list[str], **properties: Any) -> Schema:  # noqa: ANN401 - a schema
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _list(items: Schema, most: int) -> Schema:
    return {"type": "array", "items": items, "minItems": 1, "maxItems": most}


def _one_of(*words: str) -> Schema:
    return {"enum": list(words)}


def _custom(api: str, kind: str, spec: Schema) -> tuple[tuple[str, str], Schema]:
    metadata = _object(
        ["name"],
        name=_NAME,
        namespace=_NAME,
        labels={"type": "object", "additionalProperties": {"type": "string"}},
    )
    return (api, kind), _object(
        ["apiVersion", "kind", "metadata"],
        apiVersion={"const": api},
        kind={"const": kind},
        metadata=metadata,
        spec=spec,
    )


_FAILURE_RULE = _object(
    ["name", "action"],
    name={
        "type": "string",
        "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        "maxLength": 128,
    },
    action=_one_of(
        "FailJobSet",
        "RestartJobSet",
        "RestartJobSetAndIgnoreMaxRestarts",
        "RestartJob",
        "RestartJobAndIgnoreMaxRestarts",
    ),
    onJobFailureReasons=_list(
        _one_of(
            "BackoffLimitExceeded",
            "DeadlineExceeded",
            "FailedIndexes",
            "MaxFailedIndexesExceeded",
            "PodFailurePolicy",
        ),
        5,
    ),
    onJobFailureMessagePatterns=_list({"type": "string"}, 100),
    targetReplicatedJobs=_list(_NAME, 100),
)

_JOBSET = _object(
    ["replicatedJobs"],
    failurePolicy=_object(
        [],
        maxRestarts={"type": "integer", "minimum": 0},
        restartStrategy=_one_of("Recreate", "BlockingRecreate", "InPlaceRestart"),
        rules=_list(_FAILURE_RULE, 100),
    ),
    replicatedJobs=_list(
        _object(
            ["name", "template"],
            name=_NAME,
            replicas={"type": "integer", "minimum": 1},
            # Held against Kubernetes' own schema by the tests.
            template={"type": "object"},
        ),
        100,
    ),
)

_TOLERATION = _object(
    [],
    key={"type": "string"},
    operator=_one_of("Exists", "Equal"),
    value={"type": "string"},
    effect=_one_of("NoSchedule", "PreferNoSchedule", "NoExecute"),
)

_FLAVOUR = _object(
    [],
    nodeLabels={"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 8},
    tolerations=_list(_TOLERATION, 8),
)

_QUOTA = _object(
    ["name", "nominalQuota"],
    name={"type": "string"},
    nominalQuota={"type": ["integer", "string"]},  # no borrowingLimit without a cohort
)

_CLUSTER_QUEUE = _object(
    ["resourceGroups"],
    namespaceSelector={"type": "object"},
    flavorFungibility=_object(
        [],
        whenCanBorrow=_one_of("MayStopSearch", "TryNextFlavor"),
        whenCanPreempt=_one_of("MayStopSearch", "TryNextFlavor"),
    ),
    preemption=_object(
        [],
        withinClusterQueue=_one_of("Never", "LowerPriority", "LowerOrNewerEqualPriority"),
        reclaimWithinCohort=_one_of("Never", "LowerPriority", "Any"),
    ),
    resourceGroups=_list(
        _object(
            ["coveredResources", "flavors"],
            coveredResources=_list({"type": "string"}, 64),
            flavors=_list(
                _object(["name", "resources"], name=_NAME, resources=_list(_QUOTA, 64)), 64
            ),
        ),
        16,
    ),
)

_POD_MONITOR = _object(
    ["selector", "podMetricsEndpoints"],
    selector=_object([], matchExpressions=_list({"type": "object"}, 100)),
    podMetricsEndpoints=_list(
        _object(
            ["port"],
            port=_NAME,
            path={"type": "string", "pattern": "^/"},
            interval={"type": "string", "pattern": "^[0-9]+(ms|s|m|h)$"},
        ),
        100,
    ),
    podTargetLabels=_list({"type": "string"}, 100),
)

CUSTOM_RESOURCES = dict(
    (
        _custom("jobset.x-k8s.io/v1alpha2", "JobSet", _JOBSET),
        _custom("kueue.x-k8s.io/v1beta2", "ResourceFlavor", _FLAVOUR),
        _custom("kueue.x-k8s.io/v1beta2", "ClusterQueue", _CLUSTER_QUEUE),
        _custom("monitoring.coreos.com/v1", "PodMonitor", _POD_MONITOR),
        _custom(
            "kueue.x-k8s.io/v1beta2", "LocalQueue", _object(["clusterQueue"], clusterQueue=_NAME)
        ),
    )
)
"""By API version and kind."""
