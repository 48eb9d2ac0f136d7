# cmake --install: headers, libpeal.a and libpeal.so, tools, find_package(peal) and pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS peal peal_shared
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Folders stay: <peal/collectives/communicator.h> includes "base/data_type.h", which include/peal resolves.
set(peal_public_headers
    base/api.h base/data_type.h base/deadline.h base/error.h base/log.h base/reduce.h base/settings.def base/settings.h
    base/version.h topology/machine.h topology/path.h topology/places.h topology/read.h topology/rings.h
    transports/transport.h transports/registry.h transports/bootstrap/launch.h
    collectives/communicator.h collectives/peal.h collectives/plan.h collectives/plan_builder.h collectives/check.h
    collectives/simulate.h collectives/select.h collectives/algorithms/catalog.h)
foreach(header IN LISTS peal_public_headers)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/peal/${folder})
endforeach()
install(FILES collectives/peal.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/peal)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# What a program that links libpeal.a needs besides: names for pkg-config, and for find_package.
set(PEAL_PKG_REQUIRES "fmt spdlog libsodium tinyxml2")
if(HWLOC_FOUND)
  string(APPEND PEAL_PKG_REQUIRES " hwloc")
endif()
if(IBVERBS_FOUND)
  string(APPEND PEAL_PKG_REQUIRES " libibverbs")
endif()
if(UCX_FOUND)
  string(APPEND PEAL_PKG_REQUIRES " ucx")
endif()
string(REPLACE " " ";" PEAL_PKG_MODULES "${PEAL_PKG_REQUIRES}")
configure_package_config_file(cmake/peal-config.cmake.in ${PROJECT_BINARY_DIR}/peal-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/peal
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/peal-config-version.cmake COMPATIBILITY SameMinorVersion)
# Relative, so that an installed tree may be moved, or installed by --prefix to where it was not configured for.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
           OUTPUT_VARIABLE PEAL_PREFIX_FROM_PC)
configure_file(cmake/peal.pc.in ${PROJECT_BINARY_DIR}/peal.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/peal-config.cmake ${PROJECT_BINARY_DIR}/peal-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/peal)
install(FILES ${PROJECT_BINARY_DIR}/peal.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
