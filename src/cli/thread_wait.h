#pragma once
// How llama.cpp's threads wait for each other.

namespace assay::cli {

// OpenMP's threads spin while they wait, so a decode that shares its cores with any other busy process can take ten
// times as long: a spinning thread burns the time that the thread it waits for needs. Its runtime reads the setting
// when the program is loaded, so unless the user has chosen (OMP_WAIT_POLICY or GOMP_SPINCOUNT is set), this sets it
// and starts the program anew in its place, once. Returns when there is nothing to do or the restart is impossible;
// then everything works as before.
void wait_without_spinning(char** argv);

}  // namespace assay::cli
