"""The same request has the same answer: again, beside others, after a restart (cases 40, 41, 50, T32)."""

import concurrent.futures
import unittest

import harness

PREFIX = "Shared handbook, page 1. Orders above 500 euros need a second signature. "


def requests_of_two_tenants(count):
    """Requests that share a long beginning and differ in what must not leak."""
    out = []
    for n in range(count):
        tenant = "north" if n % 2 == 0 else "south"
        state = PREFIX + f"Tenant {tenant}, order {n // 2}: {100 + 37 * n} euros, secret {tenant.upper()}-{n}."
        options = ["approve", "ask_for_signature", "refuse"]
        out.append(harness.body(options, "letters" if n % 4 < 2 else "text", state=state,
                                question="What happens with the order?", id=f"{tenant}-{n}"))
    return out


class SameBits(unittest.TestCase):
    def test_case_40_and_50_two_tenants_at_once_get_what_they_get_alone(self):
        server = harness.shared("default")
        asked = requests_of_two_tenants(16)
        alone = [harness.without_times(server.post(body)) for body in asked]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(server.post, asked * 4))
        for body, reply, before in zip(asked * 4, replies, alone * 4):
            self.assertEqual(reply.status, 200, str(reply))
            self.assertEqual(reply.json()["result"]["id"], body["decision"]["id"])
            self.assertEqual(harness.without_times(reply), before)

    def test_case_9_the_same_request_twice_has_the_same_bytes(self):
        server = harness.shared("default")
        for readout in ("letters", "text"):
            body = harness.body(["refund", "info", "cancel"], readout, explain=True, state="Unseen so far: " + readout)
            cold, warm = server.post(body), server.post(body)
            self.assertEqual(cold.status, 200, str(cold))
            self.assertEqual(harness.without_times(cold), harness.without_times(warm))

    def test_a_restart_changes_nothing(self):
        bodies = requests_of_two_tenants(4)
        bodies += [dict(body, x_explain=True) for body in bodies]
        before = [harness.without_times(harness.shared("default").post(body)) for body in bodies]
        again = harness.default_server()
        try:
            after = [harness.without_times(again.post(body)) for body in bodies]
        finally:
            code = again.stop()
        self.assertEqual(before, after)
        self.assertEqual(code, 0)

    def test_the_order_of_requests_does_not_matter(self):
        server = harness.shared("attention")
        asked = requests_of_two_tenants(16)
        forward = [harness.without_times(server.post(body)) for body in asked]
        backward = [harness.without_times(server.post(body)) for body in reversed(asked)]
        self.assertEqual(forward, backward[::-1])
