# One library a room of src/. Headers are reached by their path from src/, the one include root; which rooms a room may
# include stands in rooms.txt.

# dpreduce_add_rooms()
# The folders of rooms.txt, in its order.
function(dpreduce_add_rooms)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/rooms.txt)
  file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/rooms.txt lines REGEX "^[^#]")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^([^:]+):(.*)$" matched "${line}")
    set(room ${CMAKE_MATCH_1})
    separate_arguments(below UNIX_COMMAND "${CMAKE_MATCH_2}")
    list(TRANSFORM below REPLACE "^(.*/)?([^/]+)$" "dpreduce::\\2")
    set(dpreduce_rooms_below ${below})
    add_subdirectory(${room})
  endforeach()
endfunction()

# dpreduce_methods(<variable>)
# The methods that src/methods/all_methods.inc lists, by the names of their files.
function(dpreduce_methods variable)
  set(list ${PROJECT_SOURCE_DIR}/src/methods/all_methods.inc)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} methods REGEX "^METHOD")
  list(TRANSFORM methods REPLACE "^METHOD[(](.+)[)]$" "\\1")
  set(${variable} ${methods} PARENT_SCOPE)
endfunction()

# dpreduce_precompiled_headers(<name> HEADERS <header>... [OPTIONS <option>...] [DEPENDS <target>...])
# Headers that most files of a kind include, parsed once for all of them: parsing is half of a build's time. A file still
# includes what it uses, itself or by headers of its room; -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without, which
# shows where one does not.
function(dpreduce_precompiled_headers name)
  cmake_parse_arguments(arg "" "" "HEADERS;OPTIONS;DEPENDS" ${ARGN})
  file(CONFIGURE OUTPUT ${name}.cpp CONTENT "")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} dpreduce_warnings)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

# Of what runs once, not once a row or coordinate: compiled in two-thirds of the time or less.
set(DPREDUCE_COLD_OPTIONS $<$<CONFIG:Release>:-Og> $<$<BOOL:${DPREDUCE_SANITIZE}>:-O0>)

# dpreduce_room(SOURCES <file>... [HOT_SOURCES <file>...] [PACKAGES <target>...] [PRIVATE_PACKAGES <target>...]
#               [HOT] [FILE_BY_FILE] [NAME <name>])
# The library dpreduce_<folder> of the folder that calls it, on the rooms that rooms.txt allows it. NAME: the folder's
# second library, of files that not every program links.
#
# Files are compiled twenty at a time, since their headers cost more than they do, FILE_BY_FILE where that cannot be; so
# names are unique in a room, also within unnamed namespaces. A room that is HOT computes once a row or coordinate, and
# is optimized. Of another room HOT_SOURCES are: each is compiled alone. Under sanitizers they are not, since tests
# compute little in them.
function(dpreduce_room)
  cmake_parse_arguments(arg "HOT;FILE_BY_FILE" "NAME" "SOURCES;HOT_SOURCES;PACKAGES;PRIVATE_PACKAGES" ${ARGN})
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME name)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  if(arg_NAME)
    set(name ${arg_NAME})
  endif()
  set(target dpreduce_${name})
  add_library(${target} STATIC ${arg_SOURCES} ${arg_HOT_SOURCES})
  add_library(dpreduce::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> # <dpreduce/ROOM/...>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/dpreduce>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${dpreduce_rooms_below} ${arg_PACKAGES} PRIVATE ${arg_PRIVATE_PACKAGES} dpreduce_warnings)
  if(NOT arg_FILE_BY_FILE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 20)
  endif()
  if(arg_HOT)
    target_precompile_headers(${target} REUSE_FROM dpreduce_hot_headers)
  else()
    target_compile_options(${target} PRIVATE ${DPREDUCE_COLD_OPTIONS})
    target_precompile_headers(${target} REUSE_FROM dpreduce_cold_headers)
    if(NOT DPREDUCE_SANITIZE)
      set_source_files_properties(${arg_HOT_SOURCES} PROPERTIES
                                  COMPILE_OPTIONS $<$<CONFIG:Release>:-O3> SKIP_UNITY_BUILD_INCLUSION ON
                                  SKIP_PRECOMPILE_HEADERS ON) # theirs are compiled without optimization
    endif()
  endif()

  install(TARGETS ${target} EXPORT dpreduceTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dpreduce/${folder}
          COMPONENT development FILES_MATCHING PATTERN "*.hpp" PATTERN "*.inc") # headers include lists
endfunction()

# dpreduce_compile_as_test(<name> [HOT]): GoogleTest and its headers, for a program or library of tests.
function(dpreduce_compile_as_test name)
  cmake_parse_arguments(arg "HOT" "" "" ${ARGN})
  set(headers dpreduce_test_headers)
  set(options ${DPREDUCE_TEST_OPTIONS})
  if(arg_HOT AND TARGET dpreduce_hot_test_headers)
    set(headers dpreduce_hot_test_headers)
    set(options ${DPREDUCE_HOT_TEST_OPTIONS})
  endif()
  target_link_libraries(${name} PRIVATE dpreduce_warnings GTest::gtest GTest::gmock fmt::fmt)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}) # "tests/..."
  # GCC 12 at -O1 sees copies past the end of a std::string that are none.
  target_compile_options(${name} PRIVATE ${options}
                                         $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
  target_precompile_headers(${name} REUSE_FROM ${headers})
endfunction()

# dpreduce_test_program(<name> [SOURCES <file>...] DEPENDS <target>... [HOT])
# A GoogleTest program. Its files are compiled a few at a time: those of many hold a namespace each, of their own name.
# HOT: its own files compute much and are optimized. Those that use Eigen are as well: GCC 12 cannot compile its headers
# behind precompiled ones without optimization.
function(dpreduce_test_program name)
  cmake_parse_arguments(arg "HOT" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS})
  if(arg_HOT)
    dpreduce_compile_as_test(${name} HOT)
  else()
    dpreduce_compile_as_test(${name})
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  target_compile_definitions(${name} PRIVATE DPREDUCE_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
endfunction()

# dpreduce_test_of_files(<name> <program> <file>... [LABEL unit|statistical|cli|slow] [TIMEOUT <seconds>]
#                        [SLOW_TIMEOUT <seconds>] [COST <seconds>] [RANKS <count>...])
# A ctest of the cases of these files, which it adds to a program that many share: a program costs much to build, and the
# tests of one run one after the other. SLOW_TIMEOUT: they have a long form (tests/slow_tests.hpp), a second ctest with
# the label slow. COST: about so long they take; tests with a cost begin first, the longest before all, so that none is
# left alone at the end. RANKS: they run under mpirun, once for each number of ranks; a case passes when it passes on
# every rank.
function(dpreduce_test_of_files name program)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT;SLOW_TIMEOUT;COST" "RANKS" ${ARGN})
  target_sources(${program} PRIVATE ${arg_UNPARSED_ARGUMENTS})
  set(filter)
  foreach(file IN LISTS arg_UNPARSED_ARGUMENTS)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} suites REGEX "^TEST(_F|_P)?[(]")
    list(TRANSFORM suites REPLACE "^TEST[_FP]*[(]([A-Za-z0-9]+).*" "\\1")
    list(REMOVE_DUPLICATES suites)
    foreach(suite IN LISTS suites)
      list(APPEND filter ${suite}.* */${suite}.*)
    endforeach()
  endforeach()
  list(JOIN filter ":" filter)
  dpreduce_add_tests(${name} ${program} FILTER ${filter} LABEL ${arg_LABEL} TIMEOUT ${arg_TIMEOUT}
                     SLOW_TIMEOUT ${arg_SLOW_TIMEOUT} COST ${arg_COST} RANKS ${arg_RANKS})
endfunction()

# dpreduce_test(<name> SOURCES <file>... DEPENDS <target>... [LABEL ...] [TIMEOUT ...] [SLOW_TIMEOUT ...] [COST ...]
#               [HOT [WARM]] [LONG <case>...] [NOT_SANITIZED <case>...])
# A program and the ctest of all its cases, as above. LONG: cases that compute much more of what other cases compute, left
# to the label slow. NOT_SANITIZED: those that sanitizers, five times slower, do without as well.
function(dpreduce_test name)
  cmake_parse_arguments(arg "HOT;WARM" "LABEL;TIMEOUT;SLOW_TIMEOUT;COST" "SOURCES;DEPENDS;LONG;NOT_SANITIZED" ${ARGN})
  set(options)
  if(arg_HOT AND NOT (DPREDUCE_SANITIZE AND arg_WARM)) # WARM: not under sanitizers, as HOT_SOURCES of rooms
    set(options HOT)
  endif()
  dpreduce_test_program(${name} SOURCES ${arg_SOURCES} DEPENDS ${arg_DEPENDS} GTest::gtest_main ${options})
  set(left_out ${arg_LONG})
  if(DPREDUCE_SANITIZE)
    list(APPEND left_out ${arg_NOT_SANITIZED})
  endif()
  set(filter)
  if(left_out)
    list(JOIN left_out ":" filter)
    set(filter -${filter})
  endif()
  if(arg_LONG AND NOT arg_SLOW_TIMEOUT)
    set(arg_SLOW_TIMEOUT 1200)
  endif()
  dpreduce_add_tests(${name} ${name} FILTER ${filter} LABEL ${arg_LABEL} TIMEOUT ${arg_TIMEOUT}
                     SLOW_TIMEOUT ${arg_SLOW_TIMEOUT} COST ${arg_COST})
endfunction()

# The ctests of one program and filter: what both of the above end in.
function(dpreduce_add_tests name program)
  cmake_parse_arguments(arg "" "FILTER;LABEL;TIMEOUT;SLOW_TIMEOUT;COST" "RANKS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  set(arguments --gtest_brief=1)
  if(arg_FILTER)
    list(APPEND arguments --gtest_filter=${arg_FILTER})
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    add_test(NAME ${name}_${ranks} COMMAND ${MPIEXEC_EXECUTABLE} -n ${ranks} $<TARGET_FILE:${program}> ${arguments})
    set_tests_properties(${name}_${ranks} PROPERTIES LABELS mpi TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${DPREDUCE_MPI_ENVIRONMENT}")
    if(arg_COST)
      set_tests_properties(${name}_${ranks} PROPERTIES COST ${arg_COST})
    endif()
  endforeach()
  if(arg_RANKS)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${program} ${arguments})
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
  if(arg_COST)
    set_tests_properties(${name} PROPERTIES COST ${arg_COST})
  endif()
  if(arg_SLOW_TIMEOUT)
    string(REGEX REPLACE "_test$" "_slow_test" slow ${name})
    list(FILTER arguments EXCLUDE REGEX "^--gtest_filter=-") # what is too long for the other, too
    add_test(NAME ${slow} COMMAND ${program} ${arguments})
    set_tests_properties(${slow} PROPERTIES LABELS slow TIMEOUT ${arg_SLOW_TIMEOUT} ENVIRONMENT DPREDUCE_SLOW_TESTS=1)
  endif()
endfunction()

# dpreduce_fuzzer(<name> SOURCES <file>... DEPENDS <target>... [CORPUS <folder>])
# A libFuzzer entry point. With Clang and DPREDUCE_FUZZ it fuzzes; otherwise a plain driver replays the corpus, so that
# the target is built and its corpus checked in every configuration. The test has one seed, so that it fails for the
# change that it looks at; to search for longer, start the program with its corpus and -max_total_time=600.
function(dpreduce_fuzzer name)
  cmake_parse_arguments(arg "" "CORPUS" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} dpreduce_warnings)
  if(DPREDUCE_FUZZ)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set(found ${CMAKE_CURRENT_BINARY_DIR}/${name}.found) # new inputs go to the first folder that is named
    file(MAKE_DIRECTORY ${found})
    add_test(NAME ${name} COMMAND ${name} -seed=1 -runs=20000 -max_total_time=5 -rss_limit_mb=4096 ${found} ${arg_CORPUS})
  else()
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cpp)
    add_test(NAME ${name} COMMAND ${name} ${arg_CORPUS})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT 300)
endfunction()

# Environment of every test that starts mpirun: root, more ranks than cores, no binding of ranks to cores; no epoll, about
# which libevent inside mpirun warns on standard error where a rank ends at the wrong moment (Open MPI issue 2004). When a
# rank fails, mpirun waits two seconds before it kills the other ranks, even if there are none. Tests do not wait. Nor do
# they look for fast networks and displays (launch/local).
set(DPREDUCE_MPI_ENVIRONMENT
    "OMPI_ALLOW_RUN_AS_ROOT=1" "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1" "OMPI_MCA_rmaps_base_oversubscribe=1"
    "OMPI_MCA_btl_vader_single_copy_mechanism=none" "OMPI_MCA_hwloc_base_binding_policy=none" "EVENT_NOEPOLL=1"
    "OMPI_MCA_mpi_yield_when_idle=1" "OMPI_MCA_pml=ob1" "OMPI_MCA_btl=self,vader" "OMPI_MCA_odls_base_sigkill_timeout=0"
    "HWLOC_COMPONENTS=-gl,-opencl,-pci" "PMIX_MCA_gds=hash")
