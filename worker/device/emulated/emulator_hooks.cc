#include "worker/device/emulated/emulator_state.h"

namespace pawl {
namespace {

Emulator::State& At(void* machine) { return *static_cast<Emulator::State*>(machine); }

template <unsigned kBytes, bool kWrite>
void OnAccess(void* machine, const void* at, const void* from) {
  At(machine).watch.Access<kBytes, kWrite>(reinterpret_cast<std::uintptr_t>(at), from);
}

// What the compiler describes an array index with (libubsan's ubsan_handlers.h): a place in the
// source, the array's type, the index's.
struct IndexData {
  const char* file;
  std::uint32_t line, column;
  const struct {
    std::uint16_t kind, info;
    char name[1];
  } * array;
};

void OnOutOfBounds(void* machine, const void* data, unsigned long index, const void*) {
  const auto& where = *static_cast<const IndexData*>(data);
  Watch& watch = At(machine).watch;
  watch.Fail(watch.DescribeCurrent() + " uses index " + std::to_string(static_cast<long>(index)) +
                 " of an array of type " + where.array->name,
             nullptr, {where.file, static_cast<int>(where.line)});
}

}  // namespace

void Emulator::State::SetHooks(LoadedKernel& load) {
  PawlHooks& hooks = *load.unit->hooks;
  hooks.machine = this;
  hooks.read[0] = &OnAccess<1, false>;
  hooks.read[1] = &OnAccess<2, false>;
  hooks.read[2] = &OnAccess<4, false>;
  hooks.read[3] = &OnAccess<8, false>;
  hooks.read[4] = &OnAccess<16, false>;
  hooks.write[0] = &OnAccess<1, true>;
  hooks.write[1] = &OnAccess<2, true>;
  hooks.write[2] = &OnAccess<4, true>;
  hooks.write[3] = &OnAccess<8, true>;
  hooks.write[4] = &OnAccess<16, true>;
  hooks.read_range = [](void* m, const void* at, unsigned long bytes, const void* from) {
    At(m).watch.AccessRange(reinterpret_cast<std::uintptr_t>(at), bytes, false, from);
  };
  hooks.write_range = [](void* m, const void* at, unsigned long bytes, const void* from) {
    At(m).watch.AccessRange(reinterpret_cast<std::uintptr_t>(at), bytes, true, from);
  };
  hooks.out_of_bounds = &OnOutOfBounds;
  hooks.atomic = [](void* m, const void* at, unsigned bytes, PawlSite site) {
    if (!At(m).order.watched) return;
    At(m).watch.Atomic(reinterpret_cast<std::uintptr_t>(at), bytes, site);
  };
  hooks.barrier = [](void* m, int kind, int predicate, PawlSite site) {
    return At(m).Barrier(kind, predicate, site);
  };
  hooks.warp = [](void* m, int operation, unsigned mask, unsigned long long value,
                  unsigned parameter, unsigned width, PawlSite site) -> unsigned long long {
    return At(m).Warp(operation, mask, value, parameter, width, site);
  };
  hooks.active_lanes = [](void* m, PawlSite site) { return At(m).ActiveLanes(site); };
  hooks.bounds = [](void* m, unsigned allowed, PawlSite site) {
    Watch& its = At(m).watch;
    its.Fail("launched with " + std::to_string(At(m).threads) +
                 " threads a block, of which its __launch_bounds__ allow " +
                 std::to_string(allowed),
             nullptr, site, true);
  };
  hooks.fence = [](void* m) {
    if (At(m).order.watched) At(m).watch.Fence();
  };
  hooks.copy = [](void* m, void* shared, const void* global, unsigned bytes, bool whole,
                  PawlSite site) {
    At(m).Copy({static_cast<std::byte*>(shared), static_cast<const std::byte*>(global), bytes,
                whole, 0, site});
  };
  hooks.copy_commit = [](void* m) { ++At(m).current->groups; };
  hooks.copy_wait = [](void* m, int latest) {
    At(m).WaitCopies(static_cast<std::uint32_t>(latest));
  };
  hooks.cluster_sync = [](void* m, PawlSite site) { At(m).ClusterBarrier(site); };
  hooks.map_shared = [](void* m, const void* shared, unsigned rank, PawlSite site) {
    return At(m).MapShared(shared, rank, site);
  };
  hooks.trap = [](void* m, PawlSite site) {
    Watch& its = At(m).watch;
    its.Fail(its.DescribeCurrent() + " stops at __trap()", nullptr, site);
  };
  hooks.assertion = [](void* m, const char* condition, PawlSite site) {
    Watch& its = At(m).watch;
    its.Fail(its.DescribeCurrent() + " stops at assert(" + condition + ")", nullptr, site);
  };
}

}  // namespace pawl
