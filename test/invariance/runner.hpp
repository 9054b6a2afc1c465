// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "cdyn.hpp"
#include "comparison.hpp"
#include "report.hpp"

namespace invariance
{

/// The kind of the fixed cases.
constexpr char kFixedCases[] = "fixed cases";

struct Settings
{
  std::string program;  ///< path of this program, for commands that repeat a case
  std::string cdyn;     ///< path of `cdyn`
  std::string run;      ///< what is run: a copy of it, unless its path was given
  std::string config;   ///< folder config/ of the repository
  std::string cases;    ///< folder of scenarios that once failed
  std::string robots;   ///< folder of example-robot-data; may be empty
  std::string folder;   ///< for scenario files
  std::string only;     ///< kind of transformation; empty: all
  std::string source;   ///< tree, scenario, workload, robot, contact; empty: all
  std::uint64_t seed = 1;
};

/// Runs `cdyn` on cases, judges the results and reports them.
class Runner
{
public:
  Runner(const Settings & settings, Report & report);

  /// All the cases of one untransformed case: itself and its transformations.
  void run_base(std::uint64_t base);

  /// Checks against the judge if possible, and against the twin, which may be null.
  Finding judge_case(
    const Changed & changed, const Result & result, const std::string & file, const Result * twin,
    const Sensitivity & unit) const;

  /// Removes the file of a case that passed, and reports the case. `verb`: solve or run.
  void finish(
    const std::string & kind, const Changed & changed, const std::string & file, std::uint64_t base,
    const Finding & finding, const std::string & verb = "solve");

  /// The fixed cases, which once failed.
  void run_fixed();

private:
  Finding find(
    const Changed & changed, const Result & result, const std::string & file, const Result * twin,
    const Sensitivity & unit) const;
  /// A run of the case: written differently, checked for the order of its step error, or for the
  /// location of its events.
  void run_run(
    std::uint64_t base, const Case & c, const Result & twin, Random & random,
    const std::string & stem);
  void finish_impact(
    std::uint64_t base, const Changed & before, const Case & after, const std::string & file);
  void run_located_events(std::uint64_t base, const Case & c, const std::string & stem);
  void run_integrator(
    std::uint64_t base, const Case & c, Random & random, const std::string & stem);
  void run_in_other_words(
    std::uint64_t base, const Case & c, const Result & twin, Random & random,
    const std::string & stem);
  double neighbour_gap(
    const Case & original, const Result & start, const Result & end, Random & random,
    const std::string & file);

  std::string next_fixed_file();
  void run_turned(
    const std::string & name, const std::vector<std::string> & rows, const Eigen::Vector3d & rpy,
    bool turn_gravity);
  void run_noise_row();
  void run_contradiction();
  void run_cases_of_folder();
  void run_command(
    const Case & c, const std::string & what, const std::string & verb, double seconds,
    bool small_memory);

  Sensitivity sensitivity(
    const Case & c, const Result & twin, Random & random, const std::string & file) const;

  const Settings & settings_;
  Cdyn cdyn_;
  Report & report_;
  int fixed_count_ = 0;
};

}  // namespace invariance
