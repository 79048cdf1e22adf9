#include "worker/sandbox/calls.h"

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace pawl {
namespace {

constexpr int kMostCapabilities = 64;  // as many as the call's two words can name

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;
#endif
constexpr std::uint32_t kX32Bit = 0x40000000;  // numbers of x86's third set of calls

constexpr std::uint32_t kNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID |
                                      CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

// Never of use to a kernel.
constexpr long kRefused[] = {
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_io_uring_setup,
    SYS_bpf,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_userfaultfd,
    SYS_open_by_handle_at,
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_swapon,
    SYS_reboot,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsmount,
    SYS_fspick,
#ifdef SYS_mount_setattr
    SYS_mount_setattr,
#endif
};

// A program for the kernel's packet filter machine: each rule jumps over what follows, so that
// rules stand by themselves.
class Program {
 public:
  void LoadNumber() { Load(offsetof(seccomp_data, nr)); }
  void LoadArchitecture() { Load(offsetof(seccomp_data, arch)); }
  // The low half: all that is compared here is an int.
  void LoadArgument(int number) {
    Load(static_cast<std::uint32_t>(offsetof(seccomp_data, args) +
                                    sizeof(std::uint64_t) * static_cast<unsigned>(number)));
  }
  void And(std::uint32_t mask) { code_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask)); }
  void FailIf(std::uint16_t jump, std::uint32_t value, int error) {
    code_.push_back(BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | BPF_K | jump), value, 0, 1));
    Fail(error);
  }
  void FailUnless(std::uint32_t value, int error) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_K | BPF_JEQ, value, 1, 0));
    Fail(error);
  }
  // What `rule` adds holds only for call `number`, which then is allowed unless it failed.
  template <typename Rule>
  void For(long number, const Rule& rule) {
    Program inner;
    rule(inner);
    inner.Allow();
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_K | BPF_JEQ, static_cast<std::uint32_t>(number), 0,
                             static_cast<std::uint8_t>(inner.code_.size())));
    code_.insert(code_.end(), inner.code_.begin(), inner.code_.end());
  }
  void Allow() { code_.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)); }

  std::vector<sock_filter>& code() { return code_; }

 private:
  void Load(std::uint32_t offset) { code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); }
  void Fail(int error) {
    code_.push_back(
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)));
  }

  std::vector<sock_filter> code_;
};

std::string Why(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

}  // namespace

std::string DropPrivileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Why("no_new_privs");
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  // Without the right to it there is nothing in it that could be gained.
  for (int capability = 0; capability < kMostCapabilities; ++capability) {
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capset, &header, none) != 0) return Why("capset");
  return {};
}

std::string FilterCalls(bool gpu) {
  if (kArchitecture == 0) return "not known of this CPU's calls";
  Program program;
  program.LoadArchitecture();
  program.FailUnless(kArchitecture, EPERM);
  program.LoadNumber();
  if (kArchitecture == AUDIT_ARCH_X86_64) program.FailIf(BPF_JGE, kX32Bit, EPERM);
  for (const long number : kRefused) {
    program.FailIf(BPF_JEQ, static_cast<std::uint32_t>(number), EPERM);
  }
  // Its flags are in memory, where a filter cannot look; libraries then use clone.
  program.FailIf(BPF_JEQ, SYS_clone3, ENOSYS);
  if (!gpu) program.FailIf(BPF_JEQ, SYS_connect, EPERM);
  program.For(SYS_clone, [](Program& rule) {
    rule.LoadArgument(0);
    rule.And(kNamespaces);
    rule.FailUnless(0, EPERM);
  });
  program.For(SYS_socket, [gpu](Program& rule) {
    rule.LoadArgument(0);
    if (!gpu) rule.FailIf(BPF_JGE, 0, EPERM);
    rule.FailUnless(AF_UNIX, EPERM);
  });
  // One that takes an address with each message would reach any socket file.
  program.For(SYS_socketpair, [gpu](Program& rule) {
    rule.LoadArgument(1);
    rule.And(0xf);
    if (!gpu) rule.FailIf(BPF_JEQ, SOCK_DGRAM, EPERM);
  });
  program.Allow();

  sock_fprog filter{static_cast<unsigned short>(program.code().size()), program.code().data()};
  // Older kernels slow down everything that is filtered (speculative stores off) unless told not
  // to; kernels that are timed would be the slower for it.
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter) !=
      0) {
    return Why("seccomp");
  }
  return {};
}

}  // namespace pawl
