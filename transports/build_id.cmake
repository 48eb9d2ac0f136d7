# cmake -DROOT=... -DVERSION=0.1.0 -DOUTPUT=build_id.cc -P build_id.cmake
# One hash over every source that decides what ranks say to each other and which plan each of them computes.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE sources ${ROOT}/base/* ${ROOT}/topology/*.h ${ROOT}/topology/*.cc ${ROOT}/transports/*.h
     ${ROOT}/transports/*.cc ${ROOT}/collectives/*.h ${ROOT}/collectives/*.cc)
set(all ${VERSION})
foreach(source IN LISTS sources)
  file(SHA256 ${source} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 8 hash)
string(REPLACE "." ", " version ${VERSION})
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT
"#include \"transports/build_id.h\"

const peal::BuildId peal::kThisBuild = {{@version@}, 0x@hash@u};
")
