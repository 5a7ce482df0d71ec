"""Answers as numpy arrays and pandas frames."""

import unittest

from support import CHOICE, NOUL, SCORE, assay
from assay.answers import Reply, Usage, parse_answer

try:
    import numpy
    import pandas
except ImportError:
    numpy = pandas = None

FAILED = assay.Overloaded("full", status=503)


def choice(a, b):
    return parse_answer({**CHOICE, "choice": "b" if b > a else "a", "probabilities": {"a": a, "b": b}})


@unittest.skipUnless(numpy, "no numpy and pandas here: pip install 'assay[pandas]'")
class Tables(unittest.TestCase):
    def test_probabilities_are_a_matrix_and_errors_are_nan(self):
        labels, rows = assay.to_numpy([FAILED, choice(0.25, 0.75), choice(0.5, 0.5)])
        self.assertEqual(labels, ["a", "b"])
        self.assertTrue(numpy.isnan(rows[0]).all())
        self.assertEqual(rows[1:].tolist(), [[0.25, 0.75], [0.5, 0.5]])

    def test_answers_to_different_questions_are_no_matrix(self):
        with self.assertRaises(ValueError):
            assay.to_numpy([choice(0.5, 0.5), parse_answer(SCORE)])

    def test_no_answers_are_an_empty_matrix(self):
        labels, rows = assay.to_numpy([])
        self.assertEqual((labels, rows.shape), ([], (0, 0)))

    def test_a_frame_has_a_row_for_each_answer(self):
        frame = assay.to_frame([choice(0.25, 0.75), FAILED], index=["x", "y"])
        self.assertEqual(list(frame.columns),
                         ["choice", "probability", "confidence", "abstained", "p.a", "p.b", "error"])
        self.assertEqual((frame.loc["x", "choice"], frame.loc["x", "p.b"]), ("b", 0.75))
        self.assertEqual(frame.loc["y", "error"], "full (503)")
        self.assertTrue(pandas.isna(frame.loc["y", "p.a"]))

    def test_a_frame_of_replies_names_the_questions(self):
        answers = {"n": parse_answer(NOUL), "s": parse_answer(SCORE)}
        frame = assay.to_frame([Reply(answers, "m", Usage(), None, {})])
        self.assertEqual(frame.loc[0, "n.probability"], 0.75)
        self.assertEqual((frame.loc[0, "s.score"], frame.loc[0, "s.p.2"]), (1.25, 0.5))
        self.assertNotIn("n.p.yes", frame.columns)

    def test_frames_go_in_as_states(self):
        frame = pandas.DataFrame({"text": ["a", "b"], "n": [1, 2]})
        from assay.protocol import to_json

        self.assertEqual(to_json(frame.to_dict("records")), b'[{"text":"a","n":1},{"text":"b","n":2}]')
        self.assertEqual(to_json({"x": numpy.float64(0.5), "y": numpy.arange(2)}), b'{"x":0.5,"y":[0,1]}')


if __name__ == "__main__":
    unittest.main()
