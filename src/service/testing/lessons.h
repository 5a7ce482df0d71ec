#pragma once
// Small lessons for tests.

#include <string>
#include <utility>
#include <vector>

#include "assay/lesson.h"

namespace assay::service::testing {

// A head of 4 numbers over the options refund and info: refund when the first number is high.
inline Lesson small_lesson(std::string name = "refunds") {
  Lesson lesson;
  lesson.name = std::move(name);
  lesson.created = "2026-11-30T12:00:00Z";
  lesson.model_id = "fake";
  lesson.model_sha256 = "model";
  lesson.layout = "state_first";
  lesson.question = LessonQuestion{
      .text = "why", .type = "choice", .options = {{"refund", "Wants money back"}, {"info", std::nullopt}}};
  lesson.head = LinearHead{.method = "lda",
                           .regularisation = 0.5,
                           .cues = {"Message: {state}\nAbout"},
                           .width = 4,
                           .mean = {0, 0, 0, 0},
                           .scale = {1, 1, 1, 1},
                           .weights = {1, 0, 0, 0, -1, 0, 0, 0},
                           .bias = {0.25F, 0},
                           .options = {0, 1},
                           .prior_weight = 0};
  lesson.calibrations = {{.readout = "taught", .type = "choice", .options_min = 2, .options_max = 2, .temperature = 2}};
  lesson.thresholds = {{.option = "", .risk = 0.1, .level = 0.9, .value = 0.5, .coverage = 1, .error = 0, .rows = 50}};
  lesson.fallback = "info";
  lesson.labels = 50;
  lesson.labels_by_option = {{"refund", 30}, {"info", 20}};
  lesson.accuracy = 0.9;
  lesson.mean_confidence = 0.8;
  lesson.note = "a \"note\"";
  return lesson;
}

}  // namespace assay::service::testing
