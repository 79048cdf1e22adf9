#pragma once
// Standard output: what a command printed is written, or the command says that it is not.

namespace pawl {

// Before anything is opened. A standard stream that the caller has closed must not become the
// number of a ledger's file; writing to a closed stdout fails as it should. Ends the program by
// SIGPIPE when a reader such as `head` has had enough, even where the caller ignored the signal.
void HoldStandardStreams();

// At the end: `code`, or kExitCannotRun with a line when the output could not be written.
int FlushOutput(int code);

}  // namespace pawl
