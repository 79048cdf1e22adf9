# Tests of the state of a search and of the decisions about it.
add_library(search_fakes STATIC search_fakes.cc)
target_link_libraries(search_fakes PUBLIC pawl_search)
pawl_test(search_track_test LABEL unit SOURCES track_test.cc LINK pawl_search)
pawl_test(search_orders_test LABEL unit SOURCES orders_test.cc LINK search_fakes)
