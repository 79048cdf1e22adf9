// Launches: of a kernel, or of a fill of memory.

#include <algorithm>

#include "schema/codec_bytes.h"
#include "schema/codec_private.h"

namespace pawl::codec {
namespace {

constexpr std::size_t kMaxArguments = 128;
constexpr std::uint32_t kMaxCluster = 16;  // blocks: the largest that any device takes
constexpr std::uint32_t kMaxGeometry =
    0x7fffffff;  // the largest that any device takes; it says more

// 0 stands for 1, so that launches without clusters have the bytes they always had.
void WriteCluster(const std::array<std::uint32_t, 3>& value, wire::Launch::Builder out) {
  const auto wire = [](std::uint32_t side) { return side == 1 ? 0 : side; };
  out.setClusterX(wire(value[0]));
  out.setClusterY(wire(value[1]));
  out.setClusterZ(wire(value[2]));
}

std::array<std::uint32_t, 3> ReadCluster(wire::Launch::Reader in, const Place& at) {
  std::array<std::uint32_t, 3> value{in.getClusterX(), in.getClusterY(), in.getClusterZ()};
  std::uint32_t blocks = 1;
  for (std::uint32_t& side : value) {
    side = at.Within(std::max(side, 1u), 1, kMaxCluster);
    blocks *= side;
  }
  at.Within(blocks, 1, kMaxCluster);
  return value;
}

}  // namespace

void WriteLaunch(const Launch& value, wire::Launch::Builder out) {
  out.setKind(static_cast<wire::LaunchKind>(value.kind));
  out.setByte(value.byte);
  WriteCluster(value.cluster, out);
  out.setKernel(AsText(value.kernel));
  out.setGridX(value.grid[0]);
  out.setGridY(value.grid[1]);
  out.setGridZ(value.grid[2]);
  out.setBlockX(value.block[0]);
  out.setBlockY(value.block[1]);
  out.setBlockZ(value.block[2]);
  out.setDynamicSharedBytes(value.dynamic_shared_bytes);
  WriteList(value.arguments, out.initArguments(Size(value.arguments.size())),
            [](const Argument& argument, wire::Argument::Builder place) {
              switch (argument.kind) {
                case Argument::Kind::kBuffer:
                  return place.setBuffer(argument.index);
                case Argument::Kind::kScalar:
                  return place.setScalar(argument.index);
                case Argument::Kind::kScratch:
                  return place.setScratch(argument.index);
              }
            });
}

Launch ReadLaunch(wire::Launch::Reader in, const Place& at, const Targets& targets) {
  Launch value;
  value.kind = (at / "kind").Known(in.getKind(), LaunchKind::kMemset);
  value.byte = in.getByte();
  const bool is_memset = value.kind == LaunchKind::kMemset;
  if (!is_memset) {
    value.kernel = (at / "kernel").NotEmptyLine(in.getKernel());
  } else if (in.getKernel().size() > 0) {
    (at / "kernel").Refuse("a name", "none: a memset runs no kernel");
  }
  const auto extent = [&at](const char* name, std::uint32_t seen) {
    return (at / name).Within(seen, 1, kMaxGeometry);
  };
  value.grid = {extent("grid.x", in.getGridX()), extent("grid.y", in.getGridY()),
                extent("grid.z", in.getGridZ())};
  value.block = {extent("block.x", in.getBlockX()), extent("block.y", in.getBlockY()),
                 extent("block.z", in.getBlockZ())};
  value.dynamic_shared_bytes =
      (at / "dynamic_shared_bytes").Within(in.getDynamicSharedBytes(), 0, kMaxGeometry);
  value.cluster = ReadCluster(in, at / "cluster");
  for (std::size_t side = 0; side < 3; ++side) {
    if (value.grid[side] % value.cluster[side] == 0) continue;
    (at / "cluster").Refuse("no divisor of the grid", "clusters that fill the grid");
  }
  const Place arguments = at / "arguments";
  value.arguments = ReadList(
      in.getArguments(), arguments, is_memset ? 1 : 0, is_memset ? 1 : kMaxArguments,
      [&](wire::Argument::Reader argument, const Place& place) -> Argument {
        switch (argument.which()) {
          case wire::Argument::BUFFER:
            return {Argument::Kind::kBuffer,
                    place.Index(argument.getBuffer(), targets.buffers.size(), "buffers")};
          case wire::Argument::SCALAR:
            return {Argument::Kind::kScalar,
                    place.Index(argument.getScalar(), targets.scalars, "scalars")};
          case wire::Argument::SCRATCH:
            return {Argument::Kind::kScratch,
                    place.Index(argument.getScratch(), targets.scratch, "scratch buffers")};
        }
        place.Refuse("of an unknown kind", "a buffer, a scalar or a scratch buffer");
        return {};
      });
  if (is_memset && !at.failed()) {
    const Argument& target = value.arguments.front();
    const bool writable = target.kind == Argument::Kind::kScratch ||
                          (target.kind == Argument::Kind::kBuffer &&
                           targets.buffers[target.index].role == BufferRole::kOutput);
    if (!writable) arguments[0].Refuse("nothing to be set", "an output or a scratch buffer");
  }
  return value;
}

}  // namespace pawl::codec
