#include "tests/support/draw.h"

namespace pawl::test {
namespace {

using rc::gen::arbitrary;
using rc::gen::exec;

rc::Gen<LeaseKey> AnyKey() {
  return exec([] {
    return LeaseKey{*UpTo(OrderKind::kConfirm), *FromOne<TrackId>(), *FromOne<Generation>(),
                    *FromOne<Attempt>(), *AnyInteger<std::uint32_t>()};
  });
}

rc::Gen<LedgerHead> AnyHead() {
  return exec([] {
    LedgerHead head;
    if (*arbitrary<bool>()) head.ledger = LedgerId(*HexId());
    head.seq = Seq(*AnyInteger<std::uint64_t>());
    head.digest = *AnyDigest();
    return head;
  });
}

rc::Gen<DeviceFacts> AnyDevice() {
  return exec([] {
    DeviceFacts device;
    device.kind = *AnyWord();
    device.model = *NotEmptyLine();
    device.uuid = *AnyLine();
    device.toolchain = *AnyLine();
    device.backend = *WordOrNothing();
    device.instruments = *ListOf<Instrument>(UpTo(Instrument::kGraphTime), 0, 5);
    device.cores = *AnyInteger<std::uint32_t>();
    device.peak_gflops = *NotNegative();
    device.peak_gbytes_per_s = *NotNegative();
    device.needs_source = *arbitrary<bool>();
    device.pinned_mhz = *AnyInteger<std::uint16_t>();
    return device;
  });
}

Hello MakeHello() {
  Hello hello;
  hello.worker = WorkerId(*AnyWord());
  hello.boot = BootId(*AnyWord());
  hello.version = *AnyLine();
  hello.host = *AnyLine();
  hello.device = *AnyDevice();
  hello.held = *ListOf<LeaseKey>(AnyKey(), 0, 10);
  hello.head = *AnyHead();
  return hello;
}

Welcome MakeWelcome() {
  Welcome welcome;
  welcome.ledger = LedgerId(*HexId());
  welcome.epoch = Epoch(*AnyInteger<std::uint32_t>());
  welcome.beat_ms = *Within<std::uint32_t>(1, 1'000'000);
  welcome.lost_ms = *Within<std::uint32_t>(welcome.beat_ms, 2'000'000);
  return welcome;
}

Prepare MakePrepare() {
  Prepare prepare;
  prepare.backend = *AnyWord();
  prepare.sources = *ListOf<SourceText>(AnySource(), 0, 3);
  prepare.build_options = *ListOf<std::string>(NotEmptyLine(), 0, 4);
  prepare.buffers = *AnyBuffers();
  prepare.scalars = *AnyScalars();
  for (std::size_t i = 0; i < prepare.sources.size(); ++i) {
    prepare.launches.push_back(*AnyLaunch({prepare.buffers, prepare.scalars.size(), 0}));
  }
  return prepare;
}

}  // namespace

rc::Gen<Message> AnyMessageOfType(std::size_t index) {
  return exec([=]() -> Message {
    switch (index) {
      case 0:
        return MakeHello();
      case 1:
        return MakeWelcome();
      case 2:
        return Refuse{*UpTo(RefuseCode::kNotReady), *AnyLine()};
      case 3:
        return Ready{*Within<std::uint32_t>(0, 1024)};
      case 4:
        return Grant{*AnyOrder(), Epoch(*AnyInteger<std::uint32_t>()),
                     *Within<std::uint32_t>(1, 100'000'000)};
      case 5:
        return MakePrepare();
      case 6:
        return Beat{*ListOf<LeaseKey>(AnyKey(), 0, 10), *AnyInteger<std::uint64_t>(),
                    *arbitrary<bool>()};
      case 7:
        return BeatAck{*ListOf<LeaseKey>(AnyKey(), 0, 10)};
      case 8:
        return ReportMessage{*AnyReport()};
      case 9:
        return Ack{*AnyKey(), *AnyDigest(), *AnyHead()};
      case 10:
        return RejectMessage{*AnyKey(), *AnyDigest(), *UpTo(RejectCode::kNotOpenHere), *AnyLine(),
                             *arbitrary<bool>()};
      case 11:
        return Cancel{*AnyKey()};
      case 12:
        return Drain{};
      case 13:
        return Release{*AnyKey(), *AnyLine()};
      case 14:
        return Bye{*AnyLine()};
      case 15:
        return Ask{*UpTo(AskVerb::kWatch), *arbitrary<bool>() ? *AnyWord() : "", *AnyLine(),
                   *AnyLine(), *Within<std::int32_t>(-kMaxPriority, kMaxPriority), *AnyLine(),
                   *arbitrary<bool>()};
      case 16:
        return Reply{*UpTo(ReplyCode::kWrong), *arbitrary<bool>(), *AnyLine()};
      default:
        break;
    }
    CHECK(false, "no message type", index);
  });
}

rc::Gen<Message> AnyMessage() {
  return rc::gen::mapcat(Within<std::size_t>(0, std::variant_size_v<Message> - 1),
                         [](std::size_t index) { return AnyMessageOfType(index); });
}

}  // namespace pawl::test
