"""The container's image as CI builds it, and the program in it."""

import json
import os
import re
import stat
import unittest

import container

SIZE_MAX = 150_000_000
COMPILERS = re.compile(r"^(.*-)?(gcc|g\+\+|cc|c\+\+|cpp|clang|clang\+\+|ld|ld\.(bfd|gold|lld)|as|make|cmake|ninja|"
                       r"rustc|go|tcc)(-?[\d.]+)?$")
DECISION = {"decision": {"id": "t", "state": "My card was charged twice for the same order.",
                         "question": "What does the customer want?",
                         "options": [{"id": "refund", "description": "Wants money back"},
                                     {"id": "info", "description": "Asks how something works"}]}}


def setUpModule():
    ImageTest.image = RunningTest.image = container.Image()
    unittest.addModuleCleanup(ImageTest.image.remove)


class ImageTest(unittest.TestCase):
    image: container.Image

    def test_it_is_small(self):
        # A file with several names counts once.
        sizes = {status.st_ino: status.st_size for _, status in self.image.files() if stat.S_ISREG(status.st_mode)}
        self.assertLess(sum(sizes.values()), SIZE_MAX)

    def test_it_has_no_compiler(self):
        found = [path for path, _ in self.image.files() if COMPILERS.match(os.path.basename(path))
                 and os.path.dirname(path).split("/")[-1] in ("bin", "sbin", "lib", "libexec")]
        self.assertEqual(found, [])

    def test_its_settings_are_those_of_the_contract(self):
        config = self.image.config
        self.assertEqual(config["Entrypoint"], ["/usr/bin/assay", "sagemaker"])
        self.assertEqual(config["Cmd"], ["serve"])
        self.assertEqual(config["User"], "10001:10001")
        self.assertEqual(config["StopSignal"], "SIGTERM")
        self.assertIn("8080/tcp", config["ExposedPorts"])
        self.assertEqual(config["Healthcheck"]["Test"], ["CMD", "/usr/lib/assay/healthcheck"])
        labels = config["Labels"]
        self.assertRegex(labels["org.opencontainers.image.version"], r"^\d+\.\d+\.\d+$")
        self.assertRegex(labels["org.opencontainers.image.revision"], r"^([0-9a-f]{40}|unknown)$")
        self.assertRegex(labels["org.opencontainers.image.created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(labels["org.opencontainers.image.licenses"], "MIT")
        self.assertEqual(labels["com.amazonaws.sagemaker.capabilities.accept-bind-to-port"], "true")
        self.assertEqual(labels["com.amazonaws.sagemaker.capabilities.multi-models"], "true")

    def test_its_user_owns_nothing_and_can_write_only_where_all_can(self):
        theirs = [path for path, status in self.image.files() if 10001 in (status.st_uid, status.st_gid)]
        self.assertEqual(theirs, [])
        writable = [path for path, status in self.image.files() if not stat.S_ISLNK(status.st_mode)
                    and status.st_mode & stat.S_IWOTH and path not in ("/tmp", "/var/tmp", "/run/lock")]
        self.assertEqual(writable, [])

    def test_the_list_of_parts_is_complete(self):
        with open(self.image.path("usr/share/doc/assay/sbom.spdx.json"), encoding="utf-8") as file:
            document = json.load(file)
        listed = {package["name"]: package["versionInfo"] for package in document["packages"]}
        with open(self.image.path("var/lib/dpkg/status"), encoding="utf-8") as file:
            stanzas = [stanza for stanza in file.read().split("\n\n") if "ok installed" in stanza]
        for stanza in stanzas:
            fields = dict(line.split(": ", 1) for line in stanza.splitlines() if re.match(r"[\w-]+: ", line))
            self.assertEqual(listed.get(fields["Package"]), fields["Version"], fields["Package"])
        self.assertEqual(listed["assay"], self.image.config["Labels"]["org.opencontainers.image.version"])
        self.assertIn("llama.cpp with ggml", listed)

    def test_licences_are_in_it(self):
        for name in ("LICENSE", "THIRD_PARTY_NOTICES.md"):
            self.assertTrue(os.path.getsize(self.image.path("usr/share/doc/assay", name)) > 500, name)

    def test_any_user_can_run_the_program(self):
        for user in ("10001:10001", "0:0", "4711:4711"):
            code, text = self.image.run("/usr/bin/assay", "version", user=user)
            self.assertEqual(code, 0, text)
            self.assertIn("assay " + self.image.config["Labels"]["org.opencontainers.image.version"], text)


class RunningTest(unittest.TestCase):
    """The entry point as the platform starts it: read-only root, model at /opt/ml/model, the image's own user."""

    image: container.Image
    running: container.Container

    @classmethod
    def setUpClass(cls):
        if "\n  sagemaker " not in cls.image.run("/usr/bin/assay", "--help")[1]:
            raise unittest.SkipTest("this build has no `assay sagemaker`")
        cls.running = container.Container(cls.image)
        cls.addClassCleanup(cls.running.stop)
        cls.running.wait_until_ready()

    @classmethod
    def tearDownClass(cls):
        code = cls.running.stop()
        if code != 0:
            raise AssertionError(f"after SIGTERM PID 1 ended with {code}:\n" + "".join(cls.running.log[-10:]))

    def check_decision(self, running):
        status, body = running.request("POST", "/invocations", DECISION)
        self.assertEqual(status, 200, body)
        result = json.loads(body)["result"]
        self.assertEqual(result["option_ids"], ["refund", "info"])
        self.assertAlmostEqual(sum(result["probabilities"]), 1, delta=1e-9)
        self.assertGreater(result["probabilities"][0], 0.5)

    def test_it_decides(self):
        self.check_decision(self.running)

    def test_its_health_check_tells_ready_from_absent(self):
        script = ["chroot", self.image.root, "/usr/bin/env", f"SM_LLAMA_CPP_PORT={self.running.port}",
                  "/usr/lib/assay/healthcheck"]
        self.assertEqual(self.image.call(*script), "")
        with self.assertRaises(AssertionError):
            self.image.call(*script[:3], f"SM_LLAMA_CPP_PORT={container.free_port()}", script[-1])

    def test_it_is_pid_1_and_nobody_special(self):
        with open(f"/proc/{self.running.first_process()}/status", encoding="ascii") as file:
            status = file.read()
        self.assertRegex(status, r"NSpid:\t\d+\t1\n")
        self.assertRegex(status, r"Uid:\t10001\t")
        self.assertRegex(status, r"CapEff:\t0+\n")

    def test_it_decides_as_root_too(self):
        running = container.Container(self.image, user="0:0")
        self.addCleanup(running.stop)
        running.wait_until_ready()
        self.check_decision(running)
        self.assertEqual(running.stop(), 0, "".join(running.log[-10:]))

    def test_it_streams_a_chat(self):
        body = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 8, "stream": True}
        status, reply = self.running.request("POST", "/invocations", body)
        if status in (404, 501) or b"x_decide" in reply:
            self.skipTest(f"this build serves no chat: {status} {reply[:200]!r}")
        self.assertEqual(status, 200, reply)
        events = [line[6:] for line in reply.decode().splitlines() if line.startswith("data: ")]
        self.assertEqual(events[-1], "[DONE]")
        chunks = [json.loads(event) for event in events[:-1]]
        self.assertGreater(len(chunks), 1)
        self.assertTrue("".join(chunk["choices"][0]["delta"].get("content")
                        or "" for chunk in chunks if chunk["choices"]))


if __name__ == "__main__":
    unittest.main()
