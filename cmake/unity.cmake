# assay_unity(<target> <sources...>): with ASSAY_UNITY each compiler run takes several of the target's files, because most of
# a small file's time goes into headers and inline functions that its neighbours have, too. tests/tidy/source_groups.py says which
# files go together. Files with flags of their own stay alone; so do all of them in the release build, which is what lint and
# the packages are made from: there each file has to include what it uses.
function(assay_unity target)
  if(NOT ASSAY_UNITY)
    return()
  endif()
  execute_process(COMMAND python3 "${CMAKE_CURRENT_SOURCE_DIR}/tests/tidy/source_groups.py" ${ARGN}
    OUTPUT_VARIABLE lines OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^([0-9]+) (.*)$" matched "${line}")
    set_source_files_properties("${CMAKE_MATCH_2}" PROPERTIES UNITY_GROUP "${CMAKE_MATCH_1}")
  endforeach()
  # A class of an unnamed namespace as a member: that is not in a header, the file is only included.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
