#pragma once
// What passes between a kernel that the emulated device has compiled and the device: part of both.
// No header is included: a kernel's unit is parsed for each configuration, and bare text takes 0.05
// s where <cmath> alone takes half a second.
//
// A unit defines `pawl_position` and `pawl_hooks`; the device fills them in before it runs
// anything.

struct PawlIndex {
  unsigned x, y, z;
};

// Where the running thread is. The device rewrites it whenever it changes threads.
struct PawlPosition {
  PawlIndex thread, block, block_extent, grid_extent;
  unsigned rank;  // of the block in its cluster
  void* dynamic_shared;
};

// Where in a source something is asked for.
struct PawlSite {
  const char* file;
  int line;
};

enum PawlBarrier { kPawlSync, kPawlSyncCount, kPawlSyncAnd, kPawlSyncOr };

enum PawlWarpOperation {
  kPawlSyncWarp,
  kPawlShuffle,    // parameter: source lane
  kPawlShuffleUp,  // distance
  kPawlShuffleDown,
  kPawlShuffleXor,
  kPawlBallot,  // value: the predicate, of these three
  kPawlAny,
  kPawlAll,
  kPawlActive,
};

// The first argument of each is `machine`.
struct PawlHooks {
  void* machine;
  // An access of 1 << i bytes, before it happens; `from` is the address after the call.
  void (*read[5])(void*, const void* at, const void* from);
  void (*write[5])(void*, const void* at, const void* from);
  void (*read_range)(void*, const void* at, unsigned long bytes, const void* from);
  void (*write_range)(void*, const void* at, unsigned long bytes, const void* from);
  // An index outside an array's type: `data` is the compiler's, which names the place and the type.
  void (*out_of_bounds)(void*, const void* data, unsigned long index, const void* from);
  // A read-modify-write, before it happens.
  void (*atomic)(void*, const void* at, unsigned bytes, PawlSite);
  int (*barrier)(void*, int kind, int predicate, PawlSite);
  // Rendezvous of the lanes in `mask`: what this lane gets.
  unsigned long long (*warp)(void*, int operation, unsigned mask, unsigned long long value,
                             unsigned parameter, unsigned width, PawlSite);
  unsigned (*active_lanes)(void*, PawlSite);
  // A block is larger than __launch_bounds__(threads) allow.
  void (*bounds)(void*, unsigned threads, PawlSite);
  void (*fence)(void*);
  void (*copy)(void*, void* shared, const void* global, unsigned bytes, bool whole, PawlSite);
  void (*copy_commit)(void*);
  void (*copy_wait)(void*, int latest);
  void (*cluster_sync)(void*, PawlSite);
  void* (*map_shared)(void*, const void* shared, unsigned rank, PawlSite);
  void (*trap)(void*, PawlSite);
  void (*assertion)(void*, const char* condition, PawlSite);
};

// What a unit exports: extern "C" PawlUnit* pawl_unit().
struct PawlUnit {
  PawlPosition* position;
  PawlHooks* hooks;
  void** dynamic_shared;  // for what a file declares of it outside functions
};
// And extern "C" void pawl_launch_N(void* const* buffers, const long long* scalars, void* const*
// scratch): the N-th launch's kernel, by the thread at pawl_position.
