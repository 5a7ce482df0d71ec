"""The numbers themselves: exact, complete, in order, whatever the options look like (field cases 1 to 19)."""

import math
import unittest

import harness
import systemone

REVIEW = ["yes", "yes, but only after a manual review"]
ACCESS = ["access_denied", "access_expired", "access_revoked", "Maybe, zxqv glorp 9917"]
DENIED = "Log: the badge 7731 was refused at the gate because its owner has no right to enter this building."


# What stands beside an option must not matter. For a model with unquantised weights it does not, but for the order of
# sums; the default model rounds activations to 8 bits, which makes some hundredths out of such a difference.
# Few options are computed in short decodes and many in full ones: other sums, of half precision in the short ones.
TOLERANCE = 0.02


def explained(result):
    return {entry["id"]: entry for entry in result["x_explain"]["options"]}


def by_lead(entry):
    """The tokens of an explained option, a list for each thing that was said before it."""
    groups = {}
    for token in entry["tokens"]:
        groups.setdefault(token.get("lead", ""), []).append(token)
    return groups


def mean_of_sums(entry, key):
    sums = [math.fsum(token[key] for token in tokens) for tokens in by_lead(entry).values()]
    return math.fsum(sums) / len(sums)


def check_same_scores(test, one, other):
    """Two explained options with the same words."""
    test.assertEqual([t["token"] for t in one["tokens"]], [t["token"] for t in other["tokens"]])
    for token, again in zip(one["tokens"], other["tokens"]):
        test.assertAlmostEqual(token["log_prob"], again["log_prob"], delta=TOLERANCE)
        test.assertAlmostEqual(token["prior_log_prob"], again["prior_log_prob"], delta=TOLERANCE)


class Exact(unittest.TestCase):
    def setUp(self):
        self.server = harness.shared("default")

    def ask(self, options, readout="text", **more):
        return self.server.decide(self, harness.body(options, readout, explain=True, **more))

    def test_case_1_and_3_an_unlikely_option_has_its_exact_value(self):
        asked = {"state": DENIED, "question": "Why was access refused?"}
        options = explained(self.ask(ACCESS, **asked))
        self.assertLess(options[ACCESS[3]]["log_prob"], -20)
        self.assertEqual(len({entry["log_prob"] for entry in options.values()}), 4)

    def test_case_1_an_option_scores_the_same_whatever_stands_beside_it(self):
        server = harness.shared("attention")
        forward, backward, alone = (
            explained(server.decide(self, harness.body(options, "text", explain=True)))
            for options in (ACCESS, ACCESS[::-1], ACCESS[3:]))
        for name in ACCESS:
            check_same_scores(self, forward[name], backward[name])
        check_same_scores(self, forward[ACCESS[3]], alone[ACCESS[3]])

    def test_case_2_options_with_a_common_beginning_are_told_apart(self):
        result = self.ask(ACCESS, state=DENIED, question="Why was access refused?")
        options = explained(result)
        first = {options[name]["tokens"][0]["token"] for name in ACCESS[:3]}
        self.assertEqual(len(first), 1, "the three begin with the same token")
        self.assertEqual(len(set(result["probabilities"])), 4)
        order = sorted(range(4), key=lambda i: result["option_logits"][i])
        self.assertEqual(order, sorted(range(4), key=lambda i: result["probabilities"][i]))

    def test_case_6_scores_are_what_they_say(self):
        for readout in ("text", "letters"):
            result = self.ask(ACCESS, readout)
            for logit, entry in zip(result["option_logits"], result["x_explain"]["options"]):
                total = mean_of_sums(entry, "log_prob")  # of sums, never divided by the number of tokens
                prior = mean_of_sums(entry, "prior_log_prob")
                self.assertAlmostEqual(entry["log_prob"], total, delta=1e-9)
                self.assertAlmostEqual(entry["prior_log_prob"], prior, delta=1e-9)
                if readout == "text":
                    self.assertAlmostEqual(logit, total - prior, delta=1e-9)
                else:
                    self.assertEqual((len(entry["tokens"]), prior), (1, 0))
            top = max(result["option_logits"])
            weights = [math.exp(logit - top) for logit in result["option_logits"]]
            for weight, probability in zip(weights, result["probabilities"]):
                self.assertAlmostEqual(weight / math.fsum(weights), probability, delta=1e-12)

    def test_letters_report_the_mass_on_the_labels(self):
        result = self.ask(["refund", "info", "cancel"], "letters")
        mass = math.fsum(math.exp(entry["log_prob"]) for entry in result["x_explain"]["options"])
        self.assertAlmostEqual(result["allowed_token_mass"], mass, delta=1e-9)
        self.assertEqual([entry["scored_text"] for entry in result["x_explain"]["options"]], ["A", "B", "C"])
        self.assertEqual(result["answer_token_ids"],
                         [entry["tokens"][0]["token"] for entry in result["x_explain"]["options"]])

    def test_case_10_a_longer_option_is_not_preferred_for_its_length(self):
        question = "May the order be shipped?"
        plain = self.ask(REVIEW, state="The order is paid and in stock. Yes.", question=question)
        review = self.ask(REVIEW, state="The order must be reviewed by hand before it is shipped.", question=question)
        self.assertLess(plain["probabilities"][1], review["probabilities"][1])
        for entry in plain["x_explain"]["options"]:
            self.assertAlmostEqual(entry["log_prob"], mean_of_sums(entry, "log_prob"), delta=1e-9)

    def test_case_10_where_nothing_is_said_no_length_is_preferred(self):
        # An option's score is measured against what the two empty states make of it, so over these two it is nothing,
        # of one word as of forty. Without that, or divided by the length, one end of the lengths would be preferred.
        words = "the payment is sent back to the card that was charged once it has been looked at by hand".split()
        options = [(str(n), " ".join((words * 3)[:n])) for n in (1, 2, 4, 8, 16, 40)]
        server = harness.shared("attention")
        sums = [0.0] * len(options)
        for state in ("N/A", ""):
            asked = systemone.body(systemone.choice(dict(options), "What happens?"), state, x_readout="text",
                                   x_explain=True)
            reply = server.post(asked, systemone.PATH)
            self.assertEqual(reply.status, 200, str(reply))
            entries = reply.json()["answers"]["q"]["x_explain"]["options"]
            lengths = [len(entry["tokens"]) for entry in entries]
            self.assertEqual(lengths, sorted(lengths))
            for i, entry in enumerate(entries):
                sums[i] += entry["log_prob"] - entry["prior_log_prob"]
        for total in sums:
            self.assertAlmostEqual(total, 0, delta=TOLERANCE)

    def test_case_10_an_option_that_begins_another_is_scored_with_its_end(self):
        short, long = self.ask(REVIEW, state="The order is paid, in stock and cleared.")["x_explain"]["options"]
        self.assertEqual(list(by_lead(short)), list(by_lead(long)))
        for one, other in zip(by_lead(short).values(), by_lead(long).values()):
            words = [token["token"] for token in one[:-1]]
            self.assertEqual(words, [token["token"] for token in other[:len(words)]])
            self.assertNotEqual(one[-1]["token"], other[len(words)]["token"])

    def test_case_13_the_choice_is_the_most_probable_and_ties_go_to_the_first(self):
        for state in ("I want my money back.", "How do I change the colour?", "Close my account now."):
            result = self.ask([("a", "a refund"), ("b", "information"), ("c", "cancellation")], state=state)
            self.assertEqual(max(result["probabilities"]), result["probabilities"][
                result["option_logits"].index(max(result["option_logits"]))])
        same = self.ask([("first", "a refund"), ("second", "a refund")])
        self.assertEqual(same["probabilities"], [0.5, 0.5])

    def test_case_36_every_spelling_of_yes_and_no_is_the_same_question(self):
        asked = {"state": "The parcel came on Monday.", "question": "Did it come?"}
        first = self.ask(["yes", "no"], **asked)["probabilities"]
        for yes, no in (("Yes", "No"), ("YES", "NO"), ("yEs", "nO"), ("true", "false"), ("True", "FALSE")):
            result = self.ask([yes, no], **asked)
            self.assertEqual([entry["scored_text"] for entry in result["x_explain"]["options"]], ["Yes", "No"])
            self.assertEqual(result["probabilities"], first, yes)
            turned = self.ask([no, yes], **asked)["x_explain"]["options"]
            self.assertEqual([entry["scored_text"] for entry in turned], ["No", "Yes"])

    def test_case_22_yes_and_true_are_asked_in_the_same_words(self):
        asked = {"state": "The parcel came on Monday.", "question": "Did it come?"}
        yes = self.ask(["yes", "no"], **asked)
        true = self.ask(["TRUE", "False"], **asked)
        self.assertEqual([e["scored_text"] for e in yes["x_explain"]["options"]], ["Yes", "No"])
        self.assertEqual(yes["probabilities"], true["probabilities"])


class ManyOptions(unittest.TestCase):
    """Cases 18 and 19: 77, 255, 256, 589 and 1024 options are answered whole; one more is refused in words."""

    def ids(self, count):
        # Of one length, so that none begins another and is scored with its end.
        return [f"team_{n * 7919 % 100003:06d}" for n in range(count)]

    def test_case_18_tiny_model_text(self):
        server = harness.shared("attention")
        for count in (77, 255, 256, 589, 1024):
            with self.subTest(options=count):
                result = server.decide(self, harness.body(self.ids(count), "text"))
                self.assertEqual(result["readout"], "text")

    def test_case_18_tiny_model_letters(self):
        server = harness.shared("attention")
        labels = server.get("/v1/models").json()["data"][0]["meta"]["letter_label_count"]
        self.assertGreater(labels, 255)
        for count in (77, 255, 256, 589):
            with self.subTest(options=count):
                reply = server.post(harness.body(self.ids(count), "letters"))
                if reply.status != 200:  # the options stand in the prompt, which has its limit
                    self.assertEqual((reply.status, reply.json()["code"]), (400, "too_long"), str(reply))
                    continue
                result = reply.json()["result"]
                harness.check_result(self, result, [{"id": name} for name in self.ids(count)])
                self.assertEqual(result["readout"], "letters" if count <= labels else "text")
                if result["readout"] == "letters":
                    self.assertEqual(len(set(result["answer_token_ids"])), count)

    def test_case_18_an_option_among_many_scores_as_among_few(self):
        server = harness.shared("attention")
        few = explained(server.decide(self, harness.body(self.ids(3), "text", explain=True)))
        for count in (77, 1024):
            many = explained(server.decide(self, harness.body(self.ids(count), "text", explain=True)))
            for name, entry in few.items():
                check_same_scores(self, entry, many[name])

    def test_case_18_default_model(self):
        server = harness.shared("default")
        server.decide(self, harness.body(self.ids(77), "text"))
        letters = server.decide(self, harness.body(self.ids(77), "letters"))
        self.assertEqual(letters["readout"], "letters")
        self.assertEqual(len(set(letters["answer_token_ids"])), 77)

    def test_case_18_one_option_too_many_is_refused_with_both_numbers(self):
        reply = harness.shared("attention").post(harness.body(self.ids(1025)))
        self.assertEqual((reply.status, reply.json()["code"]), (400, "too_long"), str(reply))
        self.assertIn("1025", reply.json()["error"])
        self.assertIn("1024", reply.json()["error"])
