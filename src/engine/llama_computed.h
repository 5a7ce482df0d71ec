#pragma once
// Whether this process has computed with llama.cpp: its thread team does not survive a fork.

namespace assay::engine {

// Called by the decoder before each decode of the serving process. Thread-safe.
void note_computed();

}  // namespace assay::engine
