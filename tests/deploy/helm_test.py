"""deploy/helm: linted and rendered by helm itself, the result checked against Kubernetes' own schemas."""

import os
import shutil
import subprocess
import unittest

import yaml

try:
    import kubernetes_validate
except ImportError as reason:
    raise unittest.SkipTest(f"{reason}: run tools/setup --dev") from reason

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CHART = os.path.join(ROOT, "deploy", "helm", "assay")
HELM_MODULE, HELM_VERSION = "helm.sh/helm/v3/cmd/helm", "v3.22.0"
KUBERNETES = "1.31"
HELM = ""


def setUpModule():
    """helm on PATH, or built once by Go into build/."""
    global HELM
    HELM = os.environ.get("ASSAY_HELM") or shutil.which("helm") or ""
    if HELM:
        return
    folder = os.path.join(ROOT, "build", "helm", HELM_VERSION)
    HELM = os.path.join(folder, "helm")
    if os.path.exists(HELM):
        return
    if shutil.which("go") is None:
        raise unittest.SkipTest(f"neither helm nor Go is here: install one, or set ASSAY_HELM (helm {HELM_VERSION})")
    done = subprocess.run(["go", "install", f"{HELM_MODULE}@{HELM_VERSION}"], env={**os.environ, "GOBIN": folder},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise unittest.SkipTest(f"Go cannot get {HELM_MODULE}@{HELM_VERSION}: {done.stdout[-300:]}")


def helm(*words):
    return subprocess.run([HELM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def rendered(values, *more):
    done = helm("template", "r", CHART, "--namespace", "n", "--kube-version", KUBERNETES, "-f",
                os.path.join(CHART, "ci", values + "-values.yaml"), *more)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return {document["kind"]: document for document in yaml.safe_load_all(done.stdout) if document}


class ChartTest(unittest.TestCase):
    def test_helm_lint_is_content(self):
        for values in ("small", "full"):
            done = helm("lint", "--strict", CHART, "-f", os.path.join(CHART, "ci", values + "-values.yaml"))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_what_it_renders_is_valid_kubernetes(self):
        kinds = {"small": {"Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount"}}
        kinds["full"] = kinds["small"] | {"HorizontalPodAutoscaler", "ServiceMonitor"}
        for values, wanted in kinds.items():
            documents = rendered(values)
            self.assertEqual(set(documents), wanted)
            for kind, document in documents.items():
                if kind == "ServiceMonitor":  # the Prometheus operator's own
                    self.assertEqual(document["apiVersion"], "monitoring.coreos.com/v1")
                    continue
                kubernetes_validate.validate(document, KUBERNETES, strict=True)

    def test_probes_ask_what_they_mean(self):
        container = rendered("small")["Deployment"]["spec"]["template"]["spec"]["containers"][0]
        probes = ("startupProbe", "livenessProbe", "readinessProbe")
        self.assertEqual({name: container[name]["httpGet"]["path"] for name in probes},
                         {"startupProbe": "/ping", "livenessProbe": "/health", "readinessProbe": "/ping"})
        startup = container["startupProbe"]
        self.assertGreaterEqual(startup["periodSeconds"] * startup["failureThreshold"], 600)

    def test_a_pod_may_nothing_and_writes_only_to_tmp(self):
        for values in ("small", "full"):
            pod = rendered(values)["Deployment"]["spec"]["template"]["spec"]
            container = pod["containers"][0]
            self.assertIs(pod["automountServiceAccountToken"], False)
            self.assertIs(pod["securityContext"]["runAsNonRoot"], True)
            self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
            self.assertEqual(container["securityContext"],
                             {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                              "capabilities": {"drop": ["ALL"]}})
            self.assertEqual([mount["mountPath"]
                             for mount in container["volumeMounts"] if not mount.get("readOnly")], ["/tmp"])

    def test_it_ends_before_kubernetes_loses_patience(self):
        pod = rendered("small", "--set", "gracePeriodSeconds=90")["Deployment"]["spec"]["template"]["spec"]
        self.assertEqual(pod["terminationGracePeriodSeconds"], 90)
        container = pod["containers"][0]
        self.assertIn("--grace-seconds=80", container["args"])
        # Time for the routers to hear of it, while it still answers.
        self.assertEqual(container["lifecycle"]["preStop"]["exec"]["command"], ["/bin/sleep", "5"])
        pod = rendered("small", "--set", "drainSeconds=0")["Deployment"]["spec"]["template"]["spec"]
        self.assertNotIn("lifecycle", pod["containers"][0])
        self.assertIn(f"--grace-seconds={pod['terminationGracePeriodSeconds'] - 5}", pod["containers"][0]["args"])
        pod = rendered("small", "--set", "gracePeriodSeconds=10,drainSeconds=30")["Deployment"]["spec"]["template"]["spec"]
        self.assertIn("--grace-seconds=0", pod["containers"][0]["args"])

    def test_no_other_service_sets_a_variable_of_ours(self):
        # A service called assay in the namespace would be ASSAY_PORT=tcp://10.0.0.1:80.
        self.assertIs(rendered("small")["Deployment"]["spec"]["template"]["spec"]["enableServiceLinks"], False)

    def test_it_scales_on_waiting_and_not_on_the_cpu(self):
        documents = rendered("full")
        scaler = documents["HorizontalPodAutoscaler"]["spec"]
        self.assertEqual([metric["type"] for metric in scaler["metrics"]], ["Pods"])
        self.assertEqual(scaler["metrics"][0]["pods"]["metric"]["name"], "assay_queue_wait_milliseconds")
        self.assertEqual(scaler["metrics"][0]["pods"]["target"]["averageValue"], "50")
        # Two that set the number of copies would fight.
        self.assertNotIn("replicas", documents["Deployment"]["spec"])
        self.assertEqual(rendered("small")["Deployment"]["spec"]["replicas"], 2)

    def test_selectors_find_the_pods(self):
        documents = rendered("full")
        labels = documents["Deployment"]["spec"]["template"]["metadata"]["labels"]
        for kind, path in {"Service": ["selector"], "Deployment": ["selector", "matchLabels"],
                           "PodDisruptionBudget": ["selector", "matchLabels"],
                           "NetworkPolicy": ["podSelector", "matchLabels"]}.items():
            selector = documents[kind]["spec"]
            for key in path:
                selector = selector[key]
            self.assertTrue(selector.items() <= labels.items(), kind)
        monitor = documents["ServiceMonitor"]["spec"]["selector"]["matchLabels"]
        self.assertTrue(monitor.items() <= documents["Service"]["metadata"]["labels"].items())

    def test_the_network_is_closed_but_for_callers_and_scrapers(self):
        policy = rendered("small")["NetworkPolicy"]["spec"]
        self.assertEqual(sorted(policy["policyTypes"]), ["Egress", "Ingress"])
        self.assertFalse(policy.get("egress"))
        self.assertEqual(policy["ingress"][0]["from"][0], {"podSelector": {}})
        self.assertEqual(len(policy["ingress"][0]["from"]), 2)

    def test_wrong_values_are_refused_by_name(self):
        wrong = {"replicas=-1": "replicas", "model.path=/models/model.bin": "path", "nonsense=1": "nonsense",
                 "service.port=70000": "port", "gracePeriodSeconds=3": "gracePeriodSeconds"}
        for setting, name in wrong.items():
            done = helm("template", "r", CHART, "--kube-version", KUBERNETES, "-f",
                        os.path.join(CHART, "ci", "small-values.yaml"), "--set", setting)
            self.assertNotEqual(done.returncode, 0, setting)
            self.assertIn(name, done.stderr)
        without_volume = helm("template", "r", CHART, "--kube-version", KUBERNETES)
        self.assertNotEqual(without_volume.returncode, 0)
        self.assertIn("volume", without_volume.stderr)


if __name__ == "__main__":
    unittest.main()
