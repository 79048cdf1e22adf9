# The programs that scripts/bundle packs find the libraries it puts beside them, and those the
# libraries of their own: DT_RPATH, since DT_RUNPATH does not hold for libraries of libraries. Where
# there is no such folder, as in a build, the system's are found.

function(pawl_bundled)
  foreach(program ${ARGN})
    if(TARGET ${program})
      set_target_properties(${program} PROPERTIES BUILD_RPATH "$ORIGIN/../lib" BUILD_RPATH_USE_ORIGIN ON)
      target_link_options(${program} PRIVATE -Wl,--disable-new-dtags)
    endif()
  endforeach()
endfunction()

pawl_bundled(pawl pawl-worker pawl_gpu_test)
