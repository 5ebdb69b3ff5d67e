#include "datapath/poller.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "lib/base/status.h"

namespace sluice {

absl::StatusOr<std::unique_ptr<Poller>> Poller::Create() {
  int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd < 0) return ErrnoStatus(errno, "PMD thread: epoll_create1");
  int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd < 0) {
    int error = errno;
    close(epoll_fd);
    return ErrnoStatus(error, "PMD thread: eventfd");
  }
  std::unique_ptr<Poller> poller(new Poller(epoll_fd, wake_fd));
  epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
  if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, wake_fd, &event) != 0) return ErrnoStatus(errno, "PMD thread: epoll_ctl");
  return poller;
}

Poller::~Poller() {
  close(epoll_fd_);
  close(wake_fd_);
}

void Poller::Wake() {
  uint64_t one = 1;
  // Fails only when the counter is full, and then the descriptor is readable anyway.
  [[maybe_unused]] ssize_t written = write(wake_fd_, &one, sizeof one);
}

void Poller::Register(PolledRxq* queue) {
  queue->fd_ = queue->rxq->wait_fd();
  queue->parked_ = false;
  queue->barren_wakeups_ = 0;
  if (queue->fd_ >= 0) {
    epoll_event event{.events = EPOLLIN, .data = {.ptr = queue}};
    // A descriptor that epoll does not take can still be polled.
    if (epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, queue->fd_, &event) != 0) queue->fd_ = -1;
  }
  if (queue->fd_ < 0) ++unpollable_count_;
}

void Poller::Unregister(PolledRxq* queue) {
  if (queue->fd_ < 0) {
    --unpollable_count_;
  } else if (!queue->parked_) {
    epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, queue->fd_, nullptr);
  }
  queue->fd_ = -1;
}

void Poller::Activate(PolledRxq* queue) {
  if (queue->active_) return;
  queue->active_ = true;
  active_.push_back(queue);
}

void Poller::Add(PolledRxq* queue) {
  all_.push_back(queue);
  active_.reserve(all_.size());
  Register(queue);
  Activate(queue);
}

void Poller::Remove(PolledRxq* queue) {
  Unregister(queue);
  queue->active_ = false;
  std::erase(active_, queue);
  std::erase(all_, queue);
}

void Poller::Refresh() {
  // In two steps: a descriptor's number may have gone from one queue to another.
  for (PolledRxq* queue : all_) Unregister(queue);
  for (PolledRxq* queue : all_) {
    Register(queue);
    Activate(queue);
  }
}

void Poller::Refresh(PolledRxq* queue) {
  Unregister(queue);
  Register(queue);
  Activate(queue);
}

bool Poller::Rest(size_t i) {
  PolledRxq* queue = active_[i];
  if (queue->fd_ < 0) return false;
  if (queue->barren_wakeups_ > kMaxBarrenWakeups && !queue->parked_) {
    epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, queue->fd_, nullptr);
    queue->parked_ = true;
  }
  queue->active_ = false;
  active_.erase(active_.begin() + static_cast<ptrdiff_t>(i));
  return true;
}

void Poller::Wait(bool sleep) {
  std::array<epoll_event, 64> events;
  constexpr timespec kNow{};
  constexpr timespec kNapTime{.tv_sec = 0, .tv_nsec = kNap.count()};
  const timespec* timeout = !sleep ? &kNow : unpollable_count_ > 0 ? &kNapTime : nullptr;
  int count = epoll_pwait2(epoll_fd_, events.data(), events.size(), timeout, nullptr);
  for (int i = 0; i < count; ++i) {
    auto* queue = static_cast<PolledRxq*>(events[static_cast<size_t>(i)].data.ptr);
    if (queue != nullptr) {
      if ((events[static_cast<size_t>(i)].events & (EPOLLERR | EPOLLHUP)) != 0) ++queue->barren_wakeups_;
      Activate(queue);
      continue;
    }
    uint64_t value;
    [[maybe_unused]] ssize_t got = read(wake_fd_, &value, sizeof value);
  }
}

}  // namespace sluice
