#pragma once
// Whose turn it is among jobs that want workers: start-time fair queueing, by seconds of worker
// time.
//
// Of jobs that always want more, each gets the same worker time in the long run, however long its
// orders take. Who had nothing to do for a while begins level with the others: time is not saved
// up. Source of the rule: Goyal, Vin, Cheng, "Start-time Fair Queueing", SIGCOMM 1996, with what an
// order takes guessed as the job's mean so far and put right once it is known.

#include <cstdint>
#include <map>
#include <string>

namespace pawl {

class FairShare {
 public:
  // What `job` has had, in seconds; the least goes first. For one that wants something now.
  double Turn(const std::string& job) const;
  // An order of it went out: gives what it was charged, for Took.
  double Went(const std::string& job);
  // That order took so many seconds of a worker; 0 for one that was lost.
  void Took(const std::string& job, double charged, double seconds);

 private:
  struct Account {
    double served = 0;         // seconds, those charged for what is out among them
    double seconds = 0;        // of the orders that came back
    std::uint64_t orders = 0;  // that came back
    std::uint64_t out = 0;
  };
  std::map<std::string, Account> accounts_;
  double level_ = 0;  // the turn of the newest order that went out
};

}  // namespace pawl
