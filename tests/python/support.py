"""What the tests of the Python client share: a pretended server, and both clients behind one way to call them."""

import asyncio
import inspect
import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# The package as it lies in the tree; wheel_test.py tests the installed one.
if os.environ.get("ASSAY_TEST_INSTALLED") != "1":
    sys.path.insert(0, os.path.join(ROOT, "python"))

import httpx  # noqa: E402

import assay  # noqa: E402

NOUL = {"type": "noul", "noul": 0.75}
CHOICE = {"type": "choice", "choice": "b", "probabilities": {"a": 0.25, "b": 0.75}, "confidence": 0.5}
SCORE = {"type": "score", "score": 1.25, "legend": {"0": "low", "1": "mid", "2": "high"},
         "probabilities": {"0": 0.25, "1": 0.25, "2": 0.5}, "confidence": 0.25}


def reply_body(answers, **more):
    return {"model": "m-1", "answers": answers, "usage": {"input_tokens": 7, "output_tokens": 0}, **more}


def reply(answers, headers=None, **more):
    return httpx.Response(200, json=reply_body(answers, **more), headers={"x-request-id": "r-1", **(headers or {})})


def answer_all(request, **more):
    """Every question of the request, each with the answer of its type."""
    by_type = {"noul": NOUL, "choice": CHOICE, "score": SCORE}
    return reply({name: by_type[question["type"]] for name, question in sent(request)["questions"].items()}, **more)


def sent(request):
    return json.loads(request.content)


def error(status, body=None, **headers):
    return httpx.Response(status, json={"error": "no"} if body is None else body,
                          headers={name.replace("_", "-"): value for name, value in headers.items()})


class Script:
    """A handler that gives these replies in turn, and notes the requests; an exception is raised."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.requests = []

    def __call__(self, request):
        self.requests.append(request)
        step = self.replies.pop(0)
        if isinstance(step, Exception):
            raise step
        return step(request) if callable(step) else step


class Sync:
    """A test class of this kind runs its cases with `Client`."""

    def setUp(self):
        self.waits = []

    def make(self, handler, **settings):
        client = assay.Client("http://assay.test", transport=httpx.MockTransport(handler), **settings)
        client._sleep = self.waits.append
        return client

    def run_with(self, handler, use, **settings):
        """The result of `use(client)`; what comes as a stream is a list."""
        with self.make(handler, **settings) as client:
            result = use(client)
            return list(result) if inspect.isgenerator(result) else result


class Async:
    """The same cases with `AsyncClient`."""

    def setUp(self):
        self.waits = []

    def make(self, handler, **settings):
        async def wait(seconds):
            self.waits.append(seconds)

        client = assay.AsyncClient("http://assay.test", transport=httpx.MockTransport(handler), **settings)
        client._sleep = wait
        return client

    def run_with(self, handler, use, **settings):
        async def go():
            async with self.make(handler, **settings) as client:
                result = use(client)
                if inspect.isasyncgen(result):
                    return [entry async for entry in result]
                return await result

        return asyncio.run(go())


def both(cases):
    """Makes two test classes out of one class of cases, which calls self.run_with(handler, use)."""
    module = sys.modules[cases.__module__]
    for kind in (Sync, Async):
        name = f"{cases.__name__}{kind.__name__}"
        made = type(name, (kind, cases, unittest.TestCase), {"__module__": cases.__module__})
        setattr(module, name, made)
    return cases
