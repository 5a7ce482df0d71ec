# assay_options: what every target of ours compiles with. llama.cpp's targets never see it.
add_library(assay_options INTERFACE)
target_compile_features(assay_options INTERFACE cxx_std_20)
target_include_directories(assay_options INTERFACE "${CMAKE_CURRENT_SOURCE_DIR}/include" "${CMAKE_CURRENT_SOURCE_DIR}/src")
target_compile_options(assay_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Wold-style-cast
  -Wno-missing-field-initializers  # designated initializers leave fields out on purpose
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # false alarms of GCC 12 on std::string concatenation (its bug 105651)
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>  # of GCC's own headers, inside std::stable_sort
  -Werror)
find_package(Threads REQUIRED)
target_link_libraries(assay_options INTERFACE Threads::Threads)
