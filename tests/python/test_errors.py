"""Which error a reply becomes."""

import pickle
import unittest
from datetime import datetime, timezone

from support import Script, assay, both, error
from assay.errors import error_of, error_of_event, retry_after_seconds

NOW = datetime(2026, 11, 2, 12, 0, 0, tzinfo=timezone.utc)


@both
class Classes:
    def test_each_status_has_its_class(self):
        expected = {400: assay.BadRequest, 401: assay.Unauthorized, 403: assay.Unauthorized, 404: assay.NotFound,
                    405: assay.BadRequest, 413: assay.TooLong, 415: assay.BadRequest, 422: assay.BadRequest,
                    429: assay.RateLimited, 500: assay.ServerError, 501: assay.ServerError, 502: assay.ServerError,
                    503: assay.Overloaded, 504: assay.DeadlineExceeded, 529: assay.Overloaded}
        for status, kind in expected.items():
            with self.assertRaises(assay.AssayError) as caught:
                self.run_with(Script(error(status)), lambda client: client.yes_no("s", "?"),
                              retry=assay.Retry(tries=1))
            self.assertIs(type(caught.exception), kind, status)
            self.assertEqual(caught.exception.status, status)

    def test_the_place_and_the_request_are_named(self):
        body = {"detail": [{"loc": ["body", "questions", "q", "choice", "criteria"], "msg": "too short", "type": "v"}],
                "error": {"code": 422, "message": "questions.q.choice.criteria: too short"},
                "x_code": "invalid_argument"}
        with self.assertRaises(assay.BadRequest) as caught:
            self.run_with(Script(error(422, body, x_request_id="r-7")), lambda client: client.yes_no("s", "?"))
        failure = caught.exception
        self.assertEqual((failure.status, failure.code, failure.field, failure.path, failure.request_id),
                         (422, "invalid_argument", "questions.q.choice.criteria", failure.field, "r-7"))
        self.assertEqual(str(failure), "questions.q.choice.criteria: too short (422, invalid_argument)")

    def test_a_redirect_is_no_answer(self):
        with self.assertRaises(assay.AssayError):
            self.run_with(Script(error(302, location="http://elsewhere.test/")), lambda client: client.yes_no("s", "?"))


class Bodies(unittest.TestCase):
    def facts(self, status, body):
        made = error_of(status, {}, body)
        return made.message, made.code, made.field

    def test_every_form_in_use_is_read(self):
        forms = [
            (b'{"error": "x is bad", "code": "invalid_argument", "field": "x"}', ("x is bad", "invalid_argument", "x")),
            (b'{"error": {"message": "m", "type": "t", "param": "p"}}', ("m", "t", "p")),
            (b'{"error": {"message": "m", "code": 401, "type": "authentication_error"}}',
             ("m", "authentication_error", None)),
            (b'{"detail": {"error_type": "api_usage_error", "message": "Unknown model"}}',
             ("Unknown model", "api_usage_error", None)),
            (b'{"detail": [{"loc": ["body", "state"], "msg": "missing", "type": "missing"},'
             b' {"loc": ["body", "questions", "a", 2], "msg": "bad", "type": "v"}]}',
             ("state: missing; questions.a.2: bad", "missing", "state")),
            (b'{"detail": "Not Found"}', ("Not Found", None, None)),
            (b'plain \xff text', ("plain \ufffd text", None, None)),
            (b'', ("HTTP status 400", None, None)),
            (b'[1]', ("[1]", None, None)),
        ]
        for body, expected in forms:
            self.assertEqual(self.facts(400, body), expected, body)

    def test_too_long_is_told_apart_whatever_the_status(self):
        self.assertIs(type(error_of(400, {}, b'{"error": "e", "code": "too_long"}')), assay.TooLong)
        self.assertIs(type(error_of(400, {}, b'{"detail": {"error_type": "tokens_exceeded", "message": "m"}}')),
                      assay.TooLong)

    def test_an_event_has_the_status_of_its_body(self):
        self.assertIs(type(error_of_event('{"error": {"code": 503, "message": "m"}}', {})), assay.Overloaded)
        self.assertIs(type(error_of_event('{"error": "m", "code": "deadline"}', {})), assay.DeadlineExceeded)
        self.assertIs(type(error_of_event('{"error": "m", "code": "unheard_of"}', {})), assay.ServerError)
        self.assertIs(type(error_of_event("nonsense", {})), assay.ServerError)

    def test_only_what_can_pass_is_worth_another_try(self):
        again = {status for status in range(400, 600) if error_of(status, {}, b"").retryable}
        self.assertEqual(again, {429, *range(500, 600)} - {501, 504})

    def test_an_error_passes_between_processes(self):
        made = pickle.loads(pickle.dumps(error_of(429, {"x-request-id": "r", "retry-after": "2"}, b'{"error": "e"}')))
        self.assertEqual((type(made), made.status, made.message, made.retry_after_seconds, made.request_id),
                         (assay.RateLimited, 429, "e", 2.0, "r"))


class RetryAfter(unittest.TestCase):
    def test_seconds_milliseconds_and_dates(self):
        for headers, expected in [
            ({"retry-after": "3"}, 3.0), ({"retry-after": "0"}, 0.0), ({"retry-after": "1.5"}, 1.5),
            ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
            ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
            ({"retry-after": "Mon, 02 Nov 2026 12:00:30 GMT"}, 30.0),
            ({"retry-after": "Mon, 02 Nov 2026 11:00:00 GMT"}, 0.0),
            ({"retry-after": "-1"}, None), ({"retry-after": "nan"}, None), ({"retry-after": "inf"}, None),
            ({"retry-after": "later"}, None), ({}, None),
        ]:
            self.assertEqual(retry_after_seconds(headers, NOW), expected, headers)


if __name__ == "__main__":
    unittest.main()
