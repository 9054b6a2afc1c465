// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "process.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char ** environ;

namespace invariance
{

namespace
{

/// The two ends of a pipe; neither is inherited, so that children of other threads do not hold
/// them.
struct Pipe
{
  Pipe()
  {
    if (pipe2(ends, O_CLOEXEC) != 0)
    {
      throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
    }
  }
  ~Pipe()
  {
    close_write();
    ::close(ends[0]);
  }
  Pipe(const Pipe &) = delete;
  Pipe & operator=(const Pipe &) = delete;
  void close_write()
  {
    if (ends[1] >= 0)
    {
      ::close(ends[1]);
      ends[1] = -1;
    }
  }
  int ends[2];
};

/// Appends what is there; false at the end of the stream.
bool read_some(int file, std::string & text)
{
  char buffer[65536];
  const ssize_t count = ::read(file, buffer, sizeof buffer);
  if (count > 0)
  {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return count > 0 || (count < 0 && errno == EINTR);
}

/// Processor time that a child has used [s].
double processor_seconds(pid_t child)
{
  clockid_t clock = 0;
  timespec used{};
  const bool known = clock_getcpuclockid(child, &clock) == 0 && clock_gettime(clock, &used) == 0;
  return known ? static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec) : 0.0;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string> & command, double seconds)
{
  std::vector<char *> arguments;
  for (const std::string & word : command)
  {
    arguments.push_back(const_cast<char *>(word.c_str()));
  }
  arguments.push_back(nullptr);
  Pipe out;
  Pipe err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int failed =
    posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
  {
    throw std::runtime_error(command[0] + " cannot be started: " + std::strerror(failed));
  }
  out.close_write();
  err.close_write();

  ProcessResult result;
  constexpr double kWaiting = 20.0;
  const auto end =
    std::chrono::steady_clock::now() + std::chrono::duration<double>(kWaiting * seconds);
  bool open[2] = {true, true};
  while (open[0] || open[1])
  {
    if (processor_seconds(child) > seconds || std::chrono::steady_clock::now() > end)
    {
      result.timed_out = true;
      kill(child, SIGKILL);
      break;
    }
    pollfd files[2] = {
      {open[0] ? out.ends[0] : -1, POLLIN, 0}, {open[1] ? err.ends[0] : -1, POLLIN, 0}};
    constexpr int kLook = 200;  // [ms]
    poll(files, 2, kLook);
    open[0] = open[0] && (files[0].revents == 0 || read_some(out.ends[0], result.out));
    open[1] = open[1] && (files[1].revents == 0 || read_some(err.ends[0], result.err));
  }
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR)
  {
  }
  for (const timeval & part : {usage.ru_utime, usage.ru_stime})
  {
    result.seconds += static_cast<double>(part.tv_sec) + 1e-6 * static_cast<double>(part.tv_usec);
  }
  result.exit_code = !result.timed_out && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace invariance
