# Tests whose tools are missing are left out, with a line that says so. Where the tools were asked for, that is an error:
# launch/test installs them and must not end well with fewer tests.
set(DPREDUCE_TEST_TOOLS "" CACHE STRING
    "Tools of tests that must be there, by what launch/install-dependencies calls them: test, or ci, which has those too")

# dpreduce_test_tools(<variable> <mode> <tools> <found>...): ON where every <found> is true.
function(dpreduce_test_tools variable mode tools)
  set(${variable} ON PARENT_SCOPE)
  foreach(found IN LISTS ARGN)
    if(found)
      continue()
    endif()
    set(${variable} OFF PARENT_SCOPE)
    set(missing "${tools}: not all of it is there; launch/install-dependencies ${mode} installs it")
    if(DPREDUCE_TEST_TOOLS STREQUAL mode OR DPREDUCE_TEST_TOOLS STREQUAL "ci")
      message(FATAL_ERROR "${missing}")
    endif()
    message(STATUS "Tests are left out. ${missing}")
    break()
  endforeach()
endfunction()

# dpreduce_python_module(<variable> <python> <module>...): TRUE where that Python has these modules.
function(dpreduce_python_module variable python)
  list(JOIN ARGN ", " modules)
  set(${variable} FALSE PARENT_SCOPE)
  if(python)
    execute_process(COMMAND ${python} -c "import ${modules}" RESULT_VARIABLE missing OUTPUT_QUIET ERROR_QUIET)
    if(missing EQUAL 0)
      set(${variable} TRUE PARENT_SCOPE)
    endif()
  endif()
endfunction()
