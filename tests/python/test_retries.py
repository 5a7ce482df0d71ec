"""When the client tries again, and how long it waits."""

import asyncio
import unittest

import httpx
from support import Async, NOUL, Script, answer_all, assay, both, error, reply
from assay.retries import Attempts

CONNECT = httpx.ConnectError("refused")
YES = {"q": NOUL}


def ask(client):
    return client.yes_no("s", "?")


@both
class Tries:
    def test_what_can_pass_is_tried_again(self):
        for step in (CONNECT, httpx.ReadTimeout("slow"), httpx.RemoteProtocolError("cut"), error(429), error(500),
                     error(502), error(503), error(529)):
            script = Script(step, answer_all)
            self.assertEqual(self.run_with(script, ask), 0.75, step)
            self.assertEqual(len(script.requests), 2)
            self.assertEqual(script.requests[0].content, script.requests[1].content)

    def test_what_cannot_pass_is_asked_once(self):
        for step in (error(400), error(401), error(403), error(404), error(405), error(413), error(415), error(422),
                     error(501), error(504), httpx.UnsupportedProtocol("ftp"), httpx.LocalProtocolError("ours")):
            script = Script(step)
            with self.assertRaises(assay.AssayError):
                self.run_with(script, ask)
            self.assertEqual((len(script.requests), self.waits), (1, []))

    def test_tries_are_counted(self):
        script = Script(*[error(503)] * 3)
        with self.assertRaises(assay.Overloaded):
            self.run_with(script, ask, retry=assay.Retry(tries=3))
        self.assertEqual((len(script.requests), len(self.waits)), (3, 2))

    def test_the_last_error_is_the_one_that_is_told(self):
        with self.assertRaises(assay.ConnectionFailed) as caught:
            self.run_with(Script(error(503), CONNECT), ask, retry=assay.Retry(tries=2))
        self.assertIs(caught.exception.__cause__, CONNECT)

    def test_the_server_says_how_long(self):
        self.run_with(Script(error(429, retry_after="3"), error(503, retry_after_ms="40"), answer_all), ask)
        self.assertTrue(3 <= self.waits[0] <= 3.3, self.waits)
        self.assertTrue(0.04 <= self.waits[1] <= 0.044, self.waits)

    def test_a_wait_beyond_the_limit_is_not_begun(self):
        script = Script(error(503, retry_after="3600"))
        with self.assertRaises(assay.Overloaded) as caught:
            self.run_with(script, ask)
        self.assertEqual((caught.exception.retry_after_seconds, self.waits), (3600, []))

    def test_a_wait_beyond_the_deadline_is_not_begun(self):
        with self.assertRaises(assay.RateLimited):
            self.run_with(Script(error(429, retry_after="2")), lambda client: client.yes_no("s", "?", timeout_ms=1000))
        self.assertEqual(self.waits, [])

    def test_each_try_is_told_what_is_left_of_the_deadline(self):
        script = Script(error(503, retry_after="0"), lambda request: reply(YES))
        self.run_with(script, lambda client: client.yes_no("s", "?", timeout_ms=60_000))
        first, second = (float(request.headers["x-timeout-ms"]) for request in script.requests)
        self.assertTrue(50_000 < second <= first <= 60_000, (first, second))


class Waits(unittest.TestCase):
    """The arithmetic, on a clock of its own."""

    def setUp(self):
        self.now = 100.0
        self.retry = assay.Retry(tries=10, total_seconds=20, wait_seconds=1, wait_seconds_max=4)

    def attempts(self, timeout_ms=None, chance=1.0):
        return Attempts(self.retry, timeout_ms, clock=lambda: self.now, chance=lambda: chance)

    def test_waits_double_up_to_the_longest(self):
        attempts = self.attempts()
        self.assertEqual([attempts.wait_after(assay.Overloaded("e")) for _ in range(5)], [1, 2, 4, 4, 4])

    def test_chance_takes_off_up_to_half(self):
        attempts = self.attempts(chance=0.0)
        self.assertEqual([attempts.wait_after(assay.Overloaded("e")) for _ in range(3)], [0.5, 1, 2])

    def test_the_total_is_bounded(self):
        attempts = self.attempts()
        self.now += 19.5
        with self.assertRaises(assay.Overloaded):
            attempts.wait_after(assay.Overloaded("e"))

    def test_the_deadline_counts_down_to_zero(self):
        attempts = self.attempts(timeout_ms=3000)
        self.assertEqual(attempts.seconds_left(), 3)
        self.now += 2.5
        self.assertEqual(attempts.seconds_left(), 0.5)
        with self.assertRaises(assay.Overloaded):
            attempts.wait_after(assay.Overloaded("e"))
        self.now += 9
        self.assertEqual(attempts.seconds_left(), 0)


class Cancelled(Async, unittest.TestCase):
    def test_a_cancelled_task_is_not_tried_again(self):
        seen = []

        async def never(request):
            seen.append(request)
            await asyncio.Event().wait()

        async def go():
            async with self.make(never) as client:
                task = asyncio.ensure_future(client.yes_no("s", "?"))
                while not seen:
                    await asyncio.sleep(0)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task

        asyncio.run(go())
        self.assertEqual(len(seen), 1)

    def test_a_deadline_without_a_reply_is_a_deadline(self):
        def late(request):
            raise httpx.ReadTimeout("slow")

        client = self.make(late)
        attempts = Attempts(assay.Retry(), 1000, clock=iter([0.0, 0.0, 5.0, 5.0]).__next__)
        with self.assertRaises(assay.DeadlineExceeded):
            asyncio.run(client._send(client._ask_request(b"{}", "application/json", attempts), attempts))


if __name__ == "__main__":
    unittest.main()
