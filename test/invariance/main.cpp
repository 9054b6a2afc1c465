// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Physics does not change with the way it is written down: cases, each solved by `cdyn` in several
// writings, judged by an independent solution in 50 digits or by their untransformed twins.

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "runner.hpp"

namespace
{

constexpr char kUsage[] =
  "usage: invariance_suite [--cases N] [--seed S] [--only KIND] [--source SOURCE] [--base INDEX]\n"
  "                        [--jobs J] [--keep FOLDER] [--cdyn PATH] [--list]\n"
  "  --cases   how many cases (2000)\n"
  "  --seed    of all that is drawn (1)\n"
  "  --only    one kind of transformation (--list names them), 'as written', run or 'fixed cases'\n"
  "  --source  tree, scenario, workload, robot or contact\n"
  "  --base    one untransformed case with its transformations, by the index that a failure names\n"
  "  --jobs    how many at a time (1)\n"
  "  --keep    folder for the scenarios of failures (a temporary one)\n"
  "  --cdyn    the command that is tested\n";

struct Options
{
  invariance::Settings settings;
  int cases = 2000;
  int jobs = 1;
  long long base = -1;
  bool list = false;
};

[[noreturn]] void refuse(const std::string & what)
{
  std::fprintf(stderr, "invariance_suite: %s\n%s", what.c_str(), kUsage);
  std::exit(2);
}

long long integer(const std::string & option, const char * value, long long least)
{
  char * end = nullptr;
  const long long number = std::strtoll(value, &end, 10);
  if (end == value || *end != '\0' || number < least)
  {
    refuse(option + ": " + value + ": allowed are whole numbers from " + std::to_string(least));
  }
  return number;
}

Options read_options(int argc, char ** argv)
{
  Options options;
  options.settings.program = argv[0];
  options.settings.cdyn = CD_CDYN;
  options.settings.config = CD_CONFIG;
  options.settings.cases = CD_CASES;
  options.settings.robots = CD_EXAMPLE_ROBOT_DATA;
  for (int i = 1; i < argc; ++i)
  {
    const std::string option = argv[i];
    if (option == "--list")
    {
      options.list = true;
      continue;
    }
    if (i + 1 == argc)
    {
      refuse(option + ": unknown, or without its value");
    }
    const char * value = argv[++i];
    if (option == "--cases")
    {
      options.cases = static_cast<int>(integer(option, value, 1));
    }
    else if (option == "--seed")
    {
      options.settings.seed = static_cast<std::uint64_t>(integer(option, value, 0));
    }
    else if (option == "--base")
    {
      options.base = integer(option, value, 0);
    }
    else if (option == "--jobs")
    {
      options.jobs = static_cast<int>(integer(option, value, 1));
    }
    else if (option == "--only")
    {
      options.settings.only = value;
    }
    else if (option == "--source")
    {
      options.settings.source = value;
    }
    else if (option == "--keep")
    {
      options.settings.folder = value;
    }
    else if (option == "--cdyn")
    {
      options.settings.cdyn = value;
    }
    else
    {
      refuse(option + ": unknown");
    }
  }
  return options;
}

void list_transformations()
{
  for (const invariance::Transformation & t : invariance::transformations())
  {
    std::printf(
      "%s\n  applies to: %s\n  result: %s\n", t.kind.c_str(), t.applies_to.c_str(), t.rule.c_str());
  }
}

bool run_cases(const Options & options)
{
  invariance::Report report(options.settings.seed, options.cases);
  invariance::Runner runner(options.settings, report);
  if (options.base >= 0)
  {
    runner.run_base(static_cast<std::uint64_t>(options.base));
    return report.print();
  }
  const bool only_fixed = options.settings.only == invariance::kFixedCases;
  if (only_fixed || (options.settings.only.empty() && options.settings.source.empty()))
  {
    runner.run_fixed();
  }
  if (only_fixed)
  {
    return report.print();
  }
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  std::exception_ptr failure;
  std::mutex failure_mutex;
  for (int i = 0; i < options.jobs; ++i)
  {
    threads.emplace_back(
      [&]
      {
        try
        {
          const std::uint64_t most = 100ULL * static_cast<std::uint64_t>(options.cases);
          while (!stop && report.count() < options.cases && next < most)
          {
            runner.run_base(next++);
          }
        }
        catch (...)
        {
          const std::lock_guard<std::mutex> lock(failure_mutex);
          failure = std::current_exception();
          stop = true;
        }
      });
  }
  for (std::thread & thread : threads)
  {
    thread.join();
  }
  if (failure)
  {
    std::rethrow_exception(failure);
  }
  return report.print();
}

/// Copies `cdyn` and its library: a build that goes on must not change what is tested.
std::string copy_of_cdyn(const std::filesystem::path & folder)
{
  namespace fs = std::filesystem;
  fs::create_directories(folder);
  const fs::path copy = folder / fs::path(CD_CDYN).filename();
  fs::copy_file(CD_CDYN, copy, fs::copy_options::overwrite_existing);
#ifdef CD_CDYN_LIBRARY
  const fs::path library = CD_CDYN_LIBRARY;
  fs::copy_file(library, folder / library.filename(), fs::copy_options::overwrite_existing);
  const char * others = std::getenv("LD_LIBRARY_PATH");
  const std::string path = folder.string() + (others == nullptr ? "" : std::string(":") + others);
  ::setenv("LD_LIBRARY_PATH", path.c_str(), 1);
#endif
  return copy.string();
}

bool run(Options & options)
{
  const bool temporary = options.settings.folder.empty();
  if (temporary)
  {
    options.settings.folder =
      (std::filesystem::temp_directory_path() / ("invariance_" + std::to_string(::getpid())))
        .string();
  }
  const std::filesystem::path folder = options.settings.folder;
  const std::filesystem::path copy = folder / "cdyn_copy";
  std::filesystem::create_directories(folder);
  options.settings.run =
    options.settings.cdyn == CD_CDYN ? copy_of_cdyn(copy) : options.settings.cdyn;
  const bool good = run_cases(options);
  std::filesystem::remove_all(temporary && good ? folder : copy);
  return good;
}

}  // namespace

int main(int argc, char ** argv)
{
  Options options = read_options(argc, argv);
  if (options.list)
  {
    list_transformations();
    return 0;
  }
  try
  {
    return run(options) ? 0 : 1;
  }
  catch (const std::exception & error)
  {
    std::fprintf(stderr, "invariance_suite: %s\n", error.what());
    return 2;
  }
}
