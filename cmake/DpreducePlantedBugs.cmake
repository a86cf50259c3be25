# Programs with a bug planted in them, which a test must find. Eight are built with the tests: one each for noise, clips,
# bounds of persons, accounts, what readers see, silos, replace-one and choices. The others are SLOW: their patches are
# applied by every build, so that none rots, and the label slow builds and runs them.

find_program(PATCH_PROGRAM patch REQUIRED)

add_custom_target(dpreduce_slow_programs)
add_test(NAME slow_programs_are_built COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target dpreduce_slow_programs)
set_tests_properties(slow_programs_are_built PROPERTIES FIXTURES_SETUP slow_programs LABELS slow TIMEOUT 3600 PROCESSORS 2)

# dpreduce_slow_test(<test> <program target> [TRUE])
# Puts a test under the label slow where the last word says so, or where its program is one of the slow ones.
function(dpreduce_slow_test test program)
  get_target_property(is_slow ${program} EXCLUDE_FROM_ALL)
  if(is_slow)
    set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED slow_programs)
  endif()
  if(is_slow OR "${ARGN}")
    set_tests_properties(${test} PROPERTIES LABELS slow TIMEOUT 900)
  endif()
endfunction()

# dpreduce_slow_program(<target>...): what only tests under the label slow run.
function(dpreduce_slow_program)
  set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(dpreduce_slow_programs ${ARGN})
endfunction()

# dpreduce_mutant(<name> [SLOW] [MAIN <target>] <file>...)
# A program dpreduce_mutant_<name>, dpreduce or that of another MAIN, with the bug of mutants/<name>.patch in those files of
# src/: they are copied into the build tree, patched (a patch that no longer applies fails the build), compiled, and linked
# before the libraries. Of each function the linker takes the first definition, that of the patched file; the libraries
# are compiled for shared objects too, where no call of a function that others see is resolved before.
function(dpreduce_mutant name)
  cmake_parse_arguments(arg "SLOW" "MAIN" "" ${ARGN})
  if(NOT arg_MAIN)
    set(arg_MAIN dpreduce_main)
  endif()
  set(root ${CMAKE_CURRENT_BINARY_DIR}/${name})
  set(patch ${CMAKE_CURRENT_SOURCE_DIR}/mutants/${name}.patch)
  set(originals)
  set(mutants)
  set(copies)
  foreach(file IN LISTS arg_UNPARSED_ARGUMENTS)
    list(APPEND originals ${PROJECT_SOURCE_DIR}/${file})
    list(APPEND mutants ${root}/${file})
    list(APPEND copies COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/${file} ${root}/${file})
  endforeach()
  add_custom_command(OUTPUT ${mutants} ${copies}
                     COMMAND ${PATCH_PROGRAM} --strip=0 --fuzz=1 --forward --silent --directory=${root} --input=${patch}
                     DEPENDS ${originals} ${patch} COMMENT "Planting ${name}" VERBATIM)
  add_custom_target(dpreduce_planted_${name} ALL DEPENDS ${mutants})
  add_library(dpreduce_mutant_${name}_file OBJECT ${mutants}) # as rooms are compiled: their headers are parsed already
  add_dependencies(dpreduce_mutant_${name}_file dpreduce_planted_${name})
  target_link_libraries(dpreduce_mutant_${name}_file PRIVATE dpreduce::commands)
  target_include_directories(dpreduce_mutant_${name}_file BEFORE PRIVATE ${root}/src) # headers among the files
  target_compile_options(dpreduce_mutant_${name}_file PRIVATE ${DPREDUCE_COLD_OPTIONS})
  target_precompile_headers(dpreduce_mutant_${name}_file REUSE_FROM dpreduce_cold_headers)
  add_executable(dpreduce_mutant_${name})
  target_link_libraries(dpreduce_mutant_${name} PRIVATE dpreduce_mutant_${name}_file ${arg_MAIN})
  target_link_options(dpreduce_mutant_${name} PRIVATE -Wl,-z,muldefs)
  if(arg_SLOW)
    set_target_properties(dpreduce_mutant_${name}_file PROPERTIES EXCLUDE_FROM_ALL ON)
    dpreduce_slow_program(dpreduce_mutant_${name})
  endif()
endfunction()
