# One CMake library a folder. Its headers are reachable as "dpreduce/<name>/<header>.hpp" through an include root of its
# own (a link in the build tree), so that a file can include only what its target declares: a forbidden edge of the
# layering does not compile.

# dpreduce_precompiled_headers(<name> HEADERS <header>... [OPTIONS <option>...] [DEPENDS <target>...])
# Headers that most files of a kind include, parsed once for all of them: parsing is half of a build's time. A file still
# includes what it uses; -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without, which shows where one does not.
function(dpreduce_precompiled_headers name)
  cmake_parse_arguments(arg "" "" "HEADERS;OPTIONS;DEPENDS" ${ARGN})
  file(CONFIGURE OUTPUT ${name}.cpp CONTENT "")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} dpreduce_warnings)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

# dpreduce_library(<name> SOURCES <file>... [DEPENDS <target>...] [PRIVATE_DEPENDS <target>...])
function(dpreduce_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  set(target dpreduce_${name})
  set(include_root ${PROJECT_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${include_root}/dpreduce)
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${include_root}/dpreduce/${name} SYMBOLIC)

  add_library(${target} STATIC ${arg_SOURCES})
  add_library(dpreduce::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${include_root}>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE_DEPENDS} dpreduce_warnings)
  target_precompile_headers(${target} REUSE_FROM dpreduce_library_headers)

  install(TARGETS ${target} EXPORT dpreduceTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dpreduce/${name}
          FILES_MATCHING PATTERN "*.hpp")
endfunction()

# dpreduce_compile_as_test(<name>): GoogleTest and its headers, for a program or library of tests.
function(dpreduce_compile_as_test name)
  target_link_libraries(${name} PRIVATE dpreduce_warnings GTest::gtest GTest::gmock fmt::fmt)
  # GCC 12 at -O1 sees copies past the end of a std::string that are none.
  target_compile_options(${name} PRIVATE ${DPREDUCE_TEST_OPTIONS}
                                         $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
  target_precompile_headers(${name} REUSE_FROM dpreduce_test_headers)
endfunction()

# dpreduce_test(<name> SOURCES <file>... DEPENDS <target>... [LABEL unit|statistical|cli|slow] [TIMEOUT <seconds>])
# One GoogleTest program, and a ctest of its own.
function(dpreduce_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;DEPENDS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} GTest::gtest_main)
  dpreduce_compile_as_test(${name})
  target_compile_definitions(${name} PRIVATE DPREDUCE_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()

# dpreduce_fuzzer(<name> SOURCES <file>... DEPENDS <target>... [CORPUS <folder>])
# A libFuzzer entry point. With Clang and DPREDUCE_FUZZ it fuzzes; otherwise a plain driver replays the corpus, so that
# the target is built and its corpus checked in every configuration.
function(dpreduce_fuzzer name)
  cmake_parse_arguments(arg "" "CORPUS" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} dpreduce_warnings)
  if(DPREDUCE_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set(found ${CMAKE_CURRENT_BINARY_DIR}/${name}.found) # new inputs go to the first folder that is named
    file(MAKE_DIRECTORY ${found})
    add_test(NAME ${name} COMMAND ${name} -runs=20000 -max_total_time=20 -rss_limit_mb=4096 ${found} ${arg_CORPUS})
  else()
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cpp)
    add_test(NAME ${name} COMMAND ${name} ${arg_CORPUS})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT 300)
endfunction()

# Environment of every test that starts mpirun: root, more ranks than cores, no binding of ranks to cores; no epoll, about
# which libevent inside mpirun warns on standard error where a rank ends at the wrong moment (Open MPI issue 2004).
set(DPREDUCE_MPI_ENVIRONMENT
    "OMPI_ALLOW_RUN_AS_ROOT=1" "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1" "OMPI_MCA_rmaps_base_oversubscribe=1"
    "OMPI_MCA_btl_vader_single_copy_mechanism=none" "OMPI_MCA_hwloc_base_binding_policy=none" "EVENT_NOEPOLL=1")

# dpreduce_mpi_test(<name> SOURCES <file>... DEPENDS <target>... RANKS <count>...)
# One GoogleTest program, run once for each number of ranks; a case passes when it passes on every rank.
function(dpreduce_mpi_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;RANKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/tests/mpi/mpi_test_main.cpp)
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} dpreduce::transport)
  dpreduce_compile_as_test(${name})
  foreach(ranks IN LISTS arg_RANKS)
    add_test(NAME ${name}_${ranks} COMMAND ${MPIEXEC_EXECUTABLE} -n ${ranks} $<TARGET_FILE:${name}> --gtest_brief=1)
    set_tests_properties(${name}_${ranks} PROPERTIES LABELS mpi TIMEOUT 120 ENVIRONMENT "${DPREDUCE_MPI_ENVIRONMENT}")
  endforeach()
endfunction()
