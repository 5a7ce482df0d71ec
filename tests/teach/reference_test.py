"""Our fits against scikit-learn's, on random problems: python3 reference_test.py TOOL

TOOL is the program of reference_tool.cc. Exits with 77 (skipped) where scikit-learn is missing.
"""

import subprocess
import sys
import unittest

SEED = 20261130
TOOL = ""

try:
    import numpy as np
    from scipy.optimize import minimize, minimize_scalar
    from scipy.stats import betabinom, binom, hypergeom
    from sklearn.calibration import calibration_curve
    from sklearn.covariance import ledoit_wolf_shrinkage
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import Ridge
    from sklearn.metrics import brier_score_loss, log_loss
    from sklearn.preprocessing import StandardScaler
except ImportError as error:
    print(f"skipped: {error}; tools/setup --dev installs the packages of tests/requirements.txt into third_party/venv")
    sys.exit(77)


def ask(*parts):
    """The numbers that the tool answers with."""
    words = [text for part in parts for text in ([part] if isinstance(part, str) else map(repr, np.ravel(part).tolist()))]
    done = subprocess.run([TOOL], input=" ".join(words), capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"the tool failed: {done.stderr}")
    return np.array([float(line) for line in done.stdout.split()])


def problem(random):
    """Rows, fewer than numbers or more, of classes that each have one at least."""
    classes = int(random.integers(2, 6))
    rows = classes + int(random.integers(2, 60))
    width = int(random.integers(1, 50))
    y = np.concatenate([np.arange(classes), random.integers(0, classes, rows - classes)])
    x = random.normal(size=(rows, width)) + random.normal(size=(classes, width))[y]
    return x, y, classes


def less_first(scores):
    """Scores up to what all classes of a row have in common."""
    return scores - scores[:, :1]


class ReferenceTest(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(SEED)

    def assert_near(self, ours, theirs, tolerance):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=f"seed {SEED}, round {self.round}")

    def rounds(self, count):
        for self.round in range(count):
            yield self.round

    def lda(self, x, y, classes, shrinkage):
        """Formula's shrinkage, and the scores of x without the term that scikit-learn does not have."""
        answer = ask("lda", [len(x), x.shape[1], classes], [shrinkage], x, y)
        formula, e, weights = answer[0], answer[1], answer[2:2 + classes * x.shape[1]].reshape(classes, -1)
        bias = answer[2 + weights.size:2 + weights.size + classes]
        return formula, x @ weights.T + bias - e / (2 * np.bincount(y)), weights

    def test_lda_of_a_given_shrinkage(self):
        for _ in self.rounds(60):
            x, y, classes = problem(self.random)
            shrinkage = float(self.random.uniform(0.02, 1))
            _, ours, _ = self.lda(x, y, classes, shrinkage)
            for solver in ("lsqr", "eigen"):
                theirs = LinearDiscriminantAnalysis(solver=solver, shrinkage=shrinkage).fit(x, y).decision_function(x)
                if classes == 2:  # one column there: the second class's score less the first's
                    theirs = np.column_stack([np.zeros(len(x)), theirs])
                self.assert_near(less_first(ours), less_first(theirs), 1e-6)

    def test_ledoit_wolf_and_lda_with_it(self):
        # scikit-learn's own shrinkage="auto" is another estimate: one formula for each class, which a class with one row
        # does not have. Ours is its formula on what all rows differ from their classes' means by.
        for number in self.rounds(60):
            x, y, classes = problem(self.random)
            if x.shape[1] == 1:  # where shrinking changes nothing
                continue
            residuals = x - np.array([x[y == k].mean(axis=0) for k in range(classes)])[y]
            theirs = ledoit_wolf_shrinkage(residuals, assume_centered=True)
            formula, _, _ = self.lda(x, y, classes, 0.5)
            self.assert_near(formula, theirs, 1e-9)
            if theirs < 0.01:
                continue
            _, ours, _ = self.lda(x, y, classes, -1)
            there = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=theirs).fit(x, y)
            self.assertTrue((ours.argmax(axis=1) == there.predict(x)).all())

    def test_ridge_and_its_rows_left_out(self):
        for number in self.rounds(40):
            x, y, classes = problem(self.random)
            regularisation = float(10 ** self.random.uniform(-2, 1))
            answer = ask("ridge", [len(x), x.shape[1], classes], [regularisation], x, y)
            weights = answer[:classes * x.shape[1]].reshape(classes, -1)
            bias = answer[weights.size:weights.size + classes]
            targets = np.eye(classes)[y]
            alpha = regularisation * x.shape[1]
            model = Ridge(alpha=alpha, solver="cholesky").fit(x, targets)
            self.assert_near(x @ weights.T + bias, model.predict(x), 1e-8)
            # Each row in turn, with the means over all rows held.
            left_out = answer[weights.size + classes:].reshape(len(x), classes)
            centred, wanted = x - x.mean(axis=0), targets - targets.mean(axis=0)
            for row in self.random.choice(len(x), 5):
                if np.bincount(y)[y[row]] < 2:
                    continue
                others = np.arange(len(x)) != row
                model = Ridge(alpha=alpha, fit_intercept=False, solver="cholesky").fit(centred[others], wanted[others])
                there = model.predict(centred[row:row + 1])[0] + targets.mean(axis=0)
                self.assert_near(left_out[row], there, 1e-8)

    def test_standardisation(self):
        for number in self.rounds(20):
            x = problem(self.random)[0].astype(np.float32)
            ours = ask("prepare", list(x.shape), x).reshape(x.shape)
            self.assert_near(ours, StandardScaler().fit_transform(x.astype(float)), 1e-5)  # means are kept in float

    def test_isotonic_at_and_between_its_knots(self):
        for number in self.rounds(100):
            count = int(self.random.integers(1, 80))
            points = self.random.normal(size=(count, 3))
            if number % 3 == 0:
                points[:, 0] = np.round(points[:, 0])  # many of one x
            if number % 2 == 0:
                points[:, 1] = points[:, 1] > 0  # labels
            points[:, 2] = np.abs(points[:, 2]) + 0.1
            queries = np.concatenate([points[:, 0], 2 * self.random.normal(size=40)])
            ours = ask("isotonic", [count, len(queries)], points, queries)
            model = IsotonicRegression(out_of_bounds="clip").fit(points[:, 0], points[:, 1], sample_weight=points[:, 2])
            self.assert_near(ours, model.predict(queries), 1e-9)

    def test_metrics(self):
        for number in self.rounds(60):
            rows, options = int(self.random.integers(1, 200)), int(self.random.integers(2, 8))
            p = self.random.dirichlet(np.full(options, self.random.choice([0.1, 1, 10])), rows)
            y = self.random.integers(0, options, rows)
            ours = ask("metrics", [rows, options], *[part for row in range(rows) for part in (p[row], [int(y[row])])])
            self.assert_near(ours[0], log_loss(y, p, labels=range(options)), 1e-9)
            truth = np.eye(options)[y]
            brier = ((p - truth) ** 2).sum(axis=1).mean()
            if options == 2:
                brier = 2 * brier_score_loss(y, p[:, 1], labels=[0, 1])
            elif len(set(y)) == options:
                brier = brier_score_loss(y, p, labels=list(range(options)), scale_by_half=False)
            self.assert_near(ours[1], brier, 1e-9)
            confidence, right = p.max(axis=1), p.argmax(axis=1) == y
            accuracy, mean = calibration_curve(right, confidence, n_bins=10, strategy="uniform")
            counts = np.histogram(confidence, bins=np.linspace(0, 1, 11))[0]
            counts = counts[counts > 0]
            self.assert_near(ours[2], (counts * np.abs(accuracy - mean)).sum() / rows, 1e-9)

    def test_temperature_against_a_general_minimiser(self):
        for number in self.rounds(40):
            rows, options = int(self.random.integers(5, 100)), int(self.random.integers(2, 6))
            scores = self.random.normal(size=(rows, options)) * 3
            y = np.array([self.random.choice(options, p=softmax(row / 2)) for row in scores])
            prior, centre = float(number % 2), float(self.random.uniform(0.5, 4))
            ours = ask("temperature", [rows, options], [prior, centre],
                       *[part for row in range(rows) for part in (scores[row], [int(y[row])])])

            def loss(temperature):
                return rows * log_loss_at(scores, y, temperature) + prior * (centre / temperature + np.log(temperature))

            found = minimize_scalar(lambda u: loss(np.exp(u)), bounds=(np.log(1e-3), np.log(1e3)), method="bounded",
                                    options={"xatol": 1e-10}).x
            self.assert_near(ours[0], np.exp(found), 1e-5)
            self.assert_near(ours[1], log_loss_at(scores, y, np.exp(found)), 1e-9)

    def test_sureness_against_a_general_minimiser(self):
        for self.round in range(60):
            rows = int(self.random.integers(5, 200))
            evidence = self.random.exponential(2, rows)
            options = self.random.integers(2, 8, rows)
            true_slope, true_shift = self.random.uniform(-0.2, 1.2), self.random.normal()
            odds = true_slope * evidence - np.log(options - 1) + true_shift
            right = (self.random.uniform(size=rows) < 1 / (1 + np.exp(-odds))).astype(int)
            weights, parent = self.random.uniform(0.5, 10, 2), [self.random.uniform(0, 1.5), self.random.normal()]
            ours = ask("sureness", [rows], weights, parent,
                       *[part for one in zip(evidence, options, right) for part in ([one[0]], [int(one[1]), int(one[2])])])

            def loss(w):
                odds = w[0] * evidence - np.log(options - 1) + w[1]
                return (np.logaddexp(0, odds) - right * odds).sum() + (weights * (w - parent) ** 2).sum() / 2

            found = minimize(loss, parent, method="L-BFGS-B", bounds=[(0, None), (None, None)],
                             options={"ftol": 1e-15, "gtol": 1e-10}).x
            self.assert_near(ours, found, 1e-4)
            self.assertLessEqual(loss(ours), loss(found) + 1e-9)

    def test_the_tails_behind_thresholds(self):
        asked = []
        for self.round in range(400):
            acted = int(10 ** self.random.uniform(0, 4))
            risk = float(self.random.choice([0.01, 0.05, 0.1, 0.3, self.random.uniform(0.001, 0.9)]))
            # About as many as are at stake, so that the numbers are not all 0 or 1.
            wrong = min(acted, int(self.random.binomial(acted, risk * self.random.uniform(0.3, 1.2))))
            asked.append([wrong, acted, risk, int(10 ** self.random.uniform(0, 5)) if self.round % 4 else 0])
        ours = ask("tails", [len(asked)], *[part for w, n, r, h in asked for part in ([w, n], [r], [h])])
        for self.round, ((wrong, acted, risk, horizon), tail) in enumerate(zip(asked, ours)):
            if horizon == 0:
                self.assert_near(tail, binom.cdf(wrong, acted, risk), 1e-9)
                continue
            too_many = next(k for k in range(int(risk * horizon), horizon + 1) if k / horizon > risk)
            if wrong == acted:
                self.assertEqual(tail, 1)
                continue
            self.assert_near(tail, hypergeom.cdf(wrong, acted + horizon, wrong + too_many, acted), 1e-7)
            self.assert_near(tail, betabinom.sf(too_many - 1, horizon, wrong + 1, acted - wrong), 1e-7)


def softmax(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def log_loss_at(scores, y, temperature):
    return log_loss(y, np.array([softmax(row / temperature) for row in scores]), labels=range(scores.shape[1]))


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main(warnings="ignore")  # scikit-learn's, of classes with one row, which are wanted here
