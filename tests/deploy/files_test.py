"""What stands in deploy/ and can be checked without building anything: the Dockerfiles, the bill of materials, the
systemd unit, the compose file, and that all of them speak of the version that CMakeLists.txt has."""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DEPLOY = os.path.join(ROOT, "deploy")
STATUS = """Package: libstdc++6
Status: install ok installed
Maintainer: "A" \\ B <a@b>
Architecture: amd64
Version: 12.2.0-14+deb12u1

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1

Package: zlib1g
Status: install ok installed
Maintainer: C <c@d>
Architecture: amd64
Version: 1:1.2.13~x
"""


def text_of(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def version():
    return re.search(r"project\(assay VERSION ([\d.]+)", text_of("CMakeLists.txt")).group(1)


def stages(name):
    """{stage: its instructions, comments left out}"""
    found, stage = {}, ""
    for line in text_of("deploy", "container", name).replace("\\\n", "").splitlines():
        begin = re.match(r"FROM \S+ AS (\w+)", line)
        stage = begin.group(1) if begin else stage
        if line and not line.startswith("#"):
            found.setdefault(stage, []).append(re.sub(r"\s+", " ", line))
    return found


class DockerfileTest(unittest.TestCase):
    def test_both_make_the_same_image_but_for_cuda(self):
        cpu, cuda = stages("Dockerfile"), stages("Dockerfile.cuda")
        self.assertEqual(list(cpu), ["", "build", "packages", "sbom", "final"])
        self.assertEqual(cpu["sbom"], cuda["sbom"])
        self.assertEqual([line.replace("libssl3t64", "libssl3") for line in cuda["packages"]], cpu["packages"])
        self.assertEqual([line.replace(" NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility", "")
                          for line in cuda["final"]], cpu["final"])
        self.assertEqual([line for line in cuda["build"] if "CUDA" not in line], cpu["build"])

    def test_the_build_stage_installs_what_the_set_up_would(self):
        wanted = re.search(r'^BUILD_PACKAGES=\((.*?)\n\)', text_of("tools", "setup"), re.S | re.M).group(1)
        known = set(re.findall(r'"([\w+-]+)\|', wanted))
        here = re.search(r'^PACKAGES="(.*?)"', text_of("deploy", "container", "stage"), re.S | re.M).group(1)
        packages = set(here.replace("\\\n", " ").split())
        self.assertLessEqual(packages, known)
        # What only tests and benchmarks and comfort need.
        self.assertEqual(known - packages, {"ccache", "libgtest-dev", "libgmock-dev", "libbenchmark-dev"})

    def test_the_made_base_has_what_the_image_asks_for(self):
        asked = re.search(r'packages="(.*?)"', text_of("deploy", "container", "Dockerfile")).group(1).split()
        made = re.search(r"^readonly RUN_PACKAGES=(\S+)", text_of("deploy", "container", "make_image"), re.M).group(1)
        self.assertEqual(asked, made.split(","))

    def test_scripts_are_whole_and_executable(self):
        for name, shell in {"container/make_image": "bash", "container/stage": "sh", "container/sbom": "sh",
                            "container/healthcheck": "bash", "sagemaker/serve": "sh"}.items():
            path = os.path.join(DEPLOY, name)
            self.assertTrue(os.access(path, os.X_OK), name)
            done = subprocess.run([shell, "-n", path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_build_script_says_what_is_wrong(self):
        script = os.path.join(DEPLOY, "container", "make_image")
        for words, text in {("--nonsense",): "--nonsense", ("--tree",): "--tree wants a value",
                            ("--tree", "/nonexistent"): "no usr/bin/assay",
                            ("--engine", "none"): "docker or buildah"}.items():
            done = subprocess.run([script, *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stderr)


class HealthCheckTest(unittest.TestCase):
    """The port that the program listens on, by its own rule: ASSAY_PORT wins."""

    def test_it_asks_where_the_program_listens(self):
        names = ["ASSAY_PORT", "SAGEMAKER_BIND_TO_PORT", "SM_LLAMA_CPP_PORT", "LLAMACPP_SAGEMAKER_PORT", "SEMIF_PORT"]
        for at, name in enumerate(names):
            with socket.socket() as here:
                here.bind(("127.0.0.1", 0))
                here.listen()
                here.settimeout(10)
                variables = {name: str(here.getsockname()[1])} | {other: "1" for other in names[at + 1:]}
                with subprocess.Popen([os.path.join(DEPLOY, "container", "healthcheck")],
                                      env={"PATH": os.environ["PATH"], **variables}) as check:
                    with here.accept()[0] as asked:
                        with asked.makefile("rb") as head:
                            self.assertEqual(head.readline(), b"GET /ping HTTP/1.1\r\n")
                            while head.readline().strip():
                                pass
                        asked.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                self.assertEqual(check.returncode, 0, name)


class BillOfMaterialsTest(unittest.TestCase):
    def made(self, status, parts, *more):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("status", status), ("parts", parts)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            return subprocess.run([os.path.join(DEPLOY, "container", "sbom"), os.path.join(folder, "status"),
                                   os.path.join(folder, "parts"), *(more or ("1.2.3", "86400"))],
                                  capture_output=True, text=True)

    def test_it_names_every_installed_package_and_every_part(self):
        done = self.made(STATUS, text_of("deploy", "container", "parts.tsv"))
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        self.assertEqual(document["creationInfo"]["created"], "1970-01-02T00:00:00Z")
        packages = {package["name"]: package for package in document["packages"]}
        self.assertNotIn("gone", packages)
        stdcpp = packages["libstdc++6"]
        self.assertEqual(stdcpp["SPDXID"], "SPDXRef-deb-libstdcplusplus6")
        self.assertEqual(stdcpp["supplier"], 'Organization: "A" \\ B <a@b>')
        self.assertEqual(stdcpp["externalRefs"][0]["referenceLocator"],
                         "pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=amd64")
        self.assertEqual(packages["zlib1g"]["versionInfo"], "1:1.2.13~x")
        self.assertEqual(packages["assay"]["versionInfo"], "1.2.3")
        ids = [package["SPDXID"] for package in document["packages"]]
        self.assertEqual(len(ids), len(set(ids)))
        for ref in ids:
            self.assertRegex(ref, r"^SPDXRef-[A-Za-z0-9.-]+$")
        related = [relation["relatedSpdxElement"] for relation in document["relationships"]]
        self.assertEqual(sorted(related), sorted(ids))
        self.assertEqual(done.stdout, self.made(STATUS, text_of("deploy", "container", "parts.tsv")).stdout)

    def test_licences_are_those_that_spdx_knows_or_that_stand_in_it(self):
        for line in text_of("deploy", "container", "parts.tsv").splitlines():
            if not line.startswith("#"):
                for licence in line.split("\t")[2].split(" OR "):
                    self.assertIn(licence, ("MIT", "MIT-0", "BSD-2-Clause", "BSD-3-Clause", "Unlicense",
                                            "LicenseRef-public-domain"))

    def test_an_empty_or_broken_input_is_an_error(self):
        parts = text_of("deploy", "container", "parts.tsv")
        self.assertNotEqual(self.made("", parts).returncode, 0)
        self.assertNotEqual(self.made(STATUS, "# none\n").returncode, 0)
        self.assertNotEqual(self.made(STATUS, "a\tb\n").returncode, 0)
        self.assertNotEqual(self.made(STATUS + "\n" + STATUS, parts).returncode, 0)  # a package twice
        self.assertNotEqual(self.made(STATUS, parts, "1.2.3").returncode, 0)

    def test_the_parts_are_those_of_the_notices_and_of_the_build(self):
        rows = [line.split("\t") for line in text_of("deploy", "container", "parts.tsv").splitlines() if line[0] != "#"]
        table = text_of("THIRD_PARTY_NOTICES.md").split("## In the program")[1].split("\n## ")[0]
        cells = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")][1:]
        self.assertEqual([row[0] for row in rows], [cell.split(",")[0] for cell in cells])
        number = re.search(r"set\(LLAMA_BUILD_COMMIT \"(b\d+)\"", text_of("cmake", "llama.cmake")).group(1)
        versions = {row[0]: row[1] for row in rows}
        self.assertEqual(versions["llama.cpp with ggml"], number)
        vendor = os.path.join(os.environ.get("ASSAY_LLAMA_DIR") or os.path.join(
            ROOT, "third_party", "llama.cpp"), "vendor")
        if not os.path.isdir(vendor):
            self.skipTest("no third_party/llama.cpp to compare the versions with: tools/setup fetches it")
        with open(os.path.join(vendor, "cpp-httplib", "httplib.h"), encoding="utf-8") as file:
            self.assertIn(f'CPPHTTPLIB_VERSION "{versions["cpp-httplib"]}"', file.read())
        with open(os.path.join(vendor, "nlohmann", "json.hpp"), encoding="utf-8") as file:
            numbers = re.findall(r"#define NLOHMANN_JSON_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", file.read())
        self.assertEqual(".".join(numbers[:3]), versions["JSON for Modern C++ (nlohmann)"])


class UnitTest(unittest.TestCase):
    def setUp(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("no systemd-analyze here")
        # The program is not installed here: the unit names one that is.
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.unit = os.path.join(self.folder.name, "assay.service")
        with open(self.unit, "w", encoding="utf-8") as file:
            file.write(text_of("deploy", "systemd", "assay.service").replace("/usr/local/bin/assay", "/bin/true"))

    def test_systemd_understands_it(self):
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", self.unit], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_it_is_closed_as_far_as_it_can_be(self):
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20", self.unit],
                              capture_output=True, text=True)
        if "unrecognized option" in done.stderr:
            self.skipTest("this systemd-analyze is older than 250")
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)

    def test_stopping_it_while_it_loads_is_no_failure(self):
        # tests/e2e/test_sagemaker_start.py has the exit code (T21).
        self.assertIn("\nSuccessExitStatus=143\n", text_of("deploy", "systemd", "assay.service"))

    def test_its_settings_are_flags_that_there_are(self):
        names = re.findall(r"^ASSAY_(\w+)=", text_of("deploy", "systemd", "assay.env"), re.M)
        self.assertEqual(names, ["MODEL", "HOST", "PORT"])
        command = re.search(r"^ExecStart=(.*)", text_of("deploy", "systemd", "assay.service"), re.M).group(1)
        for flag in re.findall(r"--([a-z-]+)", command):
            self.assertIn(f"--{flag}", text_of("docs", "cli.md"))


class ComposeTest(unittest.TestCase):
    """The rules are those of the Compose specification that this file touches."""

    def setUp(self):
        self.document = yaml.safe_load(text_of("deploy", "compose.yaml"))

    def test_its_shape_is_the_specifications(self):
        self.assertLessEqual(set(self.document), {"name", "services", "networks", "volumes", "configs", "secrets"})
        service = self.document["services"]["assay"]
        kinds = {"image": str, "command": list, "ports": list, "environment": dict, "volumes": list, "tmpfs": list,
                 "read_only": bool, "user": str, "cap_drop": list, "security_opt": list, "pids_limit": int,
                 "stop_grace_period": str, "restart": str}
        for key, value in service.items():
            self.assertIsInstance(value, kinds[key], key)
        for port in service["ports"]:
            self.assertRegex(port, r"^(\$\{.*?\}:)?\$\{.*?\}:\d+$")
        for mount in service["volumes"]:
            self.assertEqual(mount["type"], "bind")
            self.assertLessEqual(set(mount), {"type", "source", "target", "read_only"})
        self.assertTrue(all(isinstance(value, (str, int, float)) for value in service["environment"].values()))
        self.assertRegex(service["stop_grace_period"], r"^\d+s$")
        self.assertIn(service["restart"], ("no", "always", "on-failure", "unless-stopped"))

    def test_it_is_as_closed_as_the_image_allows(self):
        service = self.document["services"]["assay"]
        self.assertIs(service["read_only"], True)
        self.assertEqual(service["cap_drop"], ["ALL"])
        self.assertEqual(service["user"], re.search(
            r"^USER (\S+)", text_of("deploy", "container", "Dockerfile"), re.M).group(1))
        self.assertTrue(all(mount["read_only"] for mount in service["volumes"]))
        self.assertTrue(service["ports"][0].startswith("${ASSAY_BIND:-127.0.0.1}"))

    def test_docker_takes_it(self):
        if shutil.which("docker") is None or \
                subprocess.run(["docker", "compose", "version"], capture_output=True).returncode != 0:
            self.skipTest("no docker compose here")
        done = subprocess.run(["docker", "compose", "-f", os.path.join(DEPLOY, "compose.yaml"), "config", "--quiet"],
                              env={**os.environ, "MODEL_DIR": ROOT}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


class FiveLinesTest(unittest.TestCase):
    def test_what_the_page_says_to_run_is_there(self):
        section = text_of("docs", "sagemaker.md").split("## From your image to this one in five lines\n\n")[1]
        lines = [line[4:] for line in section.split("\n\n")[0].splitlines()]
        self.assertEqual(len(lines), 5)
        checked = subprocess.run(["bash", "-n"], input="\n".join(lines), text=True, capture_output=True)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        child = re.search(r"-f (\S+)", lines[2]).group(1)
        self.assertIn(f"ASSAY_IMAGE=assay:{version()}\n", text_of(child))  # as `make image` calls it
        self.assertIn("\nimage:", text_of("Makefile"))


class VersionTest(unittest.TestCase):
    def test_all_speak_of_one_version(self):
        chart = yaml.safe_load(text_of("deploy", "helm", "assay", "Chart.yaml"))
        self.assertEqual((chart["version"], chart["appVersion"]), (version(), version()))
        self.assertIn(f"ASSAY_IMAGE:-assay:{version()}", text_of("deploy", "compose.yaml"))
        self.assertIn(f"ARG ASSAY_IMAGE=assay:{version()}\n", text_of("deploy", "sagemaker", "Dockerfile"))


if __name__ == "__main__":
    unittest.main()
