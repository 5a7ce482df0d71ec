#pragma once
// Receipts as JSON, and the lines of a receipts file: what was asked, so that it can be asked again, and its receipt.

#include <string>

#include "assay/decision.h"
#include "assay/error.h"
#include "assay/value.h"
#include "cli/rows.h"

namespace assay::cli {

// {model, build, settings, tokens, scores}, each a SHA-256 in lower-case hex.
Value receipt_value(const Receipt& receipt);

// Reads the same; members beside the five are ignored. Errors: kInvalidArgument with the member's name as field.
Result<Receipt> receipt_from_value(const Value& value);

// The body of POST /v1/decide that asks this row again, with the readout and layout that answered it.
Value semif_body(const Row& row, const Answer& answer);

// {"request": semif_body(), "receipt": receipt_value()} and a line end.
std::string receipt_line(const Row& row, const Answer& answer, const Receipt& receipt);

// What is said when a receipt was asked for and the decider gave none.
Error no_receipt_error();

// One line of a receipts file: as receipt_line() writes it, or with any body of POST /v1/decide as "request" and the
// reply's x_receipt as "receipt".
struct ReceiptLine {
  DecisionRequest request;  // with `receipt` set and without a deadline
  Receipt receipt;
};
// Other members than the two are ignored. Errors: kInvalidArgument, the field is a path such as "receipt.tokens".
Result<ReceiptLine> receipt_line_from_json(const std::string& line);

}  // namespace assay::cli
