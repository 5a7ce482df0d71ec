# The files of web/ become part of the program, so that nothing is read at run time: a generated source defines
# web_file() (server/web_pages.h). Included by CMakeLists.txt it adds that source to assay_server; run as a script
# (cmake -D OUTPUT=... -D SOURCES=... -D VERSION=... -P cmake/web.cmake) it writes it.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(ASSAY_WEB_FILES openapi.json docs.html docs.js docs.css)
  list(TRANSFORM ASSAY_WEB_FILES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/web/" OUTPUT_VARIABLE ASSAY_WEB_SOURCES)
  set(ASSAY_WEB_OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/web/web_files.cc")
  list(JOIN ASSAY_WEB_SOURCES "|" ASSAY_WEB_JOINED)
  add_custom_command(OUTPUT "${ASSAY_WEB_OUTPUT}"
    COMMAND "${CMAKE_COMMAND}" -D "OUTPUT=${ASSAY_WEB_OUTPUT}" -D "SOURCES=${ASSAY_WEB_JOINED}" -D "VERSION=${PROJECT_VERSION}"
      -P "${CMAKE_CURRENT_LIST_FILE}"
    DEPENDS ${ASSAY_WEB_SOURCES} "${CMAKE_CURRENT_LIST_FILE}" COMMENT "Embedding web/" VERBATIM)
  target_sources(assay_server PRIVATE "${ASSAY_WEB_OUTPUT}")
  return()
endif()

set(arrays "")
set(cases "")
string(REPLACE "|" ";" sources "${SOURCES}")
foreach(source IN LISTS sources)
  get_filename_component(name "${source}" NAME)
  string(MAKE_C_IDENTIFIER "k_${name}" symbol)
  # Bytes, not a literal of text: no compiler's limit on the length of a literal applies.
  file(READ "${source}" hex HEX)
  string(HEX "@ASSAY_VERSION@" mark)
  string(HEX "${VERSION}" version)
  # Between two bytes it cannot be found: the mark's half bytes 4 | 04 | 15 would be control characters, which no text has.
  string(REPLACE "${mark}" "${version}" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  string(REPLACE "'\\x0a'," "'\\x0a',\n    " bytes "${bytes}")  # a line for each line
  string(APPEND arrays "constexpr char ${symbol}[] = {\n    ${bytes}};\n")
  string(APPEND cases "  if (name == \"${name}\") return {${symbol}, sizeof(${symbol})};\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made by cmake/web.cmake from the files of web/.
#include \"server/web_pages.h\"

namespace assay::server {
namespace {

${arrays}
}  // namespace

std::string_view web_file(std::string_view name) {
${cases}  return {};
}

}  // namespace assay::server
")
