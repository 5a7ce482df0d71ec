# The libFuzzer targets, with clang only: cmake --preset fuzz. Each runs from its stored inputs in tests/fuzz/NAME:
#   build/fuzz/wire_fuzz -max_total_time=60 build/fuzz/corpus tests/fuzz/wire_fuzz
if(ASSAY_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "ASSAY_FUZZ needs clang; this compiler is ${CMAKE_CXX_COMPILER_ID}")
  endif()
  # Coverage of every room, so that the fuzzer sees which inputs reach new code.
  target_compile_options(assay_options INTERFACE -fsanitize=fuzzer-no-link)
  foreach(target wire_fuzz prompt_fuzz)
    add_executable(${target} "${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/${target}.cc")
    target_link_libraries(${target} PRIVATE assay_server)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  endforeach()
endif()
