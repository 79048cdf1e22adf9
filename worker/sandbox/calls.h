#pragma once
// What a runner may ask of the kernel: no capability, no new privileges, and a filter of system
// calls that are of no use to a kernel that computes.

#include <string>

namespace pawl {

// Gives up all capabilities, and the right to gain any by starting a program. Why it could not;
// empty: done.
std::string DropPrivileges();

// From now on, for this process and all it starts: no sockets but pairs (with `gpu` socket files
// too, for the driver's daemons), no mounts and namespaces, no asynchronous rings that would go
// round this filter. Calls that are refused fail with EPERM. Needs no_new_privs. Why it could not;
// empty: done.
std::string FilterCalls(bool gpu);

}  // namespace pawl
