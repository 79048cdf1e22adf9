#include "schema/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string Why(const std::string& endpoint, EndpointUse use,
                EndpointKeys keys = EndpointKeys::kNone) {
  const Status checked = CheckEndpoint(endpoint, use, keys);
  return checked ? "no fault" : checked.error().message;
}

TEST(Endpoint, RefusesWhatIsNotThisMachineOrHasNoGoodPort) {
  const std::pair<const char*, const char*> cases[] = {
      {"tcp://0.0.0.0:5577", "not a loopback address"},
      {"tcp://*:5577", "not a loopback address"},
      {"tcp://eth0:5577", "not a loopback address"},
      {"tcp://127.0.0.256:5577", "not a loopback address"},
      {"tcp://127.evil.example:5577", "not a loopback address"},
      {"tcp://127.0.0.1", "no port"},
      {"tcp://127.0.0.1:", "not between"},
      {"tcp://127.0.0.1:99999", "and 65535"},
      {"tcp://127.0.0.1:-1", "not a number"},
      {"ipc://", "no path"},
      {"ipc://@name", "open to every user"},
      {"udp://127.0.0.1:5577", "neither ipc:// nor tcp://"},
      {"", "neither ipc:// nor tcp://"},
  };
  for (const EndpointUse use : {EndpointUse::kConnect, EndpointUse::kListen}) {
    for (const auto& [endpoint, why] : cases) {
      EXPECT_THAT(Why(endpoint, use), AllOf(HasSubstr(endpoint), HasSubstr(why), HasSubstr("PORT")))
          << endpoint;
    }
    EXPECT_THAT(Why("ipc:///" + std::string(200, 'a'), use), HasSubstr("201 bytes long"));
    EXPECT_EQ(Why("ipc:///" + std::string(106, 'a'), use), "no fault");
    EXPECT_EQ(Why("tcp://127.9.8.7:1", use), "no fault");
    EXPECT_EQ(Why("tcp://[::1]:65535", use), "no fault");
  }
}

TEST(Endpoint, OnlyAListenerMayLeaveThePortOpen) {
  for (const char* endpoint : {"tcp://127.0.0.1:0", "tcp://127.0.0.1:*"}) {
    EXPECT_EQ(Why(endpoint, EndpointUse::kListen), "no fault") << endpoint;
    EXPECT_NE(Why(endpoint, EndpointUse::kConnect), "no fault") << endpoint;
  }
}

TEST(Endpoint, WithKeysIsAnyAddressOfTcp) {
  for (const char* endpoint : {"tcp://0.0.0.0:5577", "tcp://10.1.2.3:1", "tcp://[::]:5577",
                               "tcp://gpu1.example:65535", "tcp://127.0.0.1:5577"}) {
    for (const EndpointUse use : {EndpointUse::kConnect, EndpointUse::kListen}) {
      EXPECT_EQ(Why(endpoint, use, EndpointKeys::kBothSides), "no fault") << endpoint;
    }
  }
  const std::pair<const char*, const char*> cases[] = {
      {"ipc:///tmp/socket", "tcp:// only"},
      {"tcp://gpu1.example", "no port"},
      {"tcp://:5577", "no address"},
      {"tcp://10.1.2.3;10.1.2.4:5577", "no address"},
      {"tcp://gpu1:99999", "and 65535"},
  };
  for (const auto& [endpoint, why] : cases) {
    EXPECT_THAT(Why(endpoint, EndpointUse::kListen, EndpointKeys::kBothSides),
                AllOf(HasSubstr(endpoint), HasSubstr(why), HasSubstr("tcp://ADDRESS:PORT")));
  }
}

}  // namespace
}  // namespace pawl
