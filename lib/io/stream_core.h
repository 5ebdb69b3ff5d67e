// A connected stream over one of Asio's; lib/io's own. StreamCore does the work and outlives its Stream while
// operations end; CoreStream is what the user owns.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/post.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/status.h"
#include "lib/io/stream.h"

namespace sluice {

// What differs between kinds of stream.
template <typename AsyncStream>
struct StreamTraits {
  // Looks at the first bytes that arrive on the stream; an error ends it.
  static absl::Status CheckFirstBytes(std::string_view bytes, std::string_view name);
  // Whether the error means that the peer closed the stream, in an orderly manner or near enough.
  static bool IsEnd(const asio::error_code& error);
  // Ends the stream, which has nothing under way but perhaps a read; keeps `owner` alive as long as it takes.
  static void Shutdown(AsyncStream& stream, std::shared_ptr<void> owner);
};

// asio opens sockets that processes we start would inherit.
inline void SetCloseOnExec(int fd) { fcntl(fd, F_SETFD, FD_CLOEXEC); }

template <typename AsyncStream>
class StreamCore : public std::enable_shared_from_this<StreamCore<AsyncStream>> {
 public:
  using Traits = StreamTraits<AsyncStream>;

  StreamCore(AsyncStream stream, std::string name) : stream_(std::move(stream)), name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  size_t unsent_bytes() const { return queue_.size() + writing_.size() - written_; }
  void SetOnDrained(std::function<void()> on_drained) {
    on_drained_ = std::make_shared<const std::function<void()>>(std::move(on_drained));
  }

  void SetCallbacks(std::function<void(std::string_view)> on_data, std::function<void(const absl::Status&)> on_closed) {
    if (closed_) return;
    callbacks_ = std::make_shared<const Callbacks>(Callbacks{std::move(on_data), std::move(on_closed)});
    Read();
  }

  void SetReading(bool reading) {
    reading_ = reading;
    if (!reading || closed_ || delivering_) return;
    if (held_ > 0) {
      Post([](StreamCore& self) { self.Deliver(); });
    } else {
      Read();
    }
  }

  void Send(std::string bytes) {
    if (closed_ || broken_) return;
    if (queue_.empty()) {
      queue_ = std::move(bytes);
    } else {
      queue_ += bytes;
    }
    Write();
  }

  void Close() {
    if (std::exchange(closed_, true)) return;
    callbacks_ = nullptr;
    on_drained_ = nullptr;
    queue_.clear();
    if (write_pending_ || broken_) {
      CloseSocket();
    } else {
      Traits::Shutdown(stream_, this->shared_from_this());
    }
  }

 private:
  struct Callbacks {
    std::function<void(std::string_view)> on_data;
    std::function<void(const absl::Status&)> on_closed;
  };
  static constexpr size_t kKeptBytes = 1 << 16;  // a buffer that grew over this is given back

  template <typename F>
  void Post(F function) {
    asio::post(stream_.get_executor(), [self = this->shared_from_this(), function] { function(*self); });
  }

  void Read() {
    if (closed_ || callbacks_ == nullptr || !reading_ || read_pending_ || delivering_ || held_ > 0) return;
    read_pending_ = true;
    stream_.async_read_some(asio::buffer(read_buffer_),
                            [self = this->shared_from_this()](const asio::error_code& error, size_t length) {
                              self->read_pending_ = false;
                              self->OnRead(error, length);
                            });
  }

  void OnRead(const asio::error_code& error, size_t length) {
    if (closed_) return;
    if (error) {
      Fail(error);
      return;
    }
    held_ = length;
    Deliver();
  }

  // Gives what was read to the user, unless it is to wait: then it stays in the buffer.
  void Deliver() {
    if (closed_ || !reading_ || held_ == 0) return;
    const std::string_view bytes(read_buffer_.data(), std::exchange(held_, 0));
    if (!std::exchange(checked_, true)) {
      if (const absl::Status status = Traits::CheckFirstBytes(bytes, name_); !status.ok()) {
        End(status);
        return;
      }
    }
    const auto callbacks = callbacks_;  // which the callback may replace
    delivering_ = true;
    callbacks->on_data(bytes);
    delivering_ = false;
    Read();
  }

  void Write() {
    if (write_pending_ || closed_) return;
    if (written_ == writing_.size()) {
      writing_.clear();
      written_ = 0;
      if (writing_.capacity() > kKeptBytes) writing_ = {};
      std::swap(writing_, queue_);
    }
    if (writing_.empty()) return;
    write_pending_ = true;
    stream_.async_write_some(asio::buffer(writing_.data() + written_, writing_.size() - written_),
                             [self = this->shared_from_this()](const asio::error_code& error, size_t length) {
                               self->write_pending_ = false;
                               self->OnWritten(error, length);
                             });
  }

  void OnWritten(const asio::error_code& error, size_t length) {
    if (closed_) return;
    if (error) {
      // What the peer said before it went may still be unread: then the reader finds the end of the stream.
      broken_ = true;
      queue_.clear();
      writing_.clear();
      written_ = 0;
      if (!read_pending_) Fail(error);
      return;
    }
    written_ += length;
    if (unsent_bytes() > 0) {
      Write();
      return;
    }
    Write();  // gives the buffer back
    if (const auto on_drained = on_drained_; on_drained != nullptr && *on_drained) (*on_drained)();
  }

  void Fail(const asio::error_code& error) {
    End(Traits::IsEnd(error)
            ? absl::OkStatus()
            : MakeStatus(absl::StatusCode::kUnavailable, fmt::format("{}: {}", name_, error.message())));
  }

  void End(const absl::Status& status) {
    const auto callbacks = std::exchange(callbacks_, nullptr);
    closed_ = true;
    on_drained_ = nullptr;
    CloseSocket();
    if (callbacks != nullptr && callbacks->on_closed) callbacks->on_closed(status);
  }

  void CloseSocket() {
    asio::error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

  AsyncStream stream_;
  const std::string name_;
  std::shared_ptr<const Callbacks> callbacks_;
  std::shared_ptr<const std::function<void()>> on_drained_;
  std::array<char, 16384> read_buffer_;
  size_t held_ = 0;  // bytes in read_buffer_ that wait for SetReading(true)
  std::string queue_;
  std::string writing_;  // stays in its place while a write is under way
  size_t written_ = 0;
  bool reading_ = true;
  bool read_pending_ = false;
  bool write_pending_ = false;
  bool delivering_ = false;
  bool checked_ = false;  // the first bytes
  bool broken_ = false;   // nothing can be sent any more
  bool closed_ = false;
};

template <typename AsyncStream>
class CoreStream : public Stream {
 public:
  CoreStream(AsyncStream stream, std::string name)
      : core_(std::make_shared<StreamCore<AsyncStream>>(std::move(stream), std::move(name))) {}
  ~CoreStream() override { core_->Close(); }

  void SetCallbacks(std::function<void(std::string_view)> on_data,
                    std::function<void(const absl::Status&)> on_closed) override {
    core_->SetCallbacks(std::move(on_data), std::move(on_closed));
  }
  void Send(std::string bytes) override { core_->Send(std::move(bytes)); }
  size_t unsent_bytes() const override { return core_->unsent_bytes(); }
  void SetOnDrained(std::function<void()> on_drained) override { core_->SetOnDrained(std::move(on_drained)); }
  void SetReading(bool reading) override { core_->SetReading(reading); }
  void Close() override { core_->Close(); }
  std::string name() const override { return core_->name(); }

 private:
  std::shared_ptr<StreamCore<AsyncStream>> core_;
};

}  // namespace sluice
