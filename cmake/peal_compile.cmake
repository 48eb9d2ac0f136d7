# Flags that every folder is built with, and the functions that make targets.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(peal_flags INTERFACE)
target_compile_options(peal_flags INTERFACE -Wall -Wextra -Wshadow -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 warns of overlap in std::string's own operator+ (GCC bug 105651).
  target_compile_options(peal_flags INTERFACE -Wno-restrict)
endif()
if(PEAL_WERROR)
  target_compile_options(peal_flags INTERFACE -Werror)
endif()
target_include_directories(peal_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
if(PEAL_SANITIZE)
  target_compile_options(peal_flags INTERFACE -fsanitize=${PEAL_SANITIZE} -fno-omit-frame-pointer
                                              -fno-sanitize-recover=all)
  target_link_options(peal_flags INTERFACE -fsanitize=${PEAL_SANITIZE})
endif()

# peal_folder(base SOURCES a.cc b.cc LINK fmt::fmt): the object library peal_base, which goes into libpeal. LINK is
# private to the folder's own files but is passed on to whoever links the library.
function(peal_folder name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(peal_${name} OBJECT ${arg_SOURCES})
  target_link_libraries(peal_${name} PRIVATE peal_flags ${arg_LINK})
  set_property(GLOBAL APPEND PROPERTY PEAL_FOLDERS peal_${name})
  set_property(GLOBAL APPEND PROPERTY PEAL_LINK ${arg_LINK})
endfunction()

# peal_program(all_reduce_perf SOURCES ... LINK ...): an installed executable that links libpeal statically.
function(peal_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE peal_flags peal ${arg_LINK})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# All tests labelled `sanitize`, for the sanitizer presets: the others need not be built there.
add_custom_target(sanitized_tests)

# peal_test(plan_test SOURCES plan_test.cc LABELS sanitize LINK ...): a GoogleTest program, one ctest entry.
# Label `sanitize` marks those that the sanitizer presets run.
function(peal_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE peal_flags peal ${arg_LINK} GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
  if("sanitize" IN_LIST arg_LABELS)
    add_dependencies(sanitized_tests ${name})
  endif()
endfunction()
