# Sanitizers go on every target of ours through assay_options.
if(NOT ASSAY_SANITIZE STREQUAL "" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Instrumented code hides from GCC's analysis that a std::variant's members are set; the release build keeps the warning.
  # With -O2 -g nearly all of the time goes into optimising instrumented tests; so they compile in a third of it.
  target_compile_options(assay_options INTERFACE -Wno-maybe-uninitialized -Og -g1)
endif()
if(ASSAY_SANITIZE STREQUAL "address")
  target_compile_options(assay_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(assay_options INTERFACE -fsanitize=address,undefined)
elseif(ASSAY_SANITIZE STREQUAL "thread")
  target_compile_options(assay_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(assay_options INTERFACE -fsanitize=thread)
elseif(NOT ASSAY_SANITIZE STREQUAL "")
  message(FATAL_ERROR "ASSAY_SANITIZE is '${ASSAY_SANITIZE}'; it takes '', 'address' or 'thread'")
endif()
