"""The Helm chart, rendered by Helm, and the plain manifests that are made of it."""

import copy
import re
from typing import Any

import pytest
import yaml
from django.conf import settings

from tests.deploy import chart
from tests.house.repository import ROOT
from tests.needs import need_module

need_module("helm_python")
FILES = {"files": "s3://bucket/prefix"}
GPU = {
    "name": "gpu",
    "queues": ["gpu", "large"],
    "replicas": 0,
    "settings": {"AGUI_WORKER_CONCURRENCY": 4},
    "resources": {"requests": {"cpu": 4}, "limits": {"memory": "16Gi"}},
    "autoscaling": {"enabled": True, "min": 1, "max": 5, "seconds": 30},
    "nodeSelector": {"gpu": "yes"},
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
}
DEFAULT = yaml.safe_load((chart.CHART / "values.yaml").read_text())["workers"][0]
EVERYTHING = {
    **FILES,
    "image": {"digest": f"sha256:{'a' * 64}", "pullSecrets": ["registry"]},
    "serviceAccount": "bucket-reader",
    "settings": {"AGUI_WORKER_GRACE": 60},
    "web": {"autoscaling": {"enabled": True}, "nodeSelector": {"a": "b"}, "tolerations": [{}]},
    "workers": [DEFAULT, GPU],
    "networkPolicy": {"web": ["gateways"], "monitoring": ["monitoring"]},
    "monitoring": {"enabled": True, "dashboard": True, "labels": {"release": "prometheus"}},
}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "files: name a bucket"),
    ({"files": "/var/lib/agui/files"}, "files: name a bucket"),
    ({**FILES, "surprise": 1}, "surprise"),
    ({**FILES, "route": {"kind": "mesh"}}, "kind"),
    ({**FILES, "workers": [GPU]}, 'one must serve the queue "default"'),
    ({**FILES, "workers": [DEFAULT, GPU | {"name": "web"}]}, "workers"),
    ({**FILES, "settings": {"agui_signup": "open"}}, "agui_signup"),
    ({**FILES, "settings": {"SECRET_KEY": "typed-here"}}, "SECRET_KEY"),
    ({**FILES, "settings": {"REDIS_URL": "rediss://u:p@valkey/0"}}, "REDIS_URL"),
    ({**FILES, "workers": [DEFAULT | {"settings": {"LLM_API_KEY": "x"}}]}, "LLM_API_KEY"),
]
Manifests = dict[tuple[str, str], dict[str, Any]]


def by_name(rendered: dict[str, str] | str) -> Manifests:
    assert isinstance(rendered, dict), rendered
    parts = chart.documents(rendered)
    manifests = {(one["kind"], one["metadata"]["name"]): one for one in parts}
    assert len(manifests) == len(parts)
    return manifests


@pytest.fixture(scope="module")
def rendered() -> dict[str, Manifests]:
    variants = {
        "plain": FILES,
        "all": EVERYTHING,
        "ingress": {**FILES, "route": {"kind": "ingress", "ingress": {"annotations": {"a": "b"}}}},
        "bare": {**FILES, "route": {"kind": "none"}, "networkPolicy": {"enabled": False}},
        "closed": {
            **FILES,
            "networkPolicy": {"monitoring": []},
            "workerGrace": 1_000_000,
            "settings": {"AGUI_METRICS_ADDRESS": "[::]:9464", "AGUI_FILE_MAX_BYTES": 52_428_800},
        },
        "newer": {**FILES, "image": {"tag": "0.2.0"}},
    }
    texts = chart.render(list(variants.values()))
    return dict(zip(variants, map(by_name, texts), strict=True))


def spec(manifests: Manifests, kind: str, name: str) -> dict[str, Any]:
    parts: dict[str, Any] = manifests[kind, name]["spec"]
    return parts


def pod(manifests: Manifests, name: str) -> dict[str, Any]:
    parts: dict[str, Any] = spec(manifests, "Deployment", name)["template"]["spec"]
    return parts


def test_the_plain_manifests_are_the_charts() -> None:
    for path, text in chart.plain().items():
        assert path.read_text() == text, "make manifest"


@pytest.mark.parametrize("variant", ["plain", "all", "ingress", "bare", "closed"])
def test_kubernetes_knows_every_field(rendered: dict[str, Manifests], variant: str) -> None:
    validator = need_module("kubernetes_validate")
    foreign = {
        "HTTPRoute", "PodMonitor", "PrometheusRule", "ScaledObject", "ServiceMonitor",
    }  # fmt: skip
    for (kind, _), manifest in rendered[variant].items():
        if kind not in foreign:
            validator.validate(manifest, "1.31", strict=True)
    service = rendered[variant]["Service", "agui-web"]
    with pytest.raises(validator.ValidationError):
        validator.validate({**service, "surprise": 1}, "1.31", strict=True)


def test_wrong_values_are_refused_by_name() -> None:
    answers = chart.render([values for values, _ in REFUSED])
    for (values, words), answer in zip(REFUSED, answers, strict=True):
        assert isinstance(answer, str), values
        assert words in answer, values


def test_what_each_variant_consists_of(rendered: dict[str, Manifests]) -> None:
    kinds = {name: {kind for kind, _ in manifests} for name, manifests in rendered.items()}
    always = {"ConfigMap", "Deployment", "Job", "PodDisruptionBudget", "Service"}
    assert kinds["bare"] == always
    assert kinds["plain"] == always | {"HTTPRoute", "NetworkPolicy"}
    assert kinds["ingress"] == always | {"Ingress", "NetworkPolicy"}
    scaled = {"HorizontalPodAutoscaler", "ScaledObject"}
    watched = {"PodMonitor", "PrometheusRule", "ServiceMonitor"}
    assert kinds["all"] == kinds["plain"] | scaled | watched


def test_the_rules_are_those_of_prometheus(rendered: dict[str, Manifests]) -> None:
    """Through a link: the chart has no copy of them, nor of the dashboard."""
    rules = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yml").read_text())
    assert spec(rendered["all"], "PrometheusRule", "agui") == rules
    assert rendered["all"]["PrometheusRule", "agui"]["metadata"]["labels"]["release"]
    dashboard = (ROOT / "deploy" / "grafana" / "dashboard.json").read_text()
    assert rendered["all"]["ConfigMap", "agui-dashboard"]["data"] == {"agui.json": dashboard}
    assert all(path.is_symlink() for path in (chart.CHART / "files").iterdir())


def test_selectors_find_their_pods_and_nothing_else(rendered: dict[str, Manifests]) -> None:
    manifests = rendered["all"]
    pods = {
        name: manifest["spec"]["template"]["metadata"]["labels"]
        for (kind, name), manifest in manifests.items()
        if kind in ("Deployment", "Job")
    }

    def selected(selector: dict[str, str]) -> set[str]:
        return {name for name, labels in pods.items() if selector.items() <= labels.items()}

    for (kind, name), manifest in manifests.items():
        if kind in ("Deployment", "PodDisruptionBudget"):
            assert selected(manifest["spec"]["selector"]["matchLabels"]) == {name}, kind
    assert selected(spec(manifests, "Service", "agui-web")["selector"]) == {"agui-web"}
    workers = {"agui-worker", "agui-gpu"}
    policies = {
        name: selected(manifest["spec"]["podSelector"]["matchLabels"])
        for (kind, name), manifest in manifests.items()
        if kind == "NetworkPolicy"
    }
    assert policies == {"agui": set(pods), "agui-web": {"agui-web"}, "agui-workers": workers}
    monitored = spec(manifests, "PodMonitor", "agui-workers")["selector"]["matchLabels"]
    assert selected(monitored) == workers
    web = manifests["Service", "agui-web"]["metadata"]["labels"]
    chosen = spec(manifests, "ServiceMonitor", "agui-web")["selector"]["matchLabels"]
    assert chosen.items() <= web.items()
    for name in ("agui-web", "agui-gpu"):
        spread = pod(manifests, name)["topologySpreadConstraints"]
        assert [selected(one["labelSelector"]["matchLabels"]) for one in spread] == [{name}] * 2


def test_every_port_that_is_named_exists(rendered: dict[str, Manifests]) -> None:
    for name, port, number in (("agui-web", "http", 8000), ("agui-gpu", "metrics", 9464)):
        (container,) = pod(rendered["all"], name)["containers"]
        assert container["ports"] == [{"name": port, "containerPort": number}]
        probes = [container[f"{probe}Probe"] for probe in ("startup", "readiness")]
        for probe in probes:
            assert (probe.get("httpGet") or probe["tcpSocket"])["port"] == port
    address = rendered["all"]["ConfigMap", "agui"]["data"]["AGUI_METRICS_ADDRESS"]
    assert address == "0.0.0.0:9464"


def test_workers_by_queue(rendered: dict[str, Manifests]) -> None:
    (container,) = pod(rendered["all"], "agui-gpu")["containers"]
    assert {one["name"]: one["value"] for one in container["env"]} == {
        "AGUI_WORKER_QUEUES": "gpu,large",
        "AGUI_WORKER_CONCURRENCY": "4",
    }
    assert pod(rendered["all"], "agui-gpu")["nodeSelector"] == {"gpu": "yes"}
    assert "replicas" not in spec(rendered["all"], "Deployment", "agui-gpu"), "KEDA sets them"
    assert spec(rendered["plain"], "Deployment", "agui-worker")["replicas"] == 2
    scaled = spec(rendered["all"], "ScaledObject", "agui-gpu")
    assert scaled["scaleTargetRef"] == {"name": "agui-gpu"}
    (trigger,) = scaled["triggers"]
    selector = 'agui_queue_age_seconds{namespace="agui", queue=~"gpu|large"}'
    assert selector in trigger["metadata"]["query"], "of this release, not of another's"


def test_a_worker_drains_before_it_is_killed(rendered: dict[str, Manifests]) -> None:
    for name in ("agui-worker", "agui-gpu"):
        grace = pod(rendered["all"], name)["terminationGracePeriodSeconds"]
        assert grace > settings.AGUI_WORKER_GRACE + settings.AGUI_CANCEL_GRACE + 5


def test_secrets_are_named_and_only_the_job_has_the_owners(
    rendered: dict[str, Manifests],
) -> None:
    for manifests in rendered.values():
        assert all(kind != "Secret" for kind, _ in manifests)
        owners = [name for (_, name), one in manifests.items() if "agui-owner" in str(one)]
        assert [name.startswith("agui-migrate-") for name in owners] == [True]


def test_another_version_is_another_job_and_new_settings_new_pods(
    rendered: dict[str, Manifests],
) -> None:
    jobs = [
        next(name for kind, name in rendered[variant] if kind == "Job")
        for variant in ("plain", "newer", "all")
    ]
    assert len(set(jobs)) == 3
    assert jobs[1].startswith("agui-migrate-0-2-0-")
    changed = copy.deepcopy(rendered["all"])
    marks = [
        spec(manifests, "Deployment", "agui-web")["template"]["metadata"]["annotations"]
        for manifests in (rendered["plain"], rendered["newer"], changed)
    ]
    assert marks[0] == marks[1] != marks[2]


def test_every_container_is_locked_in_and_has_bounds(rendered: dict[str, Manifests]) -> None:
    for (kind, name), manifest in rendered["all"].items():
        if kind not in ("Deployment", "Job"):
            continue
        template = manifest["spec"]["template"]["spec"]
        assert template["securityContext"]["runAsNonRoot"], name
        assert template["automountServiceAccountToken"] is False
        for container in template.get("initContainers", []) + template["containers"]:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"], name
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]
            assert container["resources"]["requests"]["cpu"]
            assert container["image"].endswith("@sha256:" + "a" * 64)


def test_a_proxy_lets_the_largest_file_pass_and_no_stream_is_cut(
    rendered: dict[str, Manifests],
) -> None:
    ingress = rendered["ingress"]["Ingress", "agui"]["metadata"]["annotations"]
    largest = ingress["nginx.ingress.kubernetes.io/proxy-body-size"]
    assert int(largest.removesuffix("m")) * 2**20 > settings.AGUI_FILE_MAX_BYTES
    pause = int(ingress["nginx.ingress.kubernetes.io/proxy-read-timeout"])
    assert pause > 2 * settings.AGUI_SSE_HEARTBEAT
    (rule,) = spec(rendered["plain"], "HTTPRoute", "agui")["rules"]
    assert rule["timeouts"] == {"request": "0s"}
    assert rule["backendRefs"] == [{"name": "agui-web", "port": 80}]


def test_settings_are_written_once_and_numbers_as_they_were(
    rendered: dict[str, Manifests],
) -> None:
    data = rendered["closed"]["ConfigMap", "agui"]["data"]
    assert data["AGUI_METRICS_ADDRESS"] == "[::]:9464"
    assert data["AGUI_FILE_MAX_BYTES"] == "52428800"
    assert all(isinstance(value, str) for value in data.values())
    assert pod(rendered["closed"], "agui-worker")["terminationGracePeriodSeconds"] == 1_000_000


def test_pods_resolve_names_and_nobody_else_scrapes(rendered: dict[str, Manifests]) -> None:
    """DNS by any address: that of a node's cache is beside the cloud's metadata."""
    anywhere, *_ = spec(rendered["plain"], "NetworkPolicy", "agui")["egress"]
    assert anywhere == {"ports": [{"port": 53, "protocol": name} for name in ("UDP", "TCP")]}
    (scraped,) = spec(rendered["plain"], "NetworkPolicy", "agui-workers")["ingress"]
    assert scraped["from"]
    assert "ingress" not in spec(rendered["closed"], "NetworkPolicy", "agui-workers")


def test_a_pod_that_does_not_start_holds_up_no_node(rendered: dict[str, Manifests]) -> None:
    for name in ("agui-web", "agui-worker", "agui-gpu"):
        budget = spec(rendered["all"], "PodDisruptionBudget", name)
        assert budget["maxUnavailable"] == 1
        assert budget["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_each_value_is_in_the_page() -> None:
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    values = yaml.safe_load((chart.CHART / "values.yaml").read_text())
    assert set(values) <= set(re.findall(r"`([a-zA-Z]+)[.`]", page))
