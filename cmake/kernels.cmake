# Files of src/kernels that are compiled for one instruction set each; which of them runs is chosen at run time. Nothing is
# contracted into fused operations that the code does not spell: all units must give the same bits.
file(GLOB assay_kernel_files "${CMAKE_CURRENT_SOURCE_DIR}/src/kernels/*.cc")
set_source_files_properties(${assay_kernel_files} PROPERTIES COMPILE_OPTIONS "-ffp-contract=off")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  foreach(unit dotprod i8mm)
    set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/src/kernels/neon_${unit}_unit.cc" PROPERTIES COMPILE_OPTIONS
      "-ffp-contract=off;-march=armv8.2-a+${unit}")
  endforeach()
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # assay_kernel_flags(<file> <flags...>)
  function(assay_kernel_flags file)
    set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/src/kernels/${file}" PROPERTIES COMPILE_OPTIONS
      "-ffp-contract=off;${ARGN};$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized$<SEMICOLON>-Wno-uninitialized>")  # false alarms of its own intrinsics
  endfunction()
  assay_kernel_flags(avx2_unit.cc -mavx2 -mfma)
  assay_kernel_flags(avx_vnni_unit.cc -mavx2 -mfma -mavxvnni)
  assay_kernel_flags(avx512_vnni_unit.cc -mavx2 -mfma -mavx512f -mavx512bw -mavx512vl -mavx512vnni)
  assay_kernel_flags(avx512_words.cc -mavx2 -mfma -mavx512f -mavx512bw -mavx512vl -mavx512vnni)
  assay_kernel_flags(avx2_pack_groups.cc -mavx2 -mfma)
  assay_kernel_flags(avx512_pack_groups.cc -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl)
  assay_kernel_flags(avx2_unpack_rows.cc -mavx2 -mfma -mf16c)
  assay_kernel_flags(avx512_unpack_rows.cc -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl)
  assay_kernel_flags(avx2_attention.cc -mavx2 -mfma -mf16c)
  assay_kernel_flags(avx512_attention.cc -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl)
  assay_kernel_flags(amx_int8_unit.cc -mavx2 -mfma -mavx512f -mavx512bw -mavx512vl)
endif()
# The device is written against ggml's own description of a backend.
if(ASSAY_LLAMA)
  foreach(file ggml_weights ggml_device ggml_graph ggml_attention)
    set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/src/kernels/${file}.cc" PROPERTIES COMPILE_OPTIONS
      "-ffp-contract=off;-isystem;${ASSAY_LLAMA_DIR}/ggml/src")
  endforeach()
endif()
