#pragma once
// What a runner sees of the file system: everything as it is outside but read-only; private and of
// limited size /tmp, /dev/shm and scratch folder; a /dev with the harmless devices and the GPU's;
// /proc of its own namespace of process numbers.

#include <string>
#include <vector>

#include "worker/sandbox/sandbox.h"

namespace pawl {

// Changes the mounts of this process's mount namespace, which must be its own. `own_numbers`: it is
// in a namespace of process numbers of its own, so that /proc may be mounted anew. Appends the
// parts "files", "devices" and "proc", and the private disks, to the report.
void CloseFiles(const SandboxRequest& request, bool own_numbers, SandboxReport& report);

// Absolute paths that the environment's values name (lists separated by colons count), of files
// their folder, when they lie in one of the folders that become private.
std::vector<std::string> PathsOfTheEnvironment();

}  // namespace pawl
