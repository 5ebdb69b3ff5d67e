// The main thread's loop: file descriptors, timers, signals and functions posted from other threads.
//
// Everything but Post() and Stop() belongs to the thread that calls Run(), and all callbacks run there, one at a time.
// Registrations are Handles: destroying a Handle (also from inside its own callback) ends the registration, and its
// callback is not called any more. Handles must not outlive the loop.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace sluice {

class EventLoop {
 public:
  // Something that a Handle keeps registered.
  class Registration {
   public:
    virtual ~Registration() = default;
    virtual void Cancel() = 0;
  };

  class Handle {
   public:
    Handle() = default;
    explicit Handle(std::shared_ptr<Registration> registration) : registration_(std::move(registration)) {}
    ~Handle() { Cancel(); }
    Handle(Handle&&) = default;
    Handle& operator=(Handle&& other);
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;

    void Cancel();
    explicit operator bool() const { return registration_ != nullptr; }

   private:
    std::shared_ptr<Registration> registration_;
  };

  struct Impl;

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Calls `function` once in a later turn of the loop. Any thread; order per thread is kept.
  void Post(std::function<void()> function);

  // Calls `callback` while `fd` is readable (level-triggered: once per turn until it has been read empty) or has an
  // error or hang-up pending. The caller keeps ownership of `fd` and cancels before closing it.
  [[nodiscard]] Handle AddFd(int fd, std::function<void()> callback);

  [[nodiscard]] Handle RunAfter(std::chrono::nanoseconds delay, std::function<void()> callback);
  // First after one period. Does not catch up on periods that were missed.
  [[nodiscard]] Handle RunEvery(std::chrono::nanoseconds period, std::function<void()> callback);

  // Takes over these signals of the process for the Handle's lifetime.
  [[nodiscard]] Handle OnSignals(const std::vector<int>& signals, std::function<void(int signal)> callback);

  // Until Stop(), which may come before Run() and may come from any thread or a callback. May be called again.
  void Run();
  void Stop();

  // For lib/io's own adapters (asio_context.h).
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
