# find_package(Calotype): the compiler and functions that put compiled pipelines into a build.
#
#   Calotype::calotype     libcalotype, for generators and for programs that compile while they run
#   Calotype::runtime      headers of compiled pipelines (HalideRuntime.h, HalideBuffer.h) and what they link with
#
#   add_calotype_generator(NAME SOURCE...)
#     An executable from generator sources, with GenGen's command line.
#
#   add_calotype_library(NAME FROM GENERATOR_TARGET [GENERATOR REGISTERED_NAME] [FUNCTION C_NAME]
#                        [SCHEDULE FILE|FOLDER] [TARGETS TARGET...] [PARAMS NAME=VALUE...] [ALSO KIND...])
#     Runs the generator. NAME is a library target whose header is NAME.h; the generator and the C function are called
#     NAME too unless said otherwise. Several TARGETS: the first that a processor can run is used, the last must fit all.
#     ALSO: further kinds of files (c_source, assembly, stmt ...), beside the library in CALOTYPE_DIRECTORY, a property
#     of NAME. A change of the generator or of a schedule runs it again.
#     NAME.rungen, built only when asked for, is the program that runs the pipeline from the command line on files
#     (`NAME.rungen --help`); it links libpng, libjpeg and libtiff.
include(CMakeFindDependencyMacro)
find_dependency(Threads)

get_filename_component(CALOTYPE_ROOT "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET Calotype::calotype)
  add_library(Calotype::runtime INTERFACE IMPORTED)
  set_target_properties(Calotype::runtime PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${CALOTYPE_ROOT}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS}")
  add_library(Calotype::calotype SHARED IMPORTED)
  set_target_properties(Calotype::calotype PROPERTIES
    IMPORTED_LOCATION "${CALOTYPE_ROOT}/lib/libcalotype.so"
    INTERFACE_INCLUDE_DIRECTORIES "${CALOTYPE_ROOT}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_17)
  # The runtime comes last, for libraries without one; it is left out where it is not needed.
  add_library(Calotype::rungen STATIC IMPORTED)
  set_target_properties(Calotype::rungen PROPERTIES
    IMPORTED_LOCATION "${CALOTYPE_ROOT}/lib/libcalotype_rungen.a"
    IMPORTED_LINK_INTERFACE_LANGUAGES CXX
    INTERFACE_LINK_LIBRARIES "png;jpeg;tiff;${CALOTYPE_ROOT}/lib/libcalotype_runtime.a;Calotype::runtime")
endif()

function(add_calotype_generator name)
  if(NOT ARGN)
    message(FATAL_ERROR "add_calotype_generator(${name}): no sources")
  endif()
  add_executable(${name} ${ARGN} "${CALOTYPE_ROOT}/share/tools/GenGen.cpp")
  target_link_libraries(${name} PRIVATE Calotype::calotype)
endfunction()

function(add_calotype_library name)
  cmake_parse_arguments(ARG "" "FROM;GENERATOR;FUNCTION;SCHEDULE" "TARGETS;PARAMS;ALSO" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "add_calotype_library(${name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TARGET "${ARG_FROM}")
    message(FATAL_ERROR "add_calotype_library(${name}): FROM must name a target of add_calotype_generator, "
                        "not \"${ARG_FROM}\"")
  endif()
  foreach(param IN LISTS ARG_PARAMS)
    if(NOT param MATCHES "^[^=]+=")
      message(FATAL_ERROR "add_calotype_library(${name}): PARAMS are name=value, not \"${param}\"")
    endif()
  endforeach()
  if(NOT ARG_GENERATOR)
    set(ARG_GENERATOR ${name})
  endif()
  if(NOT ARG_FUNCTION)
    set(ARG_FUNCTION ${name})
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/calotype/${name}")
  set(words -g ${ARG_GENERATOR} -f ${ARG_FUNCTION} -n ${name} -o ${folder})
  list(JOIN ARG_ALSO "," also)
  if(also)
    set(also ",${also}")
  endif()
  list(APPEND words -e "static_library,c_header,registration${also}")
  if(ARG_TARGETS)
    list(JOIN ARG_TARGETS "," targets)
    list(APPEND words "target=${targets}")
  endif()
  set(schedules "")
  if(ARG_SCHEDULE)
    get_filename_component(schedule "${ARG_SCHEDULE}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    if(IS_DIRECTORY "${schedule}")
      file(GLOB schedules CONFIGURE_DEPENDS "${schedule}/*.sched")
    elseif(EXISTS "${schedule}")
      set(schedules "${schedule}")
    else()
      message(FATAL_ERROR "add_calotype_library(${name}): there is no schedule ${schedule}")
    endif()
    list(APPEND words "schedule=${schedule}")
  endif()
  list(APPEND words ${ARG_PARAMS})

  set(library "${folder}/${name}.a")
  set(registration "${folder}/${name}.registration.cpp")
  add_custom_command(OUTPUT "${library}" "${folder}/${name}.h" "${registration}"
    COMMAND ${ARG_FROM} ${words}
    DEPENDS ${ARG_FROM} ${schedules}
    COMMENT "Compiling the pipeline ${name}" VERBATIM)
  add_custom_target(${name}.files DEPENDS "${library}")
  file(MAKE_DIRECTORY "${folder}")
  add_library(${name} STATIC IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES
    IMPORTED_LOCATION "${library}"
    CALOTYPE_DIRECTORY "${folder}"
    INTERFACE_INCLUDE_DIRECTORIES "${folder}"
    INTERFACE_LINK_LIBRARIES Calotype::runtime)
  add_dependencies(${name} ${name}.files)

  add_executable(${name}.rungen EXCLUDE_FROM_ALL "${CALOTYPE_ROOT}/share/tools/RunGenMain.cpp" "${registration}")
  add_dependencies(${name}.rungen ${name}.files)
  target_link_libraries(${name}.rungen PRIVATE ${name} Calotype::rungen)
endfunction()
