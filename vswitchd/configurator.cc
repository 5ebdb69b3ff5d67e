#include "vswitchd/configurator.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "lib/base/log.h"

namespace sluice {
namespace {

LogModule log_module("bridge");

// The tables that the switch reads or writes.
OvsdbClientOptions ClientOptions(const Configurator::Options& options) {
  OvsdbClientOptions client{.remotes = options.remotes, .tls = options.tls, .lock = Configurator::kLock};
  for (const char* table : {"Open_vSwitch", "Bridge", "Port", "Interface", "Mirror", "SSL"}) client.tables[table] = {};
  return client;
}

}  // namespace

Configurator::Configurator(EventLoop& loop, DatapathManager& datapaths, Switch& the_switch, LinkQuery query,
                           Options options)
    : loop_(loop),
      datapaths_(datapaths),
      switch_(the_switch),
      options_(std::move(options)),
      client_(loop, ClientOptions(options_)),
      writer_(client_, the_switch, std::move(query)) {
  client_.OnChange([this] { OnChange(); });
  client_.OnStateChange([this] { OnStateChange(); });
  switch_.OnStatusChange([this] { Report(false); });
  switch_timer_ = loop_.RunEvery(std::chrono::seconds(1), [this] { switch_.Tick(); });
  ArmStatisticsTimer();
  ready_timer_ = loop_.RunAfter(kReadyTimeout, [this] { Ready(); });
}

void Configurator::Ready() {
  ready_timer_.Cancel();
  if (on_ready_) std::exchange(on_ready_, nullptr)();
}

void Configurator::OnStateChange() {
  if (client_.state() == OvsdbClient::State::kBackoff) {
    SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 10, "database {}: {}; the switch goes on as it is",
                            fmt::join(options_.remotes, ","), Message(client_.last_error()));
  }
  if (client_.state() != OvsdbClient::State::kReady) return;
  if (client_.has_lock()) {
    if (std::exchange(waiting_logged_, false)) SLUICE_LOG(log_module, kInfo, "the lock \"{}\" is ours now", kLock);
    OnChange();
  } else if (!std::exchange(waiting_logged_, true)) {
    SLUICE_LOG(log_module, kInfo, "waiting for the lock \"{}\" of database {}: another vswitchd may hold it", kLock,
               fmt::join(options_.remotes, ","));
  }
}

void Configurator::OnChange() {
  if (!client_.has_lock() || client_.schema() == nullptr) return;
  std::optional<RowReader> root = FindRoot(client_);
  if (!root.has_value() && options_.makes_root) {
    MakeRoot();
    return;
  }
  // Without a row there is nothing to be: no bridges.
  GlobalConfig global = root.has_value() ? ReadGlobalConfig(*root) : GlobalConfig{};
  SwitchConfig config = root.has_value() ? ReadSwitchConfig(*root) : SwitchConfig{};
  ApplyGlobal(global);
  if (config_ != config) {
    switch_.Configure(config);
    config_ = std::move(config);
  }
  Report(false);
}

void Configurator::ApplyGlobal(const GlobalConfig& config) {
  if (global_.pmd_cores != config.pmd_cores) {
    if (absl::Status status = datapaths_.SetPmdCores(config.pmd_cores); !status.ok()) {
      SLUICE_LOG(log_module, kWarn, "other_config:pmd-cpu-mask: {}; left as it was", Message(status));
    }
  }
  if (global_.tso != config.tso) datapaths_.SetTso(config.tso);
  if (global_.kernel_forwarding != config.kernel_forwarding) {
    datapaths_.SetKernelForwarding(config.kernel_forwarding);
  }
  if (global_.assignment != config.assignment || global_.isolate != config.isolate) {
    datapaths_.SetAssignment(config.assignment, config.isolate);
  }
  bool timer = global_.stats_interval != config.stats_interval;
  if (on_tls_change_ && global_.tls != config.tls) on_tls_change_(config.tls);
  global_ = config;
  if (timer) ArmStatisticsTimer();
}

void Configurator::ArmStatisticsTimer() {
  statistics_timer_ = loop_.RunEvery(global_.stats_interval, [this] { Report(true); });
}

void Configurator::MakeRoot() {
  if (reporting_) return;
  TransactionBuilder transaction(*client_.schema());
  transaction.Insert("Open_vSwitch");
  transaction.Assert(kLock);
  reporting_ = true;
  client_.Transact(transaction.Build(), [this](const absl::StatusOr<Json>& results) { OnReported(results); });
}

void Configurator::Report(bool statistics) {
  if (!config_.has_value() || !client_.has_lock() || client_.state() != OvsdbClient::State::kReady) return;
  std::optional<RowReader> root = FindRoot(client_);
  if (!root.has_value()) {
    Ready();
    return;
  }
  if (reporting_) {
    report_again_ = true;
    return;
  }
  TransactionBuilder transaction(*client_.schema());
  writer_.WriteConstants(*root, transaction);
  writer_.WriteStatus(*root, transaction);
  if (statistics) writer_.WriteStatistics(*root, global_.enable_statistics, transaction);
  if (root->Integer("cur_cfg") != global_.next_cfg) {
    transaction.Set("Open_vSwitch", root->uuid(), "cur_cfg", Datum::Scalar(global_.next_cfg));
  }
  if (transaction.empty()) {
    Ready();
    return;
  }
  transaction.Assert(kLock);
  reporting_ = true;
  client_.Transact(transaction.Build(), [this](const absl::StatusOr<Json>& results) { OnReported(results); });
}

void Configurator::OnReported(const absl::StatusOr<Json>& results) {
  reporting_ = false;
  absl::Status status = results.ok() ? TransactionError(*results) : results.status();
  if (!status.ok()) {
    // What was to be told is found again by comparing: at the latest with the next statistics.
    SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 10, "reporting to the database failed: {}", Message(status));
    report_again_ = false;
    return;
  }
  if (config_.has_value()) Ready();
  if (std::exchange(report_again_, false)) Report(false);
}

}  // namespace sluice
