// main() of the netdev tests that need root: runs them in a network namespace of their own, which ends with the
// process, so that nothing is left behind. Exits with 77 and the reason when the process may not make one.
#include <gtest/gtest.h>
#include <sched.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (unshare(CLONE_NEWNET) != 0) {
    std::fprintf(stderr, "SKIPPED netdev_root_test: needs root for a network namespace: %s\n", std::strerror(errno));
    return 77;
  }
  return RUN_ALL_TESTS();
}
