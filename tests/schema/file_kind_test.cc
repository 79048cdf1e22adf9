#include "schema/file_kind.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "tests/support/places.h"
#include "tests/support/process.h"

namespace pawl {
namespace {

TEST(FileKind, SaysWhatStandsThereWithoutOpeningIt) {
  const test::TempFolder folder;
  test::WriteFile(folder / "file", "x");
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (folder / "socket").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(listener);
  std::filesystem::create_symlink("nowhere", folder / "dangling");
  std::filesystem::create_symlink("ring", folder / "ring");

  EXPECT_EQ(WhatIsAt(folder / "file"), kAFile);
  EXPECT_EQ(WhatIsAt(folder.path()), kAFolder);
  EXPECT_EQ(WhatIsAt(folder / "fifo"), "a FIFO");
  EXPECT_EQ(WhatIsAt(folder / "socket"), "a socket");
  EXPECT_EQ(WhatIsAt("/dev/null"), "a device");
  for (const char* nothing : {"absent", "dangling", "file/below"}) {
    EXPECT_EQ(WhatIsAt(folder / nothing), std::nullopt) << nothing;
  }
  EXPECT_EQ(WhatIsAt(folder / "ring"), "not to be looked at (Too many levels of symbolic links)");
}

}  // namespace
}  // namespace pawl
