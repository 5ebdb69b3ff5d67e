#include "tests/lib/io/test_pki.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace sluice {

namespace {

void Run(const std::string& command) { ASSERT_EQ(std::system((command + " >/dev/null 2>&1").c_str()), 0) << command; }

constexpr std::string_view kNewKey = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

}  // namespace

TestPki::TestPki(std::string folder) : folder_(std::move(folder)) {
  std::filesystem::create_directories(folder_);
  Run(fmt::format("openssl req -x509 {} -keyout {}/ca.key -out {}/ca.pem -days 2 -subj '/CN=test CA of {}'", kNewKey,
                  folder_, folder_, std::filesystem::path(folder_).filename().string()));
  Issue("server");
  Issue("client");
}

void TestPki::Issue(const std::string& name) const {
  Run(fmt::format("openssl req {0} -keyout {1}/{2}.key -out {1}/{2}.csr -subj /CN={2}", kNewKey, folder_, name));
  Run(
      fmt::format("openssl x509 -req -in {0}/{1}.csr -CA {0}/ca.pem -CAkey {0}/ca.key -CAcreateserial -days 2 "
                  "-out {0}/{1}.pem",
                  folder_, name));
}

TlsConfig TestPki::Config(const std::string& name) const {
  return {.private_key = File(name + ".key"), .certificate = File(name + ".pem"), .ca_cert = File("ca.pem")};
}

}  // namespace sluice
