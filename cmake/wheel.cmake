# When pip builds the wheel (pyproject.toml): no tests, no benchmarks, and llama.cpp's source is fetched if it is not here,
# because an unpacked source package or a fresh checkout has none.
set(BUILD_TESTING OFF CACHE BOOL "" FORCE)
set(ASSAY_BENCH OFF CACHE BOOL "" FORCE)

# The libraries that the system has to bring, with the names that Debian gives them.
set(assay_missing "")
foreach(pair "CLI11;libcli11-dev" "fmt;libfmt-dev" "spdlog;libspdlog-dev" "ZLIB;zlib1g-dev" "SQLite3;libsqlite3-dev" "Eigen3;libeigen3-dev")
  list(GET pair 0 package)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    list(GET pair 1 debian)
    string(APPEND assay_missing " ${debian}")
  endif()
endforeach()
if(assay_missing)
  message(FATAL_ERROR "Missing headers: install${assay_missing} (Debian's names; a C++20 compiler is needed, too), "
    "then build the wheel again")
endif()

if(NOT EXISTS "${ASSAY_LLAMA_DIR}/vendor/nlohmann/json.hpp")
  if(NOT ASSAY_LLAMA_DIR STREQUAL "${CMAKE_CURRENT_SOURCE_DIR}/third_party/llama.cpp")
    message(FATAL_ERROR "No llama.cpp tree at ${ASSAY_LLAMA_DIR}, which ASSAY_LLAMA_DIR names: correct it or unset it")
  endif()
  message(STATUS "Fetching llama.cpp (tools/setup --llama)")
  execute_process(COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/tools/setup" --llama RESULT_VARIABLE assay_setup_failed)
  if(assay_setup_failed)
    message(FATAL_ERROR "tools/setup --llama could not fetch llama.cpp; its reason stands above. Without a network: put "
      "llama.cpp's source in third_party/llama.cpp, or name it in ASSAY_LLAMA_DIR")
  endif()
endif()
