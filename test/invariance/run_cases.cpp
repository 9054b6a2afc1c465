// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Every 20th case is a run.

#include <cmath>
#include <filesystem>

#include "runner.hpp"

namespace invariance
{

namespace
{

constexpr double kStart = 1e-14;      // how far away the neighbour of a run starts
constexpr double kTolerated = 100.0;  // times what that makes at the end
constexpr double kRounding = 1e-12;   // where a neighbour happens to stay

/// A short run of the case with a fixed step.
Case short_run(const Case & c, double span, double step, const std::string & integrator)
{
  Case result = c;
  const YAML::Node time = c.scenario["initial"]["time"];
  const double start = time ? time.as<double>() : 0.0;
  YAML::Node run(YAML::NodeType::Map);
  run["until"] = text(start + span);
  run["step"] = text(step);
  run["integrator"] = integrator;
  result.scenario["run"] = run;
  return result;
}

/// Largest difference of the speeds by name.
double gap(const Result & a, const Result & b)
{
  double result = 0.0;
  for (std::size_t i = 0; i < a.u.names.size(); ++i)
  {
    const int k = b.u.index(a.u.names[i]);
    const double difference =
      k < 0 ? std::numeric_limits<double>::infinity()
            : std::abs(a.u.values(static_cast<Eigen::Index>(i)) - b.u.values(k));
    result = difference <= result ? result : difference;
  }
  return result;
}

double size(const Result & r)
{
  return 1.0 + (r.u.values.size() > 0 ? r.u.values.cwiseAbs().maxCoeff() : 0.0);
}

std::string number(double value)
{
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.3g", value);
  return buffer;
}

/// Of a run that did not end: needless where its twin did.
Finding gave_up(const Result & result)
{
  Finding finding;
  finding.outcome = result.status.empty() ? Outcome::kNeedless : Outcome::kRefused;
  finding.status = result.status.empty() ? "refused the file" : result.status;
  finding.reason = "status " + finding.status + " " + result.message;
  return finding;
}

/// Contacts, friction and events, where the order of a fixed step is not that of its formula.
bool is_smooth(const YAML::Node & scenario)
{
  if (scenario["events"] || (scenario["system"]["friction"]))
  {
    return false;
  }
  for (const YAML::Node & constraint : scenario["constraints"])
  {
    if (
      constraint["unilateral"] || constraint["friction"] || constraint["law"] ||
      constraint["type"].as<std::string>() == "contact")
    {
      return false;
    }
  }
  return true;
}

const Result & first_not_ok(const Result & a, const Result & b, const Result & c)
{
  return !a.ok() ? a : !b.ok() ? b : c;
}

/// Halving the step three times shows the integrator's order.
Finding judge_order(const Result (&results)[3])
{
  if (!results[0].ok() || !results[1].ok() || !results[2].ok())
  {
    return gave_up(first_not_ok(results[0], results[1], results[2]));
  }
  Finding finding;
  const double first = gap(results[0], results[1]);
  const double second = gap(results[1], results[2]);
  // Where the steps are small enough to show their order, and rounding does not hide it.
  const bool visible = first < 1e-3 * size(results[2]) && second > 1e-10 * size(results[2]);
  const double order = std::log2(first / second);
  if (visible && !(order > 3.0))
  {
    finding.outcome = Outcome::kWrongOk;
    finding.reason = "order " + number(order) + ": halving the step brings " + number(first) +
                     " to " + number(second);
  }
  return finding;
}

}  // namespace

void Runner::run_run(
  std::uint64_t base, const Case & c, const Result & twin, Random & random,
  const std::string & stem)
{
  if (!is_smooth(c.scenario))
  {
    run_located_events(base, c, stem);
  }
  else if (random.chance(0.4))
  {
    run_integrator(base, c, random, stem);
  }
  else
  {
    run_in_other_words(base, c, twin, random, stem);
  }
}

/// Fixed steps find events within a step, to second order; dopri5 locates them.
void Runner::run_located_events(std::uint64_t base, const Case & c, const std::string & stem)
{
  const std::string file = stem + ".yaml";
  Changed changed;
  changed.changed = short_run(c, 0.05, 1e-4, "rk4");
  const Result fixed = cdyn_.run(changed.changed, file);
  const Result located = cdyn_.run(short_run(c, 0.05, 1e-4, "dopri5"), stem + "_located.yaml");
  const Result halved = cdyn_.run(short_run(c, 0.05, 5e-5, "rk4"), stem + "_halved.yaml");
  Finding finding;
  if (fixed.ok() && located.ok() && halved.ok())
  {
    const double first = gap(fixed, located);
    const double second = gap(halved, located);
    // Halving the step halves the difference at least, down to what dopri5 tolerates.
    if (second > 0.6 * first + 1e-6 * size(located))
    {
      finding.outcome = Outcome::kWrongOk;
      finding.reason = "fixed steps differ from located events by " + number(first) +
                       ", with half the step by " + number(second);
    }
  }
  else
  {
    finding = gave_up(first_not_ok(fixed, located, halved));
  }
  std::filesystem::remove(stem + "_located.yaml");
  std::filesystem::remove(stem + "_halved.yaml");
  finish("run: located events", changed, file, base, finding, "run");
}

void Runner::run_integrator(
  std::uint64_t base, const Case & c, Random & random, const std::string & stem)
{
  const std::string file = stem + ".yaml";
  const std::string integrator = random.pick<std::string>({"rk4", "kutta_merson", "dopri5"});
  constexpr double kSpan = 0.08;
  Changed changed;
  Result results[3];
  double step = 0.01;
  for (Result & result : results)
  {
    changed.changed = short_run(c, kSpan, step, integrator == "dopri5" ? "rk4" : integrator);
    result = cdyn_.run(changed.changed, file);
    step /= 2.0;
  }
  if (integrator != "dopri5")
  {
    changed.detail = "order";
    finish("run: integrator " + integrator, changed, file, base, judge_order(results), "run");
    return;
  }
  changed.changed = short_run(c, kSpan, 1e-3, integrator);
  const Result adaptive = cdyn_.run(changed.changed, file);
  Finding finding = adaptive.ok() ? Finding() : gave_up(adaptive);
  // As far away as the steps are from their limit, and what dopri5 tolerates.
  const double allowed = 2.0 * gap(results[1], results[2]) + 1e-7 * size(adaptive);
  if (
    adaptive.ok() && results[1].ok() && results[2].ok() && !(gap(results[2], adaptive) <= allowed))
  {
    finding.outcome = Outcome::kWrongOk;
    finding.reason = "dopri5 differs from rk4 by " + number(gap(results[2], adaptive)) +
                     ", allowed " + number(allowed);
  }
  finish("run: integrator dopri5", changed, file, base, finding, "run");
}

/// What two runs that start close to this one differ from it at the end.
double Runner::neighbour_gap(
  const Case & original, const Result & start, const Result & end, Random & random,
  const std::string & file)
{
  double unit = 0.0;
  for (int i = 0; i < 2; ++i)
  {
    Case neighbour = original;
    Result state = start;
    for (Named * values : {&state.q, &state.u})
    {
      for (Eigen::Index k = 0; k < values->values.size(); ++k)
      {
        values->values(k) += kStart * random.sign() * (1.0 + std::abs(values->values(k)));
      }
    }
    set_state(neighbour.scenario, state);
    unit = std::max(unit, gap(end, cdyn_.run(neighbour, file)));
  }
  return unit;
}

/// The same run in other words.
void Runner::run_in_other_words(
  std::uint64_t base, const Case & c, const Result & twin, Random & random,
  const std::string & stem)
{
  const std::string file = stem + ".yaml";
  const Case original = short_run(c, 0.03, 1e-3, "rk4");
  std::optional<Changed> other;
  std::string kind;
  for (int i = 0; i < 30 && !other; ++i)
  {
    const Transformation & transformation = random.pick(transformations());
    other = transformation.apply(original, twin, random);
    kind = transformation.kind;
    if (other && other->expected != Expected::kSame)
    {
      other.reset();
    }
  }
  if (!other)
  {
    return;
  }
  const Result end = cdyn_.run(original, stem + "_twin.yaml");
  const Result result = cdyn_.run(other->changed, file);
  Finding finding;
  if (result.ok() && end.ok())
  {
    const double unit = neighbour_gap(original, twin, end, random, stem + "_neighbour.yaml");
    Result same_terms = result;
    if (other->undo)
    {
      other->undo(same_terms);
    }
    const double tolerance = kTolerated * unit + kRounding * size(end);
    if (!(gap(end, same_terms) <= tolerance))
    {
      finding.outcome = Outcome::kWrongOk;
      finding.reason = "speeds at the end differ from the twin's by " +
                       number(gap(end, same_terms)) + ", tolerance " + number(tolerance);
    }
  }
  else if (end.ok() && result.status != other->allowed_status)
  {
    finding = gave_up(result);
    finding.outcome = Outcome::kNeedless;
    finding.reason += ", twin ok";
  }
  else
  {
    finding = gave_up(result.ok() ? end : result);
    finding.outcome = Outcome::kRefused;
  }
  for (const char * end_of_name : {"_twin.yaml", "_neighbour.yaml"})
  {
    if (finding.outcome == Outcome::kRight || finding.outcome == Outcome::kRefused)
    {
      std::filesystem::remove(stem + end_of_name);
    }
  }
  other->detail = kind + (other->detail.empty() ? "" : ", " + other->detail);
  finish("run: in other words", *other, file, base, finding, "run");
}

}  // namespace invariance
