#include "engine/media_run.h"

#include <gtest/gtest.h>

#include "engine/testing/fake_media.h"

namespace assay::engine {
namespace {

using Log = std::vector<std::string>;

MediaJob job_of(std::vector<Segment> segments, std::vector<Read> reads, const std::vector<std::string>& files) {
  MediaJob job{.job = {.segments = std::move(segments), .reads = std::move(reads), .terms = {}}, .images = {}};
  for (const std::string& file : files) job.images.push_back(std::make_shared<const std::string>(file));
  return job;
}

Result<MediaResult> run(testing::FakeMedia& media, const MediaJob& job) {
  return MediaRun(media, job, [] { return Status(); }).run();
}

// [1 image 2] with a read at its end.
MediaJob one_image(const std::string& file = "abc") {
  return job_of({{.tokens = {1, image_token(0), 2}}}, {{.segment = 0, .offset = 2, .targets = {5, 6}}}, {file});
}

TEST(MediaRun, ComputesTextImageTextInOrder) {
  testing::FakeMedia media;
  const Result<MediaResult> result = run(media, one_image());
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(media.log, (Log{"read 0", "tokens 1 -> 0", "encode 0", "image 0 -> 0", "tokens 1 -> 0"}));
  EXPECT_EQ(result->image_rows, std::vector<std::int32_t>{3});
  EXPECT_EQ(result->job.computed_rows, 5);
  ASSERT_EQ(result->job.reads.size(), 1U);
  EXPECT_EQ(result->job.reads[0].logits.size(), 2U);
  EXPECT_TRUE(result->job.reads[0].vocabulary);
  EXPECT_TRUE(media.is_empty());
}

TEST(MediaRun, EqualFilesAreReadAndEncodedOnce) {
  testing::FakeMedia media;
  const MediaJob job = job_of({{.tokens = {image_token(0), image_token(1), image_token(2), 9}}},
                              {{.segment = 0, .offset = 3, .targets = {1}}}, {"aa", "b", "aa"});
  const Result<MediaResult> result = run(media, job);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(media.log, (Log{"read 0", "read 1", "encode 0", "image 0 -> 0", "encode 1", "image 1 -> 0", "image 0 -> 0",
                            "tokens 1 -> 0"}));
  EXPECT_EQ(result->image_rows, (std::vector<std::int32_t>{2, 1, 2}));
}

// trunk [1 image], then questions [2] and [3 4], the second with answers [5] and [6 7].
MediaJob branches() {
  return job_of({{.tokens = {1, image_token(0)}},
                 {.parent = 0, .tokens = {2}},
                 {.parent = 0, .tokens = {3, 4}},
                 {.parent = 2, .tokens = {5}},
                 {.parent = 2, .tokens = {6, 7}}},
                {{.segment = 1, .offset = 0, .targets = {1}},
                 {.segment = 2, .offset = 1, .targets = {1}},
                 {.segment = 3, .offset = 0, .targets = {1}},
                 {.segment = 4, .offset = 1, .targets = {1}}},
                {"xy"});
}

TEST(MediaRun, ABranchGoesOnInACopy) {
  testing::FakeMedia media;
  ASSERT_TRUE(run(media, branches()).ok());
  EXPECT_EQ(media.log, (Log{"read 0", "tokens 1 -> 0", "encode 0", "image 0 -> 0", "fork 0 1", "tokens 1 -> 1",
                            "fork 0 1", "tokens 2 -> 1", "fork 1 2", "tokens 1 -> 2", "fork 1 2", "tokens 2 -> 2"}));
}

TEST(MediaRun, WithFewSequencesTheNumbersAreTheSame) {
  testing::FakeMedia wide;
  const Result<MediaResult> expected = run(wide, branches());
  testing::FakeMedia narrow;
  narrow.given.sequences_max = 2;
  const Result<MediaResult> result = run(narrow, branches());
  ASSERT_TRUE(expected.ok() && result.ok());
  for (std::size_t i = 0; i < 4; i++) {
    EXPECT_EQ(result->job.reads[i].logits, expected->job.reads[i].logits) << i;
    EXPECT_EQ(result->job.reads[i].log_sum_exp, expected->job.reads[i].log_sum_exp) << i;
  }
}

TEST(MediaRun, AQuestionsNumbersDoNotDependOnTheOthers) {
  testing::FakeMedia media;
  const Result<MediaResult> all = run(media, branches());
  const MediaJob alone = job_of({{.tokens = {1, image_token(0)}}, {.parent = 0, .tokens = {2}}},
                                {{.segment = 1, .offset = 0, .targets = {1}}}, {"xy"});
  const Result<MediaResult> one = run(media, alone);
  ASSERT_TRUE(all.ok() && one.ok());
  EXPECT_EQ(all->job.reads[0].logits, one->job.reads[0].logits);
}

TEST(MediaRun, BatchesEndAtTheLimitsOfRowsAndOutputs) {
  testing::FakeMedia media;  // 4 rows, 2 outputs
  const MediaJob job = job_of({{.tokens = {1, 2, 3, 4, 5, 6, 7}}},
                              {{.segment = 0, .offset = 0, .targets = {1}},
                               {.segment = 0, .offset = 1, .targets = {1}},
                               {.segment = 0, .offset = 2, .targets = {1}},
                               {.segment = 0, .offset = 6, .targets = {1}}},
                              {});
  ASSERT_TRUE(run(media, job).ok());
  EXPECT_EQ(media.log, (Log{"tokens 2 -> 0", "tokens 4 -> 0", "tokens 1 -> 0"}));
}

TEST(MediaRun, APromptThatIsTooLongIsRefusedBeforeAnythingIsComputed) {
  testing::FakeMedia media;
  media.given.path_rows_max = 11;
  const Result<MediaResult> fits = run(media, one_image("123456789"));
  EXPECT_TRUE(fits.ok());
  media.log.clear();
  const Result<MediaResult> result = run(media, one_image("1234567890"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kTooLong);
  EXPECT_NE(result.error().message.find("12 tokens; at most 11"), std::string::npos) << result.error().message;
  EXPECT_EQ(media.log, Log{"read 0"});
}

TEST(MediaRun, ErrorsNameTheImageAndLeaveNothingBehind) {
  testing::FakeMedia media;
  const MediaJob job = job_of({{.tokens = {image_token(0), image_token(1), 1}}},
                              {{.segment = 0, .offset = 2, .targets = {1}}}, {"fine", "broken"});
  const Result<MediaResult> result = run(media, job);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().field, "images[1]");
  EXPECT_EQ(result.error().message, "images[1] cannot be decoded: it is broken");
  EXPECT_TRUE(media.is_empty());
  media.nan = true;
  EXPECT_EQ(run(media, one_image()).error().code, ErrorCode::kNonfiniteLogits);
  EXPECT_EQ(media.log.back(), "wipe");
  media.nan = false;
  media.fails = true;
  EXPECT_EQ(run(media, one_image()).error().code, ErrorCode::kInternal);
  EXPECT_TRUE(media.is_empty());
}

TEST(MediaRun, WhatStandsBetweenThePiecesCanEndIt) {
  testing::FakeMedia media;
  const MediaJob job = one_image();
  int calls = 0;
  const auto count = [&calls] { return ++calls, Status(); };
  ASSERT_TRUE(MediaRun(media, job, count).run().ok());
  const int all = calls;
  EXPECT_EQ(all, 6);  // read, tokens, encode, image and within it, tokens
  for (int last = 1; last <= all; last++) {
    calls = 0;
    const auto stop = [&]() -> Status {
      if (++calls == last) return Error{ErrorCode::kCancelled, "stop", ""};
      return {};
    };
    const Result<MediaResult> result = MediaRun(media, job, stop).run();
    ASSERT_FALSE(result.ok()) << last;
    EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(calls, last);
    EXPECT_TRUE(media.is_empty());
  }
}

TEST(MediaRun, BrokenJobsAreRefused) {
  testing::FakeMedia media;
  const Read end = {.segment = 0, .offset = 0, .targets = {1}};
  for (const MediaJob& job : {
           job_of({}, {}, {}),
           job_of({{.tokens = {}}}, {}, {}),
           job_of({{.parent = 0, .tokens = {1}}}, {}, {}),
           job_of({{.tokens = {1000}}}, {}, {}),
           job_of({{.tokens = {-1}}}, {}, {}),
           job_of({{.tokens = {image_token(1)}}}, {}, {"a"}),
           job_of({{.tokens = {image_token(0)}}}, {end}, {"a"}),
           job_of({{.tokens = {1}}}, {{.segment = 0, .offset = 1, .targets = {1}}}, {}),
           job_of({{.tokens = {1}}}, {{.segment = 0, .offset = 0, .targets = {}, .hidden_state = true}}, {}),
       }) {
    EXPECT_EQ(check_media_job(job, media.limits()).error().code, ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace assay::engine
