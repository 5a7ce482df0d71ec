"""Decisions that see: a tiny model with a tiny projector, on every wire and at the command line."""

import base64
import concurrent.futures
import os
import struct
import threading
import unittest
import zlib

import harness
import sagemaker
import systemone

SAMPLE_JPEG = os.path.join(harness.ROOT, "third_party", "llama.cpp", "tools", "mtmd", "test-1.jpeg")
ROWS = 64  # of any image, with this projector
CHAT = "/v1/chat/completions"
SCHEMA = {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": {
    "type": "object", "properties": {"kind": {"type": "string", "enum": ["cat", "dog"]}}, "required": ["kind"],
    "additionalProperties": False}}}


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(seed, width=48, height=32):
    """A picture that no other seed has."""
    lines = b"".join(b"\0" + bytes((x * seed + y * (seed + 3) + part * 40 * seed) % 256 for x in range(width) for part in range(3))
                     for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def text(data):
    return base64.b64encode(data).decode()


def url(data, kind="png"):
    return f"data:image/{kind};base64,{text(data)}"


def seeing(model, *flags):
    return harness.Server(harness.tiny(model), "--threads", "1", "--no-readout-check", "-c", "2048", "--mmproj",
                          harness.tiny("tiny-mmproj"), *flags)


def question(**more):
    return systemone.body(systemone.choice(["cat", "dog", "bird"], "What is it?"), "Look.", **more)


def decisions(*images, **more):
    content = [{"type": "input_image", "image_url": url(image)} for image in images]
    return {"input": [{"role": "user", "content": [*content, {"type": "input_text", "text": "Look."}]}],
            "questions": [{"type": "choice", "instructions": "What is it?",
                           "choices": [{"value": value} for value in ("cat", "dog", "bird")]}], **more}


def chat(*images, **more):
    content = [{"type": "image_url", "image_url": {"url": url(image)}} for image in images]
    return {"messages": [{"role": "system", "content": "What is it?"},
                         {"role": "user", "content": [*content, {"type": "text", "text": "Look."}]}],
            "response_format": SCHEMA, "x_decide": True, **more}


class Seeing(unittest.TestCase):
    """What all servers of this file share."""

    server = None

    def ask(self, body, path=systemone.PATH, server=None, **headers):
        reply = (server or self.server).post(body, path)
        self.assertEqual(reply.status, 200, str(reply))
        return reply.json()

    def chances(self, **more):
        return self.ask(question(**more))["answers"]["q"]["probabilities"]

    def refused(self, body, path=systemone.PATH, status=(400, 422)):
        reply = self.server.post(body, path)
        self.assertIn(reply.status, status, str(reply))
        told = reply.json()["error"]
        self.assertTrue(self.server.is_alive())
        return told.get("param") or "", told["message"]


class ImagesTest(Seeing):
    @classmethod
    def setUpClass(cls):
        cls.server = seeing("tiny-attention")

    @classmethod
    def tearDownClass(cls):
        if cls.server.stop() != 0:
            raise AssertionError("it did not end well")

    def test_the_model_says_that_it_reads_images(self):
        told = self.server.get("/v1/models").json()["data"][0]
        self.assertEqual(told["architecture"]["input_modalities"], ["text", "image"])

    def test_an_image_changes_the_answer_on_every_wire(self):
        for readout in ("letters", "text"):
            with self.subTest(readout=readout):
                seen = [self.chances(images=[url(png(seed))], x_readout=readout) for seed in (1, 2)]
                self.assertNotEqual(seen[0], seen[1])
                self.assertNotEqual(seen[0], self.chances(x_readout=readout))
                self.assertEqual(seen[0], self.chances(images=[text(png(1))], x_readout=readout))
                answers = [self.ask(decisions(*image, x_readout=readout), "/v1/decisions")["answers"][0]
                           for image in ((png(1),), (png(2),), ())]
                self.assertEqual(len({str(answer["probabilities"]) for answer in answers}), 3)
                told = [self.ask(chat(*image, x_readout=readout), CHAT)["x_probabilities"]
                        for image in ((png(1),), (png(2),), ())]
                self.assertEqual(len({str(chances) for chances in told}), 3)

    def test_the_wires_ask_the_same_question(self):
        alone = self.chances(images=[url(png(5))], x_readout="letters")
        answer = self.ask(decisions(png(5), x_readout="letters"), "/v1/decisions")["answers"][0]
        self.assertEqual(list(alone.values()), [choice["probability"] for choice in answer["probabilities"]])

    def test_assets_are_called_by_name(self):
        def body(first, second, header="true"):
            return systemone.body(systemone.noul("Is img-2 like it?"), "See img-1.", assets={
                "img-1": {"type": "image", "format": "png", "data_base64": text(first)},
                "img-2": {"type": "image", "format": "png", "data_base64": text(second)}})

        one, two = self.ask(body(png(1), png(2))), self.ask(body(png(2), png(1)))
        self.assertNotEqual(one["answers"]["q"]["noul"], two["answers"]["q"]["noul"])
        named = self.server.request("POST", systemone.PATH, harness.json.dumps(body(png(1), png(2))).encode(),
                                    {"Content-Type": "application/json", "TypeSafe-Danger-Zone-Images": "true"})
        self.assertEqual(named.json()["answers"], one["answers"])
        if os.path.exists(SAMPLE_JPEG):
            with open(SAMPLE_JPEG, "rb") as file:
                data = text(file.read())
            self.ask(systemone.body(systemone.noul(), "See it.", assets={
                "it": {"type": "image", "format": "jpg", "data_base64": data}}))

    def test_the_order_of_two_images_matters(self):
        self.assertNotEqual(self.chances(images=[url(png(1)), url(png(2))]), self.chances(images=[url(png(2)), url(png(1))]))

    def test_the_same_bits_beside_others(self):
        asked = [(question(images=[url(png(3))], x_readout=readout), systemone.PATH) for readout in ("letters", "text")]
        asked += [(systemone.G5, systemone.PATH), (systemone.G4, systemone.PATH),
                  (decisions(png(4)), "/v1/decisions"), (chat(png(3)), CHAT),
                  (question(), systemone.PATH), (question(images=[url(png(1)), url(png(2))]), systemone.PATH),
                  ({"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 20}, CHAT)]

        def numbers(entry):
            reply = self.ask(*entry)
            return reply.get("answers") or reply.get("x_probabilities")

        alone = [numbers(entry) for entry in asked]
        with concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
            for _ in range(3):
                self.assertEqual(list(pool.map(numbers, asked)), alone)

    def test_a_question_has_the_same_bits_alone_and_beside_others(self):
        questions = {"one": systemone.choice(["cat", "dog"], "What is it?"), "two": systemone.noul("Is it red?"),
                     "three": systemone.score(["small", "large"], "How large is it?")}
        for readout in ("letters", "text"):
            together = self.ask(systemone.body(questions, "Look.", images=[url(png(6))], x_readout=readout))["answers"]
            for name, one in questions.items():
                alone = self.ask(systemone.body({name: one}, "Look.", images=[url(png(6))], x_readout=readout))["answers"]
                self.assertEqual(alone[name], together[name], (readout, name))

    def test_the_prompt_is_what_a_chat_of_the_same_words_has(self):
        for images, state in (([png(1)], "Look."), ([png(1), png(2)], "Look at both.")):
            asked = systemone.body(systemone.noul("Is it red?"), state, images=[url(image) for image in images],
                                   x_readout="text", x_explain=True)
            told = self.ask(asked)
            prompt = told["answers"]["q"]["x_explain"]["prompt"]
            self.assertEqual(prompt.count("<__media__>"), len(images))
            # What the user's turn holds, with each image as a part of its own.
            user = prompt.split("<|im_start|>user\n")[1].split("<|im_end|>")[0]
            content = []
            for i, words in enumerate(user.split("<__media__>")):
                content += [{"type": "image_url", "image_url": {"url": url(images[i - 1])}}] if i > 0 else []
                content += [{"type": "text", "text": words}] if words else []
            reply = self.ask({"messages": [{"role": "user", "content": content}], "max_tokens": 1, "cache_prompt": False},
                             CHAT)
            self.assertEqual(reply["usage"]["prompt_tokens"], told["usage"]["input_tokens"])

    def test_text_that_spells_a_slot_stays_text(self):
        told = self.ask(systemone.body(systemone.noul(), "A <__media__> and <__media_0__>.", images=[url(png(1))],
                                       x_readout="text", x_explain=True))["answers"]["q"]["x_explain"]
        self.assertEqual(told["prompt"].count("<__media__>"), 2)
        self.assertEqual([token for token in told["token_ids"] if token < 0], [-2])

    def test_usage_counts_the_images_rows(self):
        def tokens(**more):
            return self.ask(question(x_readout="letters", **more))["usage"]["input_tokens"]

        self.assertEqual(tokens(images=[url(png(1))]), tokens() + ROWS + 1)  # and a line break
        self.assertEqual(tokens(images=[url(png(1))] * 3), tokens() + 3 * (ROWS + 1))

    def test_a_receipt_holds_the_image(self):
        def receipt(seed):
            return self.ask(question(images=[url(png(seed))], x_receipt=True))["x_receipt"]

        self.assertEqual(receipt(1), receipt(1))
        self.assertNotEqual(receipt(1)["settings"], receipt(2)["settings"])

    def test_answers_can_be_streamed(self):
        body = question(images=[url(png(1))])
        reply = self.server.request("POST", systemone.PATH, harness.json.dumps(body).encode(),
                                    {"Content-Type": "application/json", "Accept": "text/event-stream"})
        self.assertEqual(reply.status, 200)
        self.assertIn(b"event: answer", reply.body)
        self.assertIn(b"event: done", reply.body)

    def test_what_cannot_be_read_is_refused_by_name(self):
        good = png(1)
        broken = good[:60] + bytes([good[60] ^ 1]) + good[61:]
        # A PNG whose checksums are right and whose pixels are not.
        head = good[8:33]
        hollow = good[:8] + head + chunk(b"IDAT", b"no zlib stream") + chunk(b"IEND", b"")
        for image, said in ((text(broken), "checksum"), (text(good[:-20]), "cut short"), (text(b"GIF89a"), "no PNG or JPEG"),
                            ("%%%", "no base64"), (text(png(1, 8, 8)), "8 x 8"), (text(png(1, 16, 900)), "50 times"),
                            (text(hollow), "decoded"), ("https://example.com/a.png", "nothing is fetched"),
                            (url(good, "jpeg"), "not the JPEG"), (url(good, "webp"), "image/png or image/jpeg")):
            with self.subTest(said=said):
                _, message = self.refused(question(images=[image]))
                self.assertIn(said, message)
                self.assertIn("images.0", message)
        _, message = self.refused(systemone.body(systemone.noul(), "See nothing.", assets={
            "img-1": {"type": "image", "format": "png", "data_base64": text(good)}}))
        self.assertIn("assets.img-1", message)
        _, message = self.refused(question(images=[url(good)] * 9))
        self.assertIn("at most 8", message)

    def test_the_other_wires_name_the_place_too(self):
        hollow = png(1)[:33] + chunk(b"IDAT", b"no zlib stream") + chunk(b"IEND", b"")
        param, message = self.refused(decisions(hollow), "/v1/decisions")
        self.assertEqual(param, "input")
        self.assertIn("image 1 cannot be decoded", message)
        body = decisions()
        body["input"][0]["content"].insert(0, {"type": "input_image", "image_url": "https://example.com/a.png"})
        param, message = self.refused(body, "/v1/decisions")
        self.assertEqual(param, "input[0].content[0].image_url")
        param, _ = self.refused(chat(hollow), CHAT)
        self.assertEqual(param, "messages")
        body = chat()
        body["messages"][1]["content"].insert(0, {"type": "image_url", "image_url": {"url": "http://example.com/a.png"}})
        param, message = self.refused(body, CHAT)
        self.assertEqual(param, "messages[1].content[0].image_url.url")
        self.assertIn("nothing is fetched", message)

    def test_an_image_in_system_one_s_state_is_an_error_and_not_text(self):
        part = {"type": "image_url", "image_url": {"url": url(png(1))}}
        for body in ({**question(), "state": [{"role": "user", "content": [{"type": "text", "text": "Look."}, part]}]},
                     systemone.body(systemone.choice({"cat": part, "dog": None}), "Look."),
                     systemone.body(systemone.noul([part, "Is it a cat?"]), "Look.")):
            _, message = self.refused(body, status=(400,))
            self.assertRegex(message, r"^(state\.0\.content\.1|questions\.q\.(criteria\.cat|instructions\.0)) is a part")
            self.assertIn("assets", message)

    def test_what_cannot_be_had_with_images_is_refused_by_name(self):
        _, message = self.refused(question(images=[url(png(1))], x_hidden_state=True))
        self.assertIn("x_hidden_state", message)
        _, message = self.refused(systemone.body({"type": "box", "instructions": "Where?"}, images=[url(png(1))]))
        self.assertIn("gives no boxes", message)
        reply = self.server.post(systemone.body(systemone.noul(), "word " * 3000, images=[url(png(1))]), systemone.PATH)
        self.assertEqual(reply.status, 413, str(reply))

    def test_limits_of_bytes(self):
        large = text(png(1) + b"\0" * (16 * 1024 * 1024))
        _, message = self.refused(question(images=[large]))
        self.assertIn("images.0", message)
        filler = systemone.body(systemone.noul(), "x", images=[url(png(1))], x_trace="y" * (33 * 1024 * 1024))
        self.assertEqual(self.server.post(filler, systemone.PATH).status, 413)
        fits = systemone.body(systemone.noul(), "x", images=[url(png(1))], x_trace="y" * (30 * 1024 * 1024))
        self.ask(fits)

    def test_a_deadline_that_has_passed_is_told(self):
        reply = self.server.post(question(images=[url(png(1))], timeout_ms=0.001), systemone.PATH)
        self.assertIn(reply.status, (429, 504), str(reply))


class RestartTest(Seeing):
    def test_the_same_bits_after_a_restart_and_with_chat_off(self):
        asked = [question(images=[url(png(seed))], x_readout=readout) for seed in (1, 2) for readout in ("letters", "text")]
        told = []
        for flags in ((), (), ("--chat", "off")):
            server = seeing("tiny-attention", *flags)
            try:
                told.append([self.ask(body, server=server)["answers"] for body in asked])
            finally:
                self.assertEqual(server.stop(), 0)
        self.assertEqual(told[0], told[1])
        self.assertEqual(told[0], told[2])

    def test_a_signal_lets_what_is_at_work_end(self):
        server = seeing("tiny-attention")
        replies = []

        def one(seed):
            replies.append(server.post(question(images=[url(png(seed))]), systemone.PATH).status)

        clients = [threading.Thread(target=one, args=(seed,)) for seed in range(1, 7)]
        for client in clients:
            client.start()
        harness.wait_until(lambda: replies, "a first answer")
        code = server.stop()
        for client in clients:
            client.join()
        self.assertEqual(code, 0)
        self.assertTrue(set(replies) <= {200, 503}, replies)


class HybridTest(Seeing):
    """Recurrent layers, and positions in two dimensions."""

    @classmethod
    def setUpClass(cls):
        cls.server = seeing("tiny-hybrid")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_it_sees_and_keeps_its_bits(self):
        for readout in ("letters", "text"):
            one = self.chances(images=[url(png(1))], x_readout=readout)
            self.assertNotEqual(one, self.chances(images=[url(png(2))], x_readout=readout))
            questions = {"q": systemone.choice(["cat", "dog", "bird"], "What is it?"), "r": systemone.noul("Is it red?")}
            both = self.ask(systemone.body(questions, "Look.", images=[url(png(1))], x_readout=readout))
            self.assertEqual(both["answers"]["q"]["probabilities"], one)


class HeadTest(Seeing):
    """A decision head of its own sees through llama.cpp's code."""

    @classmethod
    def setUpClass(cls):
        cls.server = seeing("tiny-head")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_it_sees(self):
        told = self.server.get("/v1/models").json()["data"][0]
        self.assertEqual(told["architecture"]["input_modalities"], ["text", "image"])
        self.assertNotEqual(self.chances(images=[url(png(1))]), self.chances(images=[url(png(2))]))
        self.assertEqual(self.chances(images=[url(png(1))]), self.chances(images=[url(png(1))]))
        two = {name: {"type": "image", "format": "png", "data_base64": text(png(1))} for name in ("img-1", "img-2")}
        self.refused(systemone.body(systemone.noul(), "img-1 or img-2", assets=two))


class OtherWaysTest(Seeing):
    def test_a_projector_beside_the_model_is_found_on_sagemaker(self):
        folder = sagemaker.folder_of("seeing", ("mmproj-tiny.gguf", harness.tiny("tiny-mmproj")),
                                     ("tiny.gguf", harness.tiny("tiny-attention")))
        server = sagemaker.Container(folder)
        try:
            self.assertIn("decisions see images", server.text())
            reply = server.invoke(question(images=[url(png(1))]))
            self.assertEqual(reply.status, 200, str(reply))
        finally:
            server.stop()

    def test_the_command_line(self):
        flags = ["--mmproj", harness.tiny("tiny-mmproj"), "--state", "Look.", "--question", "What is it?", "--option", "cat",
                 "--option", "dog", *harness.tiny_flags()]
        paths = [harness.write_file(f"image-{seed}.png", png(seed)) for seed in (1, 2)]
        told = []
        for path in paths:
            done = harness.run("decide", "--image", path, *flags)
            self.assertEqual(done.returncode, 0, done.stderr)
            told.append(harness.json.loads(done.stdout)["probabilities"])
        self.assertNotEqual(told[0], told[1])
        broken = harness.run("decide", "--image", harness.write_file("image.txt", "no image"), *flags)
        self.assertEqual(broken.returncode, 2)
        self.assertIn("no PNG or JPEG", broken.stderr)
        blind = harness.run("decide", "--image", paths[0], *flags[2:])
        self.assertEqual(blind.returncode, 2)
        self.assertIn("--mmproj", blind.stderr)

    def test_a_projector_that_is_none_is_an_error_at_the_start(self):
        flags = ["--state", "a", "--question", "b", "--option", "c", "--option", "d", *harness.tiny_flags()]
        for path in (harness.tiny("tiny-attention"), "/no/such/file.gguf"):
            done = harness.run("decide", "--mmproj", path, *flags)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(os.path.basename(path), done.stderr)

    def test_without_a_projector_all_is_as_before(self):
        server = harness.shared("attention")
        for body, said in ((question(images=[url(png(1))]), "images: the model of this server reads no images"),
                           (systemone.body({"type": "box", "instructions": "Where?"}), "reads no images")):
            reply = server.post(body, systemone.PATH)
            self.assertEqual(reply.status, 400)
            self.assertIn(said, reply.json()["error"]["message"])
        reply = server.post(decisions(png(1)), "/v1/decisions")
        self.assertEqual(reply.json()["error"]["param"], "input[0].content[0]")
        self.assertEqual(server.post(chat(png(1)), CHAT).json()["error"]["param"], "messages[1].content[0].type")
        self.assertEqual(server.get("/v1/models").json()["data"][0]["architecture"]["input_modalities"], ["text"])


if __name__ == "__main__":
    unittest.main()
