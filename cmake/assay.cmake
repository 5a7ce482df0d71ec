# The rooms (docs/architecture.md). Each is a library made of its folder's files; its tests lie beside them as *_test.cc.
# Files that need llama.cpp (engine/llama_*, kernels/ggml_*, server/llama_*, server/http_server, service/open_decider,
# cli/main, cli/serve_command) are left out
# without it.
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
endif()
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
include(GoogleTest)

# Headers and sources of llama.cpp's vendor folder that need no llama.cpp: JSON and SHA-256.
add_library(assay_vendor INTERFACE)
target_include_directories(assay_vendor SYSTEM INTERFACE "${ASSAY_LLAMA_DIR}/vendor")
if(NOT TARGET vendor-hash)
  add_library(vendor-hash STATIC "${ASSAY_LLAMA_DIR}/vendor/hash/hash.cpp" "${ASSAY_LLAMA_DIR}/vendor/hash/sha256/sha256.c")
  target_include_directories(vendor-hash PUBLIC "${ASSAY_LLAMA_DIR}/vendor" PRIVATE "${ASSAY_LLAMA_DIR}/vendor/hash")
  target_compile_features(vendor-hash PRIVATE cxx_std_17)
  target_compile_options(vendor-hash PRIVATE -w)
endif()
target_link_libraries(assay_vendor INTERFACE vendor-hash)

set(ASSAY_NEEDS_LLAMA
  "/(engine/llama_[a-z_]+|kernels/ggml_[a-z_]+|server/(http_server|llama_[a-z_]+)|service/(open_decider|llama_[a-z_]+)|cli/main|cli/serve_command)\\.cc$")

# assay_room(<name> <linked targets...>): library assay_<name>, and the test program assay_<name>_test if there are tests.
function(assay_room room)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/${room}/*.cc")
  file(GLOB tests CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/${room}/*_test.cc")
  list(FILTER sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cc$")
  list(FILTER sources EXCLUDE REGEX "/cli/main\\.cc$")
  if(NOT ASSAY_LLAMA)
    list(FILTER sources EXCLUDE REGEX "${ASSAY_NEEDS_LLAMA}")
    list(FILTER tests EXCLUDE REGEX "/(llama|ggml)_[a-z_]+_test\\.cc$")
  endif()
  if(sources)
    add_library(assay_${room} STATIC ${sources})
    target_link_libraries(assay_${room} PUBLIC assay_options ${ARGN})
  else()
    add_library(assay_${room} INTERFACE)
    target_link_libraries(assay_${room} INTERFACE assay_options ${ARGN})
  endif()
  if(tests AND BUILD_TESTING)
    add_executable(assay_${room}_test ${tests})
    target_link_libraries(assay_${room}_test PRIVATE assay_${room} GTest::gtest_main GTest::gtest)
    target_compile_definitions(assay_${room}_test PRIVATE
      ASSAY_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}" ASSAY_LLAMA_SOURCE_DIR="${ASSAY_LLAMA_DIR}")
    add_test(NAME ${room} COMMAND assay_${room}_test)
  endif()
endfunction()

assay_room(base assay_vendor)
assay_room(decision assay_base)
include(cmake/kernels.cmake)
if(ASSAY_LLAMA)
  assay_room(kernels assay_base ggml)
  assay_room(engine assay_base assay_kernels llama-server-impl llama-common llama mtmd)
  # engine/llama_placement.cc wraps llama.cpp's memory, whose classes are in its source folder.
  set_source_files_properties(src/engine/llama_placement.cc PROPERTIES COMPILE_OPTIONS "-isystem;${ASSAY_LLAMA_DIR}/src")
else()
  assay_room(kernels assay_base)
  assay_room(engine assay_base assay_kernels)
endif()
# Labels to lessons. Eigen is header-only, and only teach/'s own files see it.
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
# SQLite goes into the binary where its archive is there, so that a copied binary needs no library of it.
find_library(ASSAY_SQLITE NAMES libsqlite3.a sqlite3 REQUIRED)
assay_room(teach assay_decision)
assay_room(store assay_base)
foreach(room teach store)
  get_target_property(kind assay_${room} TYPE)
  if(NOT kind STREQUAL "INTERFACE_LIBRARY")
    if(room STREQUAL "teach")
      target_include_directories(assay_teach SYSTEM PRIVATE "${EIGEN3_INCLUDE_DIRS}")
      # One thread, and no bits that depend on how many there are.
      target_compile_definitions(assay_teach PRIVATE EIGEN_DONT_PARALLELIZE)
      # Nothing is contracted into fused operations: a lesson answers with the same bits on every processor.
      target_compile_options(assay_teach PRIVATE -ffp-contract=off)
    else()
      target_link_libraries(assay_store PRIVATE "${ASSAY_SQLITE}" ${CMAKE_DL_LIBS} m)
    endif()
  endif()
endforeach()
assay_room(service assay_decision assay_engine assay_teach assay_store assay_vendor)
# Bodies of requests may come compressed.
find_package(ZLIB REQUIRED)
find_library(ASSAY_ZSTD zstd REQUIRED)
assay_room(server assay_service assay_vendor ZLIB::ZLIB ${ASSAY_ZSTD})
assay_room(cli assay_server CLI11::CLI11)

target_compile_definitions(assay_base PUBLIC ASSAY_VERSION="${PROJECT_VERSION}")
if(ASSAY_LLAMA)
  if(ASSAY_PORTABLE)
    set(ASSAY_BUILD_TYPE "${CMAKE_BUILD_TYPE}, portable")
  else()
    set(ASSAY_BUILD_TYPE "${CMAKE_BUILD_TYPE}, native")
  endif()
  set_source_files_properties(src/engine/llama_build.cc PROPERTIES COMPILE_DEFINITIONS
    "ASSAY_LLAMA_VERSION=\"${LLAMA_BUILD_COMMIT}\";ASSAY_COMPILER=\"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\";ASSAY_BUILD_TYPE=\"${ASSAY_BUILD_TYPE}\"")
endif()
# Header-only, so that the binary needs no library of theirs at run time; only base/log.cc sees it.
set_source_files_properties(src/base/log.cc PROPERTIES COMPILE_DEFINITIONS "SPDLOG_FMT_EXTERNAL;FMT_HEADER_ONLY")

if(ASSAY_LLAMA AND EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/src/cli/main.cc")
  add_executable(assay "${CMAKE_CURRENT_SOURCE_DIR}/src/cli/main.cc")
  target_link_libraries(assay PRIVATE assay_cli)
  if(ASSAY_PORTABLE)
    # One folder: the program, llama.cpp's libraries and a module of CPU code for each feature level, found beside the program.
    set_target_properties(assay PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/bin" BUILD_RPATH "$ORIGIN")
    if(SKBUILD)  # a wheel holds no links, so a library has one name there
      foreach(library ggml ggml-base llama llama-common mtmd)
        set_property(TARGET ${library} PROPERTY VERSION)
        set_property(TARGET ${library} PROPERTY SOVERSION)
      endforeach()
      install(DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/bin/" DESTINATION bin USE_SOURCE_PERMISSIONS COMPONENT assay)
    else()
      install(DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/bin/" DESTINATION lib/assay USE_SOURCE_PERMISSIONS COMPONENT assay)
      install(CODE "file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin\")
        file(CREATE_LINK ../lib/assay/assay \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/assay\" SYMBOLIC)" COMPONENT assay)
    endif()
  else()
    set_target_properties(assay PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
    install(TARGETS assay RUNTIME DESTINATION bin COMPONENT assay)
  endif()
endif()

include(cmake/tests.cmake OPTIONAL)
include(cmake/bench.cmake OPTIONAL)
include(cmake/fuzz.cmake OPTIONAL)
