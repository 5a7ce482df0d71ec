# llama.cpp as a subproject: its libraries and its server, none of its programs, none of its downloads.
# Nothing in its tree is edited; where it must differ, the difference is a flag in this file.
set(LLAMA_BUILD_NUMBER 11434)
set(LLAMA_BUILD_COMMIT "b11434")
set(LLAMA_BUILD_COMMON ON CACHE BOOL "" FORCE)
set(LLAMA_BUILD_TOOLS ON CACHE BOOL "" FORCE)
set(LLAMA_BUILD_SERVER ON CACHE BOOL "" FORCE)
set(LLAMA_BUILD_APP OFF CACHE BOOL "" FORCE)
set(LLAMA_BUILD_TESTS OFF CACHE BOOL "" FORCE)
set(LLAMA_BUILD_EXAMPLES OFF CACHE BOOL "" FORCE)
set(LLAMA_BUILD_UI OFF CACHE BOOL "" FORCE)
set(LLAMA_USE_PREBUILT_UI OFF CACHE BOOL "" FORCE)
set(LLAMA_OPENSSL ${ASSAY_TLS} CACHE BOOL "" FORCE)
set(LLAMA_TOOLS_INSTALL OFF CACHE BOOL "" FORCE)
set(LLAMA_ALL_WARNINGS OFF CACHE BOOL "" FORCE)
if(ASSAY_CUDA)
  set(GGML_CUDA ON CACHE BOOL "" FORCE)
endif()
if(ASSAY_PORTABLE)
  # One folder that runs on any x86-64: the CPU code is a module for each feature level, chosen at run time.
  set(BUILD_SHARED_LIBS ON CACHE BOOL "" FORCE)
  set(GGML_NATIVE OFF CACHE BOOL "" FORCE)
  set(GGML_BACKEND_DL ON CACHE BOOL "" FORCE)
  set(GGML_CPU_ALL_VARIANTS ON CACHE BOOL "" FORCE)
  set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
  set(CMAKE_INSTALL_RPATH "$ORIGIN")
else()
  set(BUILD_SHARED_LIBS OFF CACHE BOOL "" FORCE)
  set(GGML_NATIVE ON CACHE BOOL "" FORCE)
endif()

add_subdirectory("${ASSAY_LLAMA_DIR}" "${CMAKE_CURRENT_BINARY_DIR}/llama.cpp" EXCLUDE_FROM_ALL SYSTEM)

# GCC before 14 drops the stores that fill the AMX tile configuration (its intrinsic declares 8 of the 64
# bytes as read), so the first tile load faults. Without dead-store elimination in that one file it is right.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  get_property(assay_ggml_targets DIRECTORY "${ASSAY_LLAMA_DIR}/ggml/src" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS assay_ggml_targets)
    if(target MATCHES "^ggml-cpu")
      set_source_files_properties("${ASSAY_LLAMA_DIR}/ggml/src/ggml-cpu/amx/mmq.cpp" TARGET_DIRECTORY ${target}
        PROPERTIES COMPILE_OPTIONS "-fno-tree-dse;-fno-dse")
    endif()
  endforeach()
endif()

include(cmake/ggml_barrier.cmake)
