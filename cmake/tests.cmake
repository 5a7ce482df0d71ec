# What crosses rooms, needs a model or needs a process. Tests labelled `model` compute and never run side by side.
if(NOT BUILD_TESTING)
  return()
endif()

set(ASSAY_VENV_PYTHON "${CMAKE_CURRENT_SOURCE_DIR}/third_party/venv/bin/python")
set(ASSAY_DEFAULT_MODEL "${CMAKE_CURRENT_SOURCE_DIR}/models/SmolLM2-135M-Instruct.Q4_1.gguf")
if(DEFINED ENV{ASSAY_MODEL} AND NOT "$ENV{ASSAY_MODEL}" STREQUAL "")
  set(ASSAY_DEFAULT_MODEL "$ENV{ASSAY_MODEL}")
endif()

add_executable(assay_json_text_tool tests/json_text_tool.cc)
target_link_libraries(assay_json_text_tool PRIVATE assay_server)
add_test(NAME json_text_property
  COMMAND python3 "${CMAKE_CURRENT_SOURCE_DIR}/tests/json_text_property_test.py" $<TARGET_FILE:assay_json_text_tool>)

# Fits against scikit-learn's, where the tests' Python packages are (77: they are not).
add_executable(assay_reference_tool tests/teach/reference_tool.cc)
target_link_libraries(assay_reference_tool PRIVATE assay_teach)
set(assay_reference_python python3)
if(EXISTS "${ASSAY_VENV_PYTHON}")
  set(assay_reference_python "${ASSAY_VENV_PYTHON}")
endif()
add_test(NAME teach_reference COMMAND "${assay_reference_python}"
  "${CMAKE_CURRENT_SOURCE_DIR}/tests/teach/reference_test.py" $<TARGET_FILE:assay_reference_tool>)
set_tests_properties(teach_reference PROPERTIES SKIP_RETURN_CODE 77)

add_executable(assay_golden_test tests/semif_prompt_test.cc)
target_link_libraries(assay_golden_test PRIVATE assay_server assay_decision GTest::gtest_main GTest::gtest)
target_compile_definitions(assay_golden_test PRIVATE ASSAY_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}")
add_test(NAME semif_prompt COMMAND assay_golden_test)

# make soak has more rounds.
add_executable(assay_feedback_kill_tool tests/feedback_kill_tool.cc)
target_link_libraries(assay_feedback_kill_tool PRIVATE assay_store)
add_test(NAME feedback_kill COMMAND python3 "${CMAKE_CURRENT_SOURCE_DIR}/tests/soak/feedback_kill.py"
  --rounds 30 --tool $<TARGET_FILE:assay_feedback_kill_tool>)
add_executable(assay_lesson_writer_tool tests/lesson_writer_tool.cc)
target_link_libraries(assay_lesson_writer_tool PRIVATE assay_service)
add_test(NAME lesson_writers COMMAND python3 "${CMAKE_CURRENT_SOURCE_DIR}/tests/soak/lesson_writers.py"
  --rounds 10 --tool $<TARGET_FILE:assay_lesson_writer_tool>)

if(ASSAY_LLAMA)
  add_test(NAME tidy COMMAND python3 "${CMAKE_CURRENT_SOURCE_DIR}/tests/tidy/tidy.py" "${CMAKE_CURRENT_SOURCE_DIR}")
  add_test(NAME tidy_rules COMMAND python3 "${CMAKE_CURRENT_SOURCE_DIR}/tests/tidy/tidy_test.py")
  add_test(NAME setup COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/tests/setup_test.sh")

  # Tiny random models, made once from llama.cpp's vocabularies.
  set(ASSAY_TINY_DIR "${CMAKE_CURRENT_BINARY_DIR}/tiny")
  add_custom_command(OUTPUT "${ASSAY_TINY_DIR}/tiny-attention.gguf"
    COMMAND "${ASSAY_VENV_PYTHON}" "${CMAKE_CURRENT_SOURCE_DIR}/tests/models/make_tiny.py" "${ASSAY_LLAMA_DIR}" "${ASSAY_TINY_DIR}"
    DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/tests/models/make_tiny.py"
    COMMENT "Making tiny test models" VERBATIM)
  add_custom_target(assay_tiny_models DEPENDS "${ASSAY_TINY_DIR}/tiny-attention.gguf")

  file(GLOB assay_model_tests CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/tests/model/*_test.cc")
  if(assay_model_tests)
    add_executable(assay_model_test ${assay_model_tests})
    add_dependencies(assay_model_test assay_tiny_models)
    target_link_libraries(assay_model_test PRIVATE assay_server assay_service assay_engine GTest::gtest_main GTest::gtest)
    target_compile_definitions(assay_model_test PRIVATE ASSAY_TINY_DIR="${ASSAY_TINY_DIR}" ASSAY_DEFAULT_MODEL="${ASSAY_DEFAULT_MODEL}"
      ASSAY_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}" ASSAY_LLAMA_SOURCE_DIR="${ASSAY_LLAMA_DIR}")
    add_test(NAME model COMMAND assay_model_test)
    set_tests_properties(model PROPERTIES LABELS model)
  endif()
endif()
