#!/usr/bin/env python3
"""Chat through clients that people use before llama-server and SageMaker: LangChain, LiteLLM, Strands.

What a build without chat completions of text refuses is skipped, and only that.
"""

import asyncio
import json
import os
import unittest
import urllib.error
import urllib.request

import part

SERVERS = ("open",)

MESSAGES = [{"role": "user", "content": "Say hello."}]


# LiteLLM would fetch a list of prices when it is imported.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"


def chat_or_skip():
    """Asks the server itself whether it writes text."""
    body = json.dumps({"messages": MESSAGES, "max_tokens": 4}).encode()
    request = urllib.request.Request(part.url + "/v1/chat/completions", body, {"Content-Type": "application/json"})
    try:
        urllib.request.urlopen(request, timeout=part.REPLY_SECONDS).close()
    except urllib.error.HTTPError as error:
        said = error.read().decode()
        if error.code in (400, 404) and "x_decide" in said:
            raise unittest.SkipTest("this build serves no chat completions of text") from error
        raise


class Chat(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        chat_or_skip()


class OneDecision(unittest.TestCase):
    def test_a_chat_model_of_langchain_can_decide(self):
        from langchain_openai import ChatOpenAI

        model = ChatOpenAI(base_url=part.url + "/openai/v1", api_key="none", model="jev-latest", max_retries=0,
                           timeout=part.REPLY_SECONDS,
                           extra_body={"x_decide": True, "guided_choice": ["refund", "info"]})
        self.assertIn(model.invoke("I want my money back.").content, ("refund", "info"))


class LangChain(Chat):
    def model(self, **more):
        from langchain_openai import ChatOpenAI

        return ChatOpenAI(base_url=part.url + "/v1", api_key="none", model="any", max_tokens=8, temperature=0,
                          timeout=part.REPLY_SECONDS, max_retries=0, **more)

    def test_a_reply(self):
        self.assertTrue(self.model().invoke("Say hello.").content)

    def test_a_stream(self):
        pieces = [piece.content for piece in self.model().stream("Say hello.")]
        self.assertGreater(len(pieces), 1)
        self.assertTrue("".join(pieces))


class LiteLLM(Chat):
    def complete(self, **more):
        import litellm

        return litellm.completion(messages=MESSAGES, max_tokens=8, temperature=0, timeout=part.REPLY_SECONDS,
                                  num_retries=0, **more)

    def test_as_an_openai_server(self):
        reply = self.complete(model="openai/any", api_base=part.url + "/v1", api_key="none")
        self.assertTrue(reply.choices[0].message.content)
        self.assertGreater(reply.usage.prompt_tokens, 0)

    def test_a_stream(self):
        chunks = self.complete(model="openai/any", api_base=part.url + "/v1", api_key="none", stream=True)
        self.assertTrue("".join(chunk.choices[0].delta.content or "" for chunk in chunks))

    def test_as_a_sagemaker_endpoint(self):
        address = part.url + "/endpoints/chat/invocations"
        reply = self.complete(model="sagemaker_chat/chat", sagemaker_base_url=address, aws_region_name="us-east-1",
                              aws_access_key_id="AKIAEXAMPLE", aws_secret_access_key="none")
        self.assertTrue(reply.choices[0].message.content)


class Strands(Chat):
    def events_of(self, model):
        """Everything that a model streams for one message."""
        async def collect():
            messages = [{"role": "user", "content": [{"text": "Say hello."}]}]
            return [event async for event in model.stream(messages)]

        return asyncio.run(collect())

    def check(self, events):
        text = "".join(event["contentBlockDelta"]["delta"].get("text", "") for event in events
                       if "contentBlockDelta" in event)
        self.assertTrue(text)
        self.assertTrue(any("messageStop" in event for event in events))

    def test_the_llama_cpp_model(self):
        from strands.models.llamacpp import LlamaCppModel

        self.check(self.events_of(LlamaCppModel(base_url=part.url, model_id="default", timeout=part.REPLY_SECONDS,
                                                params={"max_tokens": 8, "temperature": 0})))

    def test_the_sagemaker_model(self):
        from strands.models.sagemaker import SageMakerAIModel

        os.environ.update(AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME=part.url, AWS_ACCESS_KEY_ID="AKIAEXAMPLE",
                          AWS_SECRET_ACCESS_KEY="none", AWS_DEFAULT_REGION="us-east-1")
        for stream in (True, False):
            model = SageMakerAIModel(endpoint_config={"endpoint_name": "chat", "region_name": "us-east-1"},
                                     payload_config={"max_tokens": 8, "temperature": 0, "stream": stream})
            with self.subTest(stream=stream):
                self.check(self.events_of(model))


if __name__ == "__main__":
    part.main()
