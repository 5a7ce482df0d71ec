"""Server-sent events: the parser, and the clients on top of it."""

import itertools
import json
import random
import unittest

import httpx
from support import CHOICE, NOUL, Script, answer_all, assay, both, error, reply_body
from assay.sse import Event, EventParser

QUESTIONS = {"n": assay.YesNo("?"), "c": assay.Choice("?", ["a", "b"])}


def event(name, data):
    return f"event: {name}\ndata: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


NOUL_EVENT = event("answer", {"id": "n", "answer": NOUL})
CHOICE_EVENT = event("answer", {"id": "c", "answer": CHOICE})
DONE = event("done", reply_body({"n": NOUL, "c": CHOICE}))


class Cut(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body in these pieces; an exception in place of a piece is raised."""

    def __init__(self, *pieces):
        self.pieces = pieces
        self.closed = False

    def __iter__(self):
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    async def __aiter__(self):
        for piece in self:
            yield piece

    def close(self):
        self.closed = True

    async def aclose(self):
        self.closed = True


def events(*pieces, status=200):
    headers = {"content-type": "text/event-stream; charset=utf-8", "x-request-id": "r-2"}
    return httpx.Response(status, headers=headers, stream=Cut(*pieces))


class Parser(unittest.TestCase):
    def parse(self, data, size=None):
        parser = EventParser()
        pieces = [data] if size is None else [data[i:i + size] for i in range(0, len(data), size)]
        return list(itertools.chain.from_iterable(parser.feed(piece) for piece in pieces))

    def test_names_data_comments_and_unknown_fields(self):
        data = b": hello\nevent: answer\nid: 4\ndata: one\ndata:two\ndata\n\nretry: 9\n\nevent: lonely\n\ndata: x\n\n"
        self.assertEqual(self.parse(data), [Event("answer", "one\ntwo\n"), Event("message", "x")])

    def test_all_line_ends_and_all_cuts_are_the_same(self):
        lines = ["event: answer", 'data: {"é": "\u2028\x0b🎯"}', "", ": c", "event: done", "data: {}", ""]
        expected = [Event("answer", '{"é": "\u2028\x0b🎯"}'), Event("done", "{}")]
        for end in ("\n", "\r\n", "\r"):
            data = (end.join(lines) + end).encode()
            for size in (None, 1, 2, 3, 7):
                # A CR at the very end may be half of a CR LF; the next byte settles it.
                self.assertEqual(self.parse(data + b": end\n", size), expected, (end, size))

    def test_random_cuts(self):
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        data = (NOUL_EVENT + CHOICE_EVENT.replace(b"\n", b"\r\n") + DONE) * 3
        whole = self.parse(data)
        for _ in range(200):
            parser, rest, got = EventParser(), data, []
            while rest:
                size = chance.randint(1, 40)
                got += parser.feed(rest[:size])
                rest = rest[size:]
            self.assertEqual(got, whole, f"seed {seed}")

    def test_an_event_without_its_blank_line_is_not_told(self):
        self.assertEqual(self.parse(b"event: answer\ndata: {}\n"), [])


@both
class Streams:
    def stream(self, *steps, **settings):
        self.script = Script(*steps)
        return self.run_with(self.script, lambda client: client.stream("s", QUESTIONS), **settings)

    def test_answers_come_in_the_servers_order(self):
        out = self.stream(events(CHOICE_EVENT[:9], CHOICE_EVENT[9:] + NOUL_EVENT, DONE))
        self.assertEqual([name for name, _ in out], ["c", "n"])
        self.assertEqual((out[0][1].choice, out[1][1].probability), ("b", 0.75))
        self.assertEqual(self.script.requests[0].headers["accept"], "text/event-stream")

    def test_a_server_without_streams_is_fine(self):
        self.assertEqual([name for name, _ in self.stream(answer_all)], ["n", "c"])

    def test_a_status_is_an_error_as_ever(self):
        with self.assertRaises(assay.BadRequest):
            self.stream(error(422))

    def test_before_the_first_answer_it_is_tried_again(self):
        refused = events(event("error", {"error": {"code": 503, "message": "full"}, "x_code": "overloaded"}))
        for step in (error(503), httpx.ConnectError("refused"), refused, events(httpx.ReadError("cut"))):
            out = self.stream(step, events(NOUL_EVENT + CHOICE_EVENT + DONE))
            self.assertEqual([name for name, _ in out], ["n", "c"])
            self.assertEqual(len(self.script.requests), 2)

    def test_after_the_first_answer_it_is_not(self):
        late = event("error", {"error": {"code": 504, "message": "late"}, "x_code": "deadline"})
        for pieces, kind in (((NOUL_EVENT, late), assay.DeadlineExceeded),
                             ((NOUL_EVENT, httpx.ReadError("cut")), assay.ConnectionFailed),
                             ((NOUL_EVENT, CHOICE_EVENT), assay.ConnectionFailed)):
            with self.assertRaises(kind):
                self.stream(events(*pieces))
            self.assertEqual(len(self.script.requests), 1)

    def test_what_is_no_answer_is_told_as_such(self):
        for data in ("nonsense", '{"id": "n"}', '{"id": "n", "answer": {"type": "novel"}}', "[]"):
            with self.assertRaises(assay.InvalidReply):
                self.stream(events(event("answer", data)))


class Leaving(unittest.TestCase):
    def test_leaving_early_closes_the_reply(self):
        response = events(NOUL_EVENT, CHOICE_EVENT, DONE)
        pieces = response.stream
        with assay.Client("http://assay.test", transport=httpx.MockTransport(Script(response))) as client:
            for name, _ in client.stream("s", QUESTIONS):
                self.assertEqual(name, "n")
                break
            self.assertTrue(pieces.closed)


if __name__ == "__main__":
    unittest.main()
