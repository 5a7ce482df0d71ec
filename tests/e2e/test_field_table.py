"""Which tests keep each field case (the numbers T of the list of field cases): every case has a row, every test that a row
names exists.

A word of a row is MODULE:PART, tests of tests/e2e/MODULE.py whose names have PART in them; FILE:SUITE.NAME, a C++ test (a name
that ends in * stands for all that begin so); or FILE alone, where the whole of it is about the case.
"""

import os
import re
import unittest

import counted
import harness

CASES = """
1    test_field_cases:t01_ test_readouts:case_1_
2    test_field_cases:t02_ test_readouts:case_2_
3    test_field_cases:t01_ test_readouts:case_1_and_3_
4    test_field_cases:t04_
5    test_field_cases:t05_ src/decision/readout_test.cc:Probabilities.SumToOneForAThousandOptions
6    test_field_cases:t06_ test_readouts:case_6_
7    test_golden:case_7_
8    test_field_cases:t08_ test_field_chat:t08_
9    test_field_cases:t09_ test_same_bits:case_9_ src/service/decider_bits_test.cc:DeciderBits.ColdWarmAndWithoutACacheAreTheSame
10   test_readouts:case_10_
13   test_readouts:case_13_ src/decision/readout_test.cc:BestOption.*
14   test_field_cases:t14_ test_bodies:case_14_
18   test_field_cases:t18_ test_readouts:case_18_
19   test_field_cases:t18_
20   test_field_cases:t20_ test_wire:case_20_ test_http:Pages
22   test_readouts:case_22_ src/engine/llama_encoder_test.cc:LlamaEncoder.LettersAreOneTokenInContext
23   src/engine/llama_encoder_template_test.cc:LlamaTemplateFacts.* src/engine/llama_encoder_test.cc:LlamaEncoder.RefusesATemplateThatAlwaysThinks
25   test_field_cases:t25_ test_models:case_25_ test_openapi:not_finite src/engine/logits_test.cc:ReadLogits.Refuses* src/engine/engine_failure_test.cc:EngineFailures.NumbersThatAreNoneFailOnlyTheirJob
26   test_field_cases:t26_
27   test_injection_wires:case_27_ test_injection:case_27_ test_field_cases:t27_ tests/model/injection_test.cc:Injection.*
29   test_field_cases:t29_ test_injection:case_29_
30   test_injection_wires:case_27_and_30_ test_injection:case_30_ test_field_cases:t30_ tests/model/injection_test.cc:Injection.*
30c  test_field_cases:t30_ test_field_cases:t53_
31   bench/attacks.py docs/readouts.md
32   test_injection:case_32_ tests/model/injection_test.cc:Injection.ExactlyOneBeginningOfText src/engine/llama_encoder_template_test.cc:LlamaTemplateFacts.TheBeginningOfTextStandsOnceWhoeverWritesIt
33   src/engine/llama_encoder_template_test.cc:LlamaTemplateFacts.ASystemTextThatATemplateRefusesOrDropsIsFoldedIntoTheUserTurn
35   src/engine/llama_encoder_template_test.cc:LlamaTemplateFacts.AVocabularyThatChangesTextIsAWarning src/engine/llama_encoder_test.cc:LlamaEncoder.HarmlessTextGetsTheTokensOfOrdinaryTokenising
36   test_readouts:case_36_
38   test_field_cases:t38_ test_wire:case_38_
39   test_field_cases:t39_ test_wire:case_39_
40   test_same_bits:case_40_ test_soak:case_40_
41   test_soak:case_40_41_
43   test_field_cases:t43_ test_field_chat:t43_
45   test_kept:case_45_46_
46   test_kept:case_45_46_ test_kept:case_46_
47   test_kept:case_45_46_ bench/engine.py
49   test_kept:case_49_ test_soak:case_49_
50   test_same_bits:case_40_and_50_ src/service/decider_bits_test.cc:DeciderBits.*
51   tests/model/bits_test.cc docs/determinism.md
53   test_field_cases:t53_ test_field_chat:t53_ test_limits:case_53_
55   test_field_chat:t55_ test_limits:case_55_
56   test_field_chat:t56_ test_limits:case_56_ test_wire:case_56_
59   src/kernels/product_test.cc:Units.ThoseOfThisMachineAreTried src/cli/doctor_command_test.cc:Doctor.FindsAnotherCpu src/engine/child_check_test.cc:RunInChild.SurvivesTheSignalsOfABrokenBuild tests/python/wheel_test.py
60   test_http:Places test_field_cases:t18_
61   test_field_cases:t61_ test_wire:case_61_ test_load:deadline
63   src/teach/risk_test.cc:FindThresholds.*
64   src/teach/calibrate_test.cc:Calibrate.GivesEachBucketWithRowsEnoughItsOwn
"""
COUNT = 47  # rows of the list, 30c among them


def rows():
    for line in CASES.strip().splitlines():
        number, *words = line.split()
        yield number, words


class Table(unittest.TestCase):
    def test_every_case_has_its_row(self):
        numbers = [number for number, _ in rows()]
        self.assertEqual(len(numbers), len(set(numbers)))
        self.assertEqual(len(numbers), COUNT)
        self.assertTrue(all(words for _, words in rows()))

    def test_every_test_that_a_row_names_is_there(self):
        names = [test.id() for test in counted.tests_of(unittest.defaultTestLoader.discover(harness.HERE))]
        for number, words in rows():
            for word in words:
                with self.subTest(case=number, word=word):
                    self.assertTrue(self.is_there(word, names), word)

    def is_there(self, word, names):
        place, _, part = word.partition(":")
        if "/" not in place:
            return any(name.startswith(place + ".") and part in name for name in names)
        path = os.path.join(harness.ROOT, place)
        if not os.path.exists(path) or not part:
            return os.path.exists(path)
        with open(path, encoding="utf-8") as file:
            tests = [".".join(match) for match in re.findall(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", file.read(), re.MULTILINE)]
        suite, _, name = part.partition(".")
        wanted = re.compile(re.escape(suite) + r"\." + (re.escape(name[:-1]) + ".*" if name.endswith("*") else re.escape(name)))
        return any(wanted.fullmatch(test) for test in tests)


if __name__ == "__main__":
    unittest.main()
