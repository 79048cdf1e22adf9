# The programs that scripts/bundle packs find the libraries it puts beside them, and those the
# libraries of their own: DT_RPATH, since DT_RUNPATH does not hold for libraries of libraries. Where
# there is no such folder, as in a build, the system's are found.

function(pawl_bundled program path)
  if(TARGET ${program})
    set_target_properties(${program} PROPERTIES BUILD_RPATH "${path}" BUILD_RPATH_USE_ORIGIN ON)
    target_link_options(${program} PRIVATE -Wl,--disable-new-dtags)
  endif()
endfunction()

# What a worker does not need it must not find either: a kernel it loads brings a libgomp of its own compiler.
pawl_bundled(pawl "$ORIGIN/../lib:$ORIGIN/../lib/pawl")
pawl_bundled(pawl-worker "$ORIGIN/../lib")
pawl_bundled(pawl_gpu_test "$ORIGIN/../lib")
