# Programs that the benchmarks of bench/ run; bench/run is the front door. What overhead.py measures is on fakes, so there
# only the server with real sockets needs llama.cpp's HTTP layer.
if(ASSAY_BENCH)
  find_package(benchmark QUIET)
  if(benchmark_FOUND)
    add_executable(routes_bench "${CMAKE_CURRENT_SOURCE_DIR}/bench/routes_bench.cc")
    target_include_directories(routes_bench PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
    target_link_libraries(routes_bench PRIVATE assay_server benchmark::benchmark)
    set_target_properties(routes_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  else()
    message(STATUS "Google Benchmark is missing (tools/setup --dev installs it): routes_bench is left out")
  endif()
  if(ASSAY_LLAMA)
    add_executable(overhead_server "${CMAKE_CURRENT_SOURCE_DIR}/bench/overhead_server.cc")
    target_include_directories(overhead_server PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
    target_link_libraries(overhead_server PRIVATE assay_server)
    set_target_properties(overhead_server PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
    # What bench/engine.py compares with: llama.cpp's own server, of the same tree and flags, built only when it is asked for
    # (--target llama-server). Its place is pinned because the bench looks for it there.
    set_target_properties(llama-server PROPERTIES EXCLUDE_FROM_ALL TRUE RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/bin")
  endif()
endif()
