#!/usr/bin/env python3
"""AWS's Python client, with this server as its endpoint: invoke_endpoint, its stream, and its asynchronous form."""

import json
import unittest
import urllib.request

import boto3
import botocore
import botocore.config
import botocore.exceptions

import part

SERVERS = ("open",)

TICKET = "My card was charged twice for the same order and I want the second payment back."
SYSTEM_ONE = {"state": TICKET, "model": "jev-latest",
              "questions": {"wish": {"type": "choice", "instructions": "What does the customer want?",
                                     "criteria": {"refund": "Wants money back", "info": None}}}}
SEMIF = {"decision": {"id": "d1", "state": TICKET, "question": "What does the customer want?",
                      "options": [{"id": "refund", "description": "Wants money back"},
                                  {"id": "info", "description": "Asks a question"}]}}
JSON = {"ContentType": "application/json", "Accept": "application/json"}


def client(**more):
    """Signs with keys that nobody looks at, or not at all."""
    config = botocore.config.Config(read_timeout=part.REPLY_SECONDS, retries={"max_attempts": 1}, **more)
    return boto3.client("sagemaker-runtime", region_name="us-east-1", endpoint_url=part.url, config=config,
                        aws_access_key_id="AKIAEXAMPLE", aws_secret_access_key="none")


class Endpoint(unittest.TestCase):
    def setUp(self):
        self.client = client()
        self.addCleanup(self.client.close)

    def invoke(self, body, **more):
        return self.client.invoke_endpoint(EndpointName="decisions", Body=json.dumps(body), **{**JSON, **more})

    def test_a_decision(self):
        reply = self.invoke(SYSTEM_ONE, InferenceId="call-1")
        self.assertEqual(reply["ContentType"], "application/json")
        self.assertEqual(reply["InvokedProductionVariant"], "AllTraffic")
        self.assertEqual(json.load(reply["Body"])["answers"]["wish"]["choice"], "refund")

    def test_unsigned(self):
        unsigned = client(signature_version=botocore.UNSIGNED)
        self.addCleanup(unsigned.close)
        reply = unsigned.invoke_endpoint(EndpointName="decisions", Body=json.dumps(SEMIF), **JSON)
        self.assertEqual(json.load(reply["Body"])["result"]["option_ids"], ["refund", "info"])

    def test_without_a_content_type(self):
        reply = self.client.invoke_endpoint(EndpointName="decisions", Body=json.dumps(SEMIF))
        self.assertEqual(json.load(reply["Body"])["result"]["id"], "d1")

    def test_custom_attributes_come_back_and_choose_the_route(self):
        reply = self.invoke(SYSTEM_ONE, CustomAttributes="trace=1,route=/v1/systemone")
        self.assertEqual(reply["CustomAttributes"], "trace=1,route=/v1/systemone")

    def test_an_error_is_a_model_error(self):
        with self.assertRaises(self.client.exceptions.ModelError) as caught:
            self.invoke({"decision": {}})
        told = caught.exception.response
        self.assertEqual(told["ResponseMetadata"]["HTTPStatusCode"], 424)
        self.assertEqual(told["ResponseMetadata"]["RetryAttempts"], 0)
        self.assertEqual(told["OriginalStatusCode"], 400)
        self.assertIn("decision", told["OriginalMessage"])

    def test_json_lines(self):
        body = "\n".join([json.dumps(SEMIF), json.dumps(SYSTEM_ONE)]) + "\n"
        reply = self.client.invoke_endpoint(EndpointName="decisions", Body=body, ContentType="application/jsonlines")
        lines = [json.loads(line) for line in reply["Body"].read().decode().splitlines()]
        self.assertIn("result", lines[0])
        self.assertIn("answers", lines[1])

    def test_sessions_that_the_server_does_not_keep(self):
        with self.assertRaises(self.client.exceptions.ModelError) as caught:
            self.invoke(SYSTEM_ONE, SessionId="NEW_SESSION")
        self.assertEqual(caught.exception.response["OriginalStatusCode"], 400)

    def test_a_stream_of_answers(self):
        reply = self.client.invoke_endpoint_with_response_stream(
            EndpointName="decisions", Body=json.dumps(SYSTEM_ONE), ContentType="application/json",
            Accept="text/event-stream")
        self.assertEqual(reply["ContentType"], "text/event-stream")
        parts = [event["PayloadPart"]["Bytes"] for event in reply["Body"]]
        self.assertTrue(parts[0].startswith(b"event: answer\n"))
        self.assertTrue(parts[-1].startswith(b"event: done\n"))
        done = json.loads(parts[-1].split(b"data: ", 1)[1])
        plain = json.load(self.invoke(SYSTEM_ONE)["Body"])
        self.assertEqual(done["answers"], plain["answers"])

    def test_a_reply_in_one_part(self):
        reply = self.client.invoke_endpoint_with_response_stream(EndpointName="decisions", Body=json.dumps(SEMIF),
                                                                 ContentType="application/json")
        self.assertEqual(reply["ContentType"], "application/json")
        text = b"".join(event["PayloadPart"]["Bytes"] for event in reply["Body"])
        self.assertEqual(json.loads(text)["result"]["id"], "d1")

    def test_a_stream_that_cannot_begin(self):
        with self.assertRaises(self.client.exceptions.ModelError):
            self.client.invoke_endpoint_with_response_stream(EndpointName="decisions", Body="{}",
                                                             ContentType="application/json")

    def test_an_asynchronous_call(self):
        reply = self.client.invoke_endpoint_async(EndpointName="decisions", Body=json.dumps(SEMIF),
                                                  ContentType="application/json")
        self.assertEqual(reply["ResponseMetadata"]["HTTPStatusCode"], 202)
        self.assertTrue(reply["OutputLocation"].endswith("/" + reply["InferenceId"]))
        for _ in range(100_000):
            with urllib.request.urlopen(reply["OutputLocation"], timeout=part.REPLY_SECONDS) as later:
                if later.status == 200:
                    self.assertEqual(json.load(later)["result"]["id"], "d1")
                    return
        self.fail("it was never answered")

    def test_an_asynchronous_call_by_s3_is_refused(self):
        with self.assertRaises(botocore.exceptions.ClientError) as caught:
            self.client.invoke_endpoint_async(EndpointName="decisions", InputLocation="s3://bucket/key",
                                              ContentType="application/json")
        self.assertEqual(caught.exception.response["Error"]["Code"], "ValidationError")


if __name__ == "__main__":
    part.main()
