#pragma once
// How llama.cpp's threads wait for each other.

namespace assay::cli {

// OpenMP's threads spin for milliseconds before they sleep, so a decode that shares its cores with another busy process
// can take eight times as long: a spinning thread burns the time that the thread it waits for needs. Spinning a
// thousand rounds (some 20 us) costs nothing measurable on idle cores. The runtime reads the setting when the program
// is loaded, so unless the user has chosen (OMP_WAIT_POLICY or GOMP_SPINCOUNT is set), this sets it and starts the
// program anew in its place, once. Returns when there is nothing to do or the restart is impossible; then everything
// works as before.
void wait_with_short_spins(char** argv);

}  // namespace assay::cli
