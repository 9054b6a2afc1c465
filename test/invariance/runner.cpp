// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "runner.hpp"

#include <filesystem>
#include <limits>
#include <stdexcept>

#include "process.hpp"
#include "sources.hpp"

namespace invariance
{

namespace
{

constexpr int kTransformations = 9;  // of a case: with itself ten
constexpr int kTries = 60;           // to find those that apply

std::vector<double> to_vector(const Named & values)
{
  return {values.values.data(), values.values.data() + values.values.size()};
}

/// Where nothing moves, b is the square of what rounding left of the speeds, unless rows ask for
/// accelerations of their own: there is nothing to contradict.
bool rows_say_nothing_at_rest(const YAML::Node & scenario, const Result & result)
{
  constexpr double kAtRest = 1e-10;  // [m/s, rad/s]
  if (result.u.values.size() > 0 && result.u.values.cwiseAbs().maxCoeff() > kAtRest)
  {
    return false;
  }
  for (const YAML::Node & constraint : scenario["constraints"])
  {
    const std::string type = constraint["type"].as<std::string>();
    if (type == "formula" || type == "prescribed_motion")
    {
      return false;
    }
  }
  return true;
}

/// Kinetic energy of the state that a scenario states; negative where there is none.
double kinetic_energy(const std::string & cdyn, Case c, const std::string & file)
{
  c.scenario.remove("constraints");
  write_scenario(c.scenario, file);
  const ProcessResult process =
    run_process({cdyn, "solve", file, "--raw-state", "--json", "-"}, 60.0);
  std::filesystem::remove(file);
  const YAML::Node json = process.exit_code == 0 ? YAML::Load(process.out) : YAML::Node();
  const YAML::Node kinetic = json.IsMap() ? json["energy"]["kinetic"] : YAML::Node();
  return kinetic.IsDefined() && !kinetic.IsNull() ? kinetic.as<double>() : -1.0;
}

/// Rows that move by themselves may give energy in an impact.
bool has_moving_rows(const YAML::Node & scenario)
{
  for (const YAML::Node & constraint : scenario["constraints"])
  {
    if (constraint["type"].as<std::string>() == "prescribed_motion")
    {
      return true;
    }
  }
  return false;
}

}  // namespace

Runner::Runner(const Settings & settings, Report & report)
: settings_(settings), cdyn_(settings.run, settings.cdyn), report_(report)
{
}

Sensitivity Runner::sensitivity(
  const Case & c, const Result & twin, Random & random, const std::string & file) const
{
  constexpr double kChange = 1e-13;
  Sensitivity unit;
  unit.decided = true;
  for (int i = 0; i < 2; ++i)
  {
    Case perturbed = c;
    Result state = twin;
    for (Named * values : {&state.q, &state.u})
    {
      for (Eigen::Index k = 0; k < values->values.size(); ++k)
      {
        values->values(k) += kChange * random.sign() * (1.0 + std::abs(values->values(k)));
      }
    }
    set_state(perturbed.scenario, state);
    const Sensitivity change = difference(twin, cdyn_.solve(perturbed, file));
    unit.decided = unit.decided && change.decided;
    unit.acceleration = std::max(unit.acceleration, change.acceleration);
    unit.force = std::max(unit.force, change.force);
    unit.multiplier = std::max(unit.multiplier, change.multiplier);
    unit.wrench = std::max(unit.wrench, change.wrench);
    unit.power = std::max(unit.power, change.power);
    unit.input = std::max(unit.input, change.input);
  }
  std::filesystem::remove(file);
  return unit;
}

Finding Runner::judge_case(
  const Changed & changed, const Result & result, const std::string & file, const Result * twin,
  const Sensitivity & unit) const
{
  Finding finding = find(changed, result, file, twin, unit);
  finding.status = result.status.empty() ? "refused the file" : result.status;
  return finding;
}

Finding Runner::find(
  const Changed & changed, const Result & result, const std::string & file, const Result * twin,
  const Sensitivity & unit) const
{
  Finding finding;
  if (!changed.allowed_status.empty() && result.status == changed.allowed_status)
  {
    finding.outcome = Outcome::kRefused;
    return finding;
  }
  Verdict verdict;
  if (!result.status.empty())
  {
    const Given given{
      result.time, to_vector(result.q), to_vector(result.u), to_vector(result.inputs)};
    verdict = judge(file, given);
  }
  if (verdict.supported && rows_say_nothing_at_rest(changed.changed.scenario, result))
  {
    verdict.inconsistency = 0.0;
  }
  if (verdict.supported)
  {
    finding = by_judge(result, verdict);
    if (finding.outcome != Outcome::kRight || twin == nullptr || !twin->ok())
    {
      return finding;
    }
  }
  // Friction may have several solutions, of which the twin has one.
  if (!verdict.supported && by_contact_laws(result, file, finding))
  {
    return finding;
  }
  if (twin == nullptr)
  {
    finding.outcome = result.ok()             ? Outcome::kRight
                      : result.status.empty() ? Outcome::kNeedless
                                              : Outcome::kRefused;
    finding.reason = result.status + " " + result.message;
    return finding;
  }
  Result same_terms = result;
  if (changed.undo && result.has_solution())
  {
    changed.undo(same_terms);
  }
  const bool judged = finding.judged;
  Sensitivity left = unit;
  if (judged)
  {
    // The verdict is absolute; the twin speaks of the rest.
    left.acceleration = left.force = left.power = std::numeric_limits<double>::infinity();
  }
  finding = by_twin(changed, same_terms, *twin, left);
  finding.judged = judged;
  return finding;
}

void Runner::finish(
  const std::string & kind, const Changed & changed, const std::string & file, std::uint64_t base,
  const Finding & finding, const std::string & verb)
{
  const bool failed = finding.outcome == Outcome::kWrongOk || finding.outcome == Outcome::kNeedless;
  if (!failed)
  {
    std::filesystem::remove(file);
  }
  Entry entry;
  entry.kind = kind;
  entry.source = changed.changed.source;
  entry.detail = changed.detail;
  entry.file = cdyn_.command(verb, changed.changed, file);
  entry.command = settings_.program + " --cdyn " + settings_.cdyn;
  if (kind == kFixedCases)
  {
    entry.command += " --only '" + kind + "'";
  }
  else
  {
    // What is drawn depends on all of these.
    entry.command += (settings_.source.empty() ? "" : " --source " + settings_.source) +
                     (settings_.only.empty() ? "" : " --only '" + settings_.only + "'") +
                     " --seed " + std::to_string(settings_.seed) + " --base " +
                     std::to_string(base);
  }
  entry.base = base;
  entry.finding = finding;
  report_.add(entry);
}

/// Contacts that strike first take energy and never give any.
void Runner::finish_impact(
  std::uint64_t base, const Changed & before, const Case & after, const std::string & file)
{
  const double first = kinetic_energy(settings_.run, before.changed, file);
  const double last = kinetic_energy(settings_.run, after, file);
  Finding finding;
  if (first >= 0.0 && !(last <= first * (1.0 + 1e-9)))
  {
    finding.outcome = Outcome::kWrongOk;
    finding.reason =
      "an impact changes the kinetic energy from " + text(first) + " to " + text(last) + " J";
    write_scenario(before.changed.scenario, file);
  }
  finish("impact", before, file, base, finding);
}

void Runner::run_base(std::uint64_t base)
{
  Random random(seed_of(settings_.seed, base));
  const std::string stem =
    settings_.folder + "/case_" + std::to_string(settings_.seed) + "_" + std::to_string(base) + "_";
  Case c = draw_case(settings_, cdyn_, random, stem + "draft.yaml");
  if (c.scenario.IsNull())
  {
    return;
  }
  const std::string base_file = stem + "0.yaml";
  Result twin = cdyn_.solve(c, base_file);
  if (!c.mechanism && !twin.status.empty())
  {
    const bool strikes = c.source.compare(0, 7, "contact") == 0 && !has_moving_rows(c.scenario);
    Changed struck;
    struck.changed = c;
    // From here on the assembled state is given.
    set_state(c.scenario, twin);
    if (strikes && twin.ok() && settings_.only.empty())
    {
      finish_impact(base, struck, c, stem + "impact.yaml");
    }
    c.arguments.push_back("--raw-state");
    twin = cdyn_.solve(c, base_file);
  }
  Changed itself;
  itself.changed = c;
  const Finding of_twin = judge_case(itself, twin, base_file, nullptr, {});
  if (settings_.only.empty() || settings_.only == "as written")
  {
    finish("as written", itself, base_file, base, of_twin);
  }
  const bool trusted = of_twin.outcome == Outcome::kRight;
  if (twin.status.empty() || settings_.only == "as written")
  {
    return;
  }
  const Sensitivity unit =
    trusted ? sensitivity(c, twin, random, stem + "perturbed.yaml") : Sensitivity();

  const bool only_runs = settings_.only == "run";
  if (trusted && (only_runs || (settings_.only.empty() && base % 2 == 0)))
  {
    run_run(base, c, twin, random, stem + "run");
  }
  if (only_runs)
  {
    return;
  }
  int done = 0;
  const int wanted = !settings_.only.empty() ? 1
                     : base % 2 == 0         ? kTransformations - 1
                                             : kTransformations;
  for (int i = 0; i < kTries && done < wanted; ++i)
  {
    const Transformation & transformation = random.pick(transformations());
    if (!settings_.only.empty() && transformation.kind != settings_.only)
    {
      continue;
    }
    std::optional<Changed> changed = transformation.apply(c, twin, random);
    if (!changed)
    {
      continue;
    }
    ++done;
    const std::string file = stem + std::to_string(done) + ".yaml";
    const Result result = cdyn_.solve(changed->changed, file);
    finish(
      transformation.kind, *changed, file, base,
      judge_case(*changed, result, file, trusted ? &twin : nullptr, unit));
  }
}

}  // namespace invariance
