#include "lib/io/event_loop.h"

#include <algorithm>
#include <asio/executor_work_guard.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <utility>

#include "lib/io/asio_context.h"

namespace sluice {

namespace {

using asio::error_code;

// Each registration is kept alive by its pending operation as well as by its Handle, so that a callback may destroy
// the Handle that it was called for.
class FdRegistration : public EventLoop::Registration, public std::enable_shared_from_this<FdRegistration> {
 public:
  FdRegistration(asio::io_context& context, int fd, std::function<void()> callback)
      : descriptor_(context, fd), callback_(std::move(callback)) {}
  ~FdRegistration() override { FdRegistration::Cancel(); }

  void Start() {
    descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                           [self = shared_from_this()](const error_code& error) { self->OnReady(error); });
  }

  void Cancel() override {
    if (!std::exchange(cancelled_, true)) {
      descriptor_.release();  // the descriptor is the caller's: not closed
    }
  }

 private:
  void OnReady(const error_code& error) {
    if (error || cancelled_) {
      return;
    }
    callback_();
    if (!cancelled_) {
      Start();
    }
  }

  asio::posix::stream_descriptor descriptor_;
  std::function<void()> callback_;
  bool cancelled_ = false;
};

class TimerRegistration : public EventLoop::Registration, public std::enable_shared_from_this<TimerRegistration> {
 public:
  using Clock = asio::steady_timer::clock_type;

  // A period of zero means once.
  TimerRegistration(asio::io_context& context, std::chrono::nanoseconds period, std::function<void()> callback)
      : timer_(context), period_(std::chrono::duration_cast<Clock::duration>(period)), callback_(std::move(callback)) {}

  void Start(Clock::time_point when) {
    timer_.expires_at(when);
    timer_.async_wait([self = shared_from_this()](const error_code& error) { self->OnExpiry(error); });
  }

  void Cancel() override {
    cancelled_ = true;
    timer_.cancel();
  }

 private:
  void OnExpiry(const error_code& error) {
    if (error || cancelled_) {
      return;
    }
    callback_();
    if (!cancelled_ && period_ > Clock::duration::zero()) {
      Start(std::max(timer_.expiry() + period_, Clock::now()));
    }
  }

  asio::steady_timer timer_;
  const Clock::duration period_;
  std::function<void()> callback_;
  bool cancelled_ = false;
};

class SignalRegistration : public EventLoop::Registration, public std::enable_shared_from_this<SignalRegistration> {
 public:
  SignalRegistration(asio::io_context& context, const std::vector<int>& signals, std::function<void(int)> callback)
      : signals_(context), callback_(std::move(callback)) {
    for (int signal : signals) {
      signals_.add(signal);
    }
  }

  void Start() {
    signals_.async_wait(
        [self = shared_from_this()](const error_code& error, int signal) { self->OnSignal(error, signal); });
  }

  void Cancel() override {
    cancelled_ = true;
    // Both: clear gives the signals back to the process, cancel releases the pending wait, and with it this object.
    error_code ignored;
    signals_.cancel(ignored);
    signals_.clear(ignored);
  }

 private:
  void OnSignal(const error_code& error, int signal) {
    if (error || cancelled_) {
      return;
    }
    callback_(signal);
    if (!cancelled_) {
      Start();
    }
  }

  asio::signal_set signals_;
  std::function<void(int)> callback_;
  bool cancelled_ = false;
};

}  // namespace

EventLoop::Handle& EventLoop::Handle::operator=(Handle&& other) {
  if (this != &other) {
    Cancel();
    registration_ = std::move(other.registration_);
  }
  return *this;
}

void EventLoop::Handle::Cancel() {
  if (auto registration = std::exchange(registration_, nullptr)) {
    registration->Cancel();
  }
}

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {}
EventLoop::~EventLoop() = default;

void EventLoop::Post(std::function<void()> function) { asio::post(impl_->context, std::move(function)); }

EventLoop::Handle EventLoop::AddFd(int fd, std::function<void()> callback) {
  auto registration = std::make_shared<FdRegistration>(impl_->context, fd, std::move(callback));
  registration->Start();
  return Handle(std::move(registration));
}

EventLoop::Handle EventLoop::RunAfter(std::chrono::nanoseconds delay, std::function<void()> callback) {
  auto registration =
      std::make_shared<TimerRegistration>(impl_->context, std::chrono::nanoseconds::zero(), std::move(callback));
  registration->Start(TimerRegistration::Clock::now() +
                      std::chrono::duration_cast<TimerRegistration::Clock::duration>(delay));
  return Handle(std::move(registration));
}

EventLoop::Handle EventLoop::RunEvery(std::chrono::nanoseconds period, std::function<void()> callback) {
  auto registration = std::make_shared<TimerRegistration>(impl_->context, period, std::move(callback));
  registration->Start(TimerRegistration::Clock::now() +
                      std::chrono::duration_cast<TimerRegistration::Clock::duration>(period));
  return Handle(std::move(registration));
}

EventLoop::Handle EventLoop::OnSignals(const std::vector<int>& signals, std::function<void(int)> callback) {
  auto registration = std::make_shared<SignalRegistration>(impl_->context, signals, std::move(callback));
  registration->Start();
  return Handle(std::move(registration));
}

void EventLoop::Run() {
  const auto guard = asio::make_work_guard(impl_->context);
  impl_->context.run();
  impl_->context.restart();
}

void EventLoop::Stop() { impl_->context.stop(); }

}  // namespace sluice
