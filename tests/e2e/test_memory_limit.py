"""What a container's memory limit changes: llama.cpp's prompt cache, 8 GiB by its own default, takes no more than half of what
is left, and pages of files that were read once count as free."""

import re
import subprocess
import unittest

import harness
import sagemaker

GIB = 1 << 30


def can_unshare():
    return subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


class MemoryLimitTest(unittest.TestCase):
    def setUp(self):
        if not can_unshare():
            self.skipTest("this machine lets nobody take its file system apart (unshare)")

    def command(self, files, *words):
        """The words in a file system where the cgroup's files are these."""
        writes = " && ".join(f"mkdir -p $(dirname {name}) && printf '{text}\\n' >{name}" for name, text in files.items())
        script = ("mount --make-rprivate / && mount -t tmpfs none /sys/fs/cgroup && "
                  f"(cd /sys/fs/cgroup && {writes}) && exec \"$@\"")
        return ["unshare", "-m", "sh", "-c", script, "sh", harness.BINARY, *words]

    def start(self, files, *words, **more):
        server = harness.Server.__new__(harness.Server)
        folder = sagemaker.tiny_folder("limit")
        server._begin(self.command(files, "sagemaker", "serve", *words),
                      sagemaker.variables_of(folder, {"LLAMA_ARG_LOG_VERBOSITY": "5", **more}))
        self.addCleanup(server.stop)
        server._settle()
        return server

    def cache_mib(self, server):
        """As llama.cpp says it."""
        text = "".join(server.log)
        if "prompt cache is disabled" in text:
            return 0
        return int(re.search(r"prompt cache is enabled, size limit: (\d+) MiB", text).group(1))

    def test_the_prompt_cache_takes_half_of_what_is_left(self):
        for files in ({"memory.max": GIB, "memory.current": 0},
                      {"memory/memory.limit_in_bytes": GIB, "memory/memory.usage_in_bytes": 0}):
            server = self.start(files)
            numbers = re.search(r"need about (\d+) MiB, and (\d+) MiB are free", "".join(server.log))
            needed, free = int(numbers.group(1)), int(numbers.group(2))
            self.assertEqual(free, 1024)
            self.assertAlmostEqual(self.cache_mib(server), (free - needed) / 2, delta=1)
            self.assertIn("--cache-ram", "".join(server.log))
            self.assertEqual(server.stop(), 0)

    def test_what_somebody_has_said_stays(self):
        for more in ({"SM_LLAMA_CPP_CACHE_RAM": "8192"}, {"LLAMA_ARG_CACHE_RAM": "8192"}):
            self.assertEqual(self.cache_mib(self.start({"memory.max": GIB}, **more)), 8192, more)

    def test_where_nearly_nothing_is_left_nothing_is_kept(self):
        tight = self.start({"memory.max": GIB})
        needed = int(re.search(r"need about (\d+) MiB", "".join(tight.log)).group(1)) << 20
        self.assertEqual(self.cache_mib(self.start({"memory.max": needed + (20 << 20)})), 0)

    def test_pages_of_files_are_free(self):
        used = {"memory.max": GIB, "memory.current": GIB - 4096}
        server = self.start({**used, "memory.stat": f"anon 4096\\ninactive_file {GIB // 2}\\nactive_file {GIB // 4}"})
        self.assertEqual(server.get("/ping").status, 200)
        refused = subprocess.run(self.command(used, "serve", *harness.tiny_flags(), "--port", "0"), env=harness.environment(),
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("MiB", sagemaker.last_line(refused.stderr))


if __name__ == "__main__":
    unittest.main()
