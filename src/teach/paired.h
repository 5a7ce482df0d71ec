#pragma once
// Is one of two answerers right more often than the other? A paired test that may be looked at after every label.
//
// What counts are the answers of which one alone was right: wins of the first and losses. If the first is no better, a
// win has a chance of at most 1/2 (the null of McNemar 1947). Somebody who holds it for t > 1/2 stakes his money on
// each, so that it is multiplied by 2 t at a win and by 2 (1 - t) at a loss; with the money spread evenly over all t
// from 1/2 to 1 there is afterwards
//
//   E = 2 * 2^n * integral over t from 1/2 to 1 of t^wins (1 - t)^losses
//     = sum over j = 0 .. wins of C(n + 1, j) / ((n + 1) C(n, wins)),   n = wins + losses.
//
// On average that never grows while the first is no better, so by Ville's inequality it ever reaches 1 / error with a
// probability of at most `error`, however often it is looked at and whoever says when to stop (Ville 1939;
// Waudby-Smith and Ramdas 2023 for betting). With no losses 7 wins reach 20, which is an error of 0.05.

#include <cstdint>

namespace assay::teach {

// ln E. Finite; 0 for no wins and no losses. Takes time in proportion to the wins.
double log_evidence_of_better(std::uint64_t wins, std::uint64_t losses);

}  // namespace assay::teach
