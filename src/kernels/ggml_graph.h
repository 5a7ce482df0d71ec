#pragma once
// A ggml CPU backend whose graphs are computed with this room's products.

struct ggml_backend;  // NOLINT(readability-identifier-naming): their name

namespace assay::kernels {

// Changes how `backend` (one of ggml's CPU backends, just made) computes graphs, until it is freed.
void take_over_products(ggml_backend* backend);

}  // namespace assay::kernels
