// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Drives a fuzz target without a fuzzer: the seeds as they are, then mutations of them, the same in
// each run. The target aborts where it finds a defect; the input is then in the file that the last
// line names.
//
// CD_FUZZ_SEEDS: folders, separated by '|'. CD_FUZZ_DICTIONARY: a dictionary of
// libFuzzer. CD_FUZZ_COUNT: mutations; environment CD_CAMPAIGN asks for fifty times as many.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size);

namespace
{

constexpr std::size_t kLargestInput = 1 << 16;
/// Processor seconds that one input may take; sanitizers make everything some ten times slower.
#ifdef CD_FUZZ_SANITIZED
constexpr double kLongest = 10.0;
#else
constexpr double kLongest = 1.0;
#endif

std::string current;

void save_current(int signal)
{
  const int file = open(CD_FUZZ_CRASH, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const bool saved = file >= 0 && write(file, current.data(), current.size()) >= 0;
  constexpr char kText[] = "the input is in " CD_FUZZ_CRASH "\n";
  if (!saved || write(STDERR_FILENO, kText, sizeof(kText) - 1) < 0) _exit(1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

double processor_time()
{
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Runs the target and returns the processor time it took [s].
double run(std::string input)
{
  current = std::move(input);
  const double start = processor_time();
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t *>(current.data()), current.size());
  return processor_time() - start;
}

using Texts = std::vector<std::string>;

/// The texts of each place, in the order of their names.
std::vector<Texts> read_seeds()
{
  std::vector<Texts> seeds;
  std::istringstream places(CD_FUZZ_SEEDS);
  for (std::string place; std::getline(places, place, '|');)
  {
    std::vector<std::filesystem::path> paths;
    for (const auto & entry : std::filesystem::directory_iterator(place))
    {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    Texts texts;
    for (const auto & path : paths)
    {
      std::ifstream file(path, std::ios::binary);
      std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
      if (text.size() <= kLargestInput) texts.push_back(std::move(text));
    }
    if (texts.empty()) throw std::runtime_error(place + " holds no seeds");
    seeds.push_back(std::move(texts));
  }
  return seeds;
}

/// The words between the outer quotes, with \" \\ and \xNN undone.
Texts read_words()
{
  Texts words;
  std::ifstream file(CD_FUZZ_DICTIONARY);
  for (std::string line; std::getline(file, line);)
  {
    const std::size_t first = line.find('"');
    const std::size_t last = line.rfind('"');
    if (line.empty() || line[0] == '#' || first == last) continue;
    std::string word;
    for (std::size_t i = first + 1; i < last; ++i)
    {
      if (line[i] == '\\' && i + 3 < last && line[i + 1] == 'x')
      {
        word += static_cast<char>(std::stoi(line.substr(i + 2, 2), nullptr, 16));
        i += 3;
      }
      else
      {
        i += line[i] == '\\' ? 1 : 0;
        word += line[i];
      }
    }
    words.push_back(word);
  }
  return words;
}

class Mutator
{
public:
  Mutator(std::vector<Texts> seeds, Texts words)
  : seeds_(std::move(seeds)), words_(std::move(words))
  {
    for (const char * number : {"nan", "-inf", "0", "-1", "1e999", "1e308", "1e-320", "2147483648"})
    {
      words_.emplace_back(number);
    }
  }

  std::string next()
  {
    std::string text = pick(pick(seeds_));  // each place as often as any other
    for (std::size_t left = 1 + below(4); left > 0; --left) mutate(text);
    text.resize(std::min(text.size(), kLargestInput));
    return text;
  }

private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }
  template <class T>
  const T & pick(const std::vector<T> & from)
  {
    return from[below(from.size())];
  }

  void mutate(std::string & text)
  {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = std::min(below(1 + (1u << below(8))), text.size() - at);
    switch (below(8))
    {
      case 0:
        text.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(below(text.size() + 1), text.substr(at, length));
        break;
      case 4:
        text.insert(at, pick(words_));
        break;
      case 5:
        replace_number(text, at);
        break;
      case 6:
      {
        const std::string & other = pick(pick(seeds_));
        text.replace(at, length, other.substr(below(other.size() + 1), 1 + below(200)));
        break;
      }
      default:
        if (below(8) == 0) text.resize(at);
    }
  }

  void replace_number(std::string & text, std::size_t at)
  {
    const std::size_t first = text.find_first_of("0123456789", at);
    if (first == std::string::npos) return;
    const std::size_t last = std::min(text.find_first_not_of("0123456789.eE-", first), text.size());
    text.replace(first, last - first, pick(words_));
  }

  std::vector<Texts> seeds_;
  Texts words_;
  std::mt19937_64 random_{20250101};
};

TEST(Fuzz, when_seeds_are_replayed_expect_no_crash_and_no_long_run)
{
  for (const Texts & texts : read_seeds())
  {
    for (const std::string & text : texts) ASSERT_LT(run(text), kLongest) << text;
  }
}

TEST(Fuzz, when_seeds_are_mutated_expect_no_crash_and_no_long_run)
{
  const long count = CD_FUZZ_COUNT * (std::getenv("CD_CAMPAIGN") != nullptr ? 50L : 1L);
  Mutator mutator(read_seeds(), read_words());
  double longest = 0.0;
  for (long i = 0; i < count; ++i)
  {
    const double time = run(mutator.next());
    ASSERT_LT(time, kLongest) << "mutation " << i << ":\n" << current;
    longest = std::max(longest, time);
  }
  std::cout << count << " mutations, the longest took " << 1e3 * longest << " ms\n";
}

}  // namespace

int main(int argc, char ** argv)
{
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE}) std::signal(signal, save_current);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
