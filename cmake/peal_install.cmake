# cmake --install: headers, libpeal.a and libpeal.so, tools, find_package(peal) and pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS peal peal_shared
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Folders stay: <peal/collectives/communicator.h> includes "base/data_type.h", which include/peal resolves.
foreach(folder base topology collectives)
  install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/peal/${folder}
          FILES_MATCHING PATTERN "*.h" PATTERN "reduce_kernels.h" EXCLUDE PATTERN "reduce_table.h" EXCLUDE)
endforeach()
install(DIRECTORY transports/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/peal/transports FILES_MATCHING
        PATTERN "transport.h" PATTERN "registry.h" PATTERN "launch.h")
install(FILES collectives/peal.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/peal)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# What a program that links libpeal.a needs besides: names for pkg-config, and for find_package.
set(PEAL_PKG_REQUIRES "fmt spdlog libsodium")
if(HWLOC_FOUND)
  string(APPEND PEAL_PKG_REQUIRES " hwloc")
endif()
if(UCX_FOUND)
  string(APPEND PEAL_PKG_REQUIRES " ucx")
endif()
string(REPLACE " " ";" PEAL_PKG_MODULES "${PEAL_PKG_REQUIRES}")
configure_package_config_file(cmake/peal-config.cmake.in ${PROJECT_BINARY_DIR}/peal-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/peal
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/peal-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/peal.pc.in ${PROJECT_BINARY_DIR}/peal.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/peal-config.cmake ${PROJECT_BINARY_DIR}/peal-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/peal)
install(FILES ${PROJECT_BINARY_DIR}/peal.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
