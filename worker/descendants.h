#pragma once
// Ends what a runner has started, wherever it went: its process group, its session, and processes
// that left both. Those are found as descendants: this process is the one that they are given to
// when their parents end (PR_SET_CHILD_SUBREAPER).
//
// Contract: this process has one runner at a time, in a session of its own, and starts nothing else
// outside its own session. A process is only signalled through a descriptor of it that was opened
// before it was looked at, so never one that has got its number since.

#include <sys/types.h>

namespace pawl {

// From now on orphans of this process's children are its own children.
void AdoptOrphans();

// Those outside the runner's session, SIGKILL and reaped; the runner may go on. False: something
// was still there after a second (a process in an uninterruptible call of the kernel's).
bool EndEscaped(pid_t runner);

// The same for all that the runner has started. The runner itself must have ended and must not have
// been reaped: its number, which is its session's, is still its own.
bool EndAllOf(pid_t runner);

}  // namespace pawl
