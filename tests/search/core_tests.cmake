# Tests of the state of a search and of the decisions about it.
pawl_test(search_track_test LABEL unit SOURCES track_test.cc LINK pawl_search)
