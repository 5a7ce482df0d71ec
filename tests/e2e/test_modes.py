"""The ways of running that llama-server has beside one model that is always there: asleep while idle, behind a prefix
of all paths."""

import json
import threading
import unittest

import harness

HELLO = [{"role": "user", "content": "Say hello."}]
BODY = {"decision": {"id": "q", "state": harness.TICKET, "question": harness.WANTED,
                     "options": [{"id": "refund", "description": "Wants money back"},
                                 {"id": "info", "description": "Asks how it works"}]}}


def metric(server, name):
    for line in server.get("/metrics").body.decode().splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    raise AssertionError(f"no {name}")


class SleepTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.default_server("--sleep-idle-seconds", "1", "--metrics", "-c", "2048")

    @classmethod
    def tearDownClass(cls):
        cls.code = cls.server.stop()

    def health(self):
        return self.server.get("/health").json()

    def fall_asleep(self):
        harness.wait_until(lambda: self.health().get("sleeping", False), "the server is asleep")

    def test_a_decision_wakes_it_and_has_the_same_bits(self):
        awake = self.server.decide(self, BODY)
        for _ in range(2):
            self.fall_asleep()
            woken = self.server.decide(self, BODY)
            self.assertEqual(woken["probabilities"], awake["probabilities"])
            self.assertEqual(woken["option_logits"], awake["option_logits"])

    def test_a_chat_wakes_it_and_a_decision_follows(self):
        awake = self.server.decide(self, BODY)
        self.fall_asleep()
        reply = self.server.post({"messages": HELLO, "max_tokens": 4}, "/v1/chat/completions")
        self.assertEqual(reply.status, 200, str(reply))
        self.assertEqual(self.server.decide(self, BODY)["option_logits"], awake["option_logits"])

    def test_asleep_it_is_well_and_says_that_it_sleeps(self):
        self.server.decide(self, BODY)
        self.assertGreater(metric(self.server, "assay_engine_cells"), 0)
        steps = metric(self.server, "assay_engine_steps_total")
        self.fall_asleep()
        health = self.health()  # looking does not wake it
        self.assertEqual((health["status"], health["sleeping"]), ("ok", True))
        self.assertEqual(self.server.get("/ping").status, 200)
        self.assertTrue(self.server.get("/props").json()["is_sleeping"])
        self.assertEqual(self.server.get("/v1/models").status, 200)
        self.assertEqual(metric(self.server, "assay_sleeping"), 1)
        self.assertEqual(metric(self.server, "assay_engine_cells"), 0)
        self.assertGreaterEqual(metric(self.server, "assay_engine_steps_total"), steps)
        self.assertTrue(self.health().get("sleeping"))

    def test_many_that_come_at_once_are_all_answered(self):
        alone = self.server.decide(self, BODY)
        self.fall_asleep()
        results, chats = [], []

        def decide():
            results.append(self.server.post(BODY))

        def chat():
            chats.append(self.server.post({"messages": HELLO, "max_tokens": 4, "stream": True}, "/v1/chat/completions"))

        threads = [threading.Thread(target=target) for target in [decide] * 6 + [chat] * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([reply.status for reply in results + chats], [200] * 8)
        for reply in results:
            self.assertEqual(reply.json()["result"]["option_logits"], alone["option_logits"])

    def test_asleep_it_ends_as_it_should(self):
        server = harness.default_server("--sleep-idle-seconds", "1", "-c", "1024")
        harness.wait_until(lambda: server.get("/health").json().get("sleeping", False), "the server is asleep")
        self.assertEqual(server.stop(), 0)


class PrefixTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.default_server("--api-prefix", "/some/where", "--api-key", "k", "-c", "1024")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def ask(self, method, path, body=None):
        return self.server.request(method, path, body, {"Authorization": "Bearer k", "Content-Type": "application/json"})

    def test_all_routes_stand_behind_it(self):
        self.assertEqual(self.server.get("/some/where/health").status, 200)  # without a key
        self.assertEqual(self.ask("GET", "/some/where/v1/models").status, 200)
        self.assertEqual(self.ask("GET", "/some/where/props").status, 200)
        self.assertEqual(self.ask("GET", "/some/where/openapi.json").status, 200)
        self.assertEqual(self.ask("POST", "/some/where/v1/decide", json.dumps(BODY)).status, 200)
        self.assertEqual(self.ask("POST", "/some/where/tokenize", '{"content": "a b"}').status, 200)
        chat = {"messages": HELLO, "max_tokens": 2}
        self.assertEqual(self.ask("POST", "/some/where/v1/chat/completions", json.dumps(chat)).status, 200)
        self.assertEqual(self.ask("POST", "/some/where/slots/0?action=erase", "{}").status, 501)

    def test_elsewhere_there_is_nothing(self):
        for path in ("/health", "/ping", "/v1/models", "/", "/some/wherever/health", "/some/where/some/where/health"):
            reply = self.ask("GET", path)
            self.assertEqual(reply.status, 404, f"{path} {reply}")
        reply = self.ask("POST", "/v1/decide", "{}")
        self.assertEqual(reply.status, 404)
        self.assertIn("/some/where", reply.json()["error"]["message"])

    def test_what_is_no_prefix_is_refused(self):
        result = harness.run("serve", harness.default_model(), "--api-prefix", "some/")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("--api-prefix", result.stderr)


if __name__ == "__main__":
    unittest.main()
