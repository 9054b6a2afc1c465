// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Contacts that touch. With friction there may be several solutions, so none is computed here: an
// answer is inserted into the laws of Newton, Signorini and Coulomb, in 50 digits.

#include <algorithm>
#include <cstdio>

#include "judge.hpp"
#include "system.hpp"

namespace invariance
{
namespace
{

// Of the terms of an equation, or of the largest multiplier. The library calls contact forces
// solved at 1e-10 of the largest.
const Real kLaw("1e-9");
// Nothing is known better than 1e3 ε of the whole motion, with constraints and without.
const Real kData("2.2e-13");
// A gap up to this is none, as for the library; what is larger is open from 1e-6 on [m, rad].
const Real kTouch("1e-9");
// Speeds up to this, the creep speed, are none; from kMoving on they are motion [m/s, rad/s].
const Real kRest("1e-9");
const Real kMoving("1e-6");

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::string number(const Real & value)
{
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.3g", value.convert_to<double>());
  return buffer;
}

/// A u̇ − b, and the size of its terms.
struct RowMotion
{
  Real acceleration;
  Real size;
};

RowMotion motion_of(const Row & row, const Vector & acceleration)
{
  RowMotion out{-row.b, row.b_size};
  for (std::size_t j = 0; j < acceleration.size(); ++j)
  {
    out.acceleration += row.a[j] * acceleration[j];
    out.size += row.a_size[j] * abs(acceleration[j]);
  }
  return out;
}

/// A contact that touches, with its answered force in the axes of its rows.
struct Touching
{
  std::string name;
  std::array<Row, 3> rows;  ///< normal, two tangents
  Real gap;
  Real kinetic = 0;  ///< coefficients of friction
  Real sticking = 0;
  std::array<Real, 3> force{};
};

Touching read_contact(
  const YAML::Node & item, const Document & document, const System & system, const Real & time)
{
  for (const char * key : {"law", "force", "tangent", "side", "tolerance", "adhesive"})
  {
    if (item[key])
    {
      throw Unsupported(std::string("contact with the key ") + key + ", which touches");
    }
  }
  YAML::Node rolling(YAML::NodeType::Map);
  for (const char * key : {"name", "frame_a", "frame_b", "normal"})
  {
    if (item[key])
    {
      rolling[key] = item[key];
    }
  }
  rolling["type"] = "rolling";
  rolling["radius"] = item["radius"] ? item["radius"].as<std::string>() : "0";
  std::vector<Row> rows;
  add_constraint(rolling, document, system, time, rows);
  Touching out;
  out.name = item["name"].as<std::string>();
  std::copy(rows.begin(), rows.begin() + 3, out.rows.begin());
  out.gap = out.rows[0].position - document.number(item, "offset", 0);
  const YAML::Node friction = item["friction"];
  if (friction && friction.IsMap())
  {
    require_known(friction, "friction", {"coefficient", "static"});
    out.kinetic = document.number(friction["coefficient"]);
    out.sticking = document.number(friction, "static", out.kinetic);
  }
  else if (friction)
  {
    out.kinetic = out.sticking = document.number(friction);
  }
  return out;
}

/// The laws that an answer must satisfy; the first one that it violates is kept.
class Laws
{
public:
  Laws(const Answered & answered, const Terms & terms, const Vector & multipliers)
  : acceleration_(answered.acceleration.begin(), answered.acceleration.end()),
    inertia_(terms.inertia)
  {
    Vector free = terms.force;
    if (!solve(terms.inertia, free))
    {
      throw Unsupported("contacts and an inertia that is singular");
    }
    const auto size = [&](const Vector & x) { return sqrt(abs(dot(x, terms.inertia * x))); };
    whole_ = size(acceleration_) + size(free);
    largest_acceleration_ = norm(acceleration_) + norm(free);
    for (const Real & multiplier : multipliers)
    {
      largest_force_ = std::max<Real>(largest_force_, abs(multiplier));
    }
  }

  const std::string & violated() const { return violated_; }
  const Vector & acceleration() const { return acceleration_; }
  const Real & largest_force() const { return largest_force_; }
  /// ‖u̇‖_Q with and without constraints: all forces by 1/√Q_ii.
  const Real & whole() const { return whole_; }
  /// What a unit force along the slip of a contact accelerates it by, at most.
  Real mobility(const Touching & contact) const
  {
    Real sum = 0;
    for (const int i : {1, 2})
    {
      Vector response = contact.rows[at(i)].a;
      sum += solve(inertia_, response) ? dot(contact.rows[at(i)].a, response) : Real(0);
    }
    return sum;
  }
  const Real & fastest() const { return largest_acceleration_; }
  /// What rounding leaves of a row.
  Real rounding(const Row & row) const { return kData * norm(row.a_size) * largest_acceleration_; }

  void require(
    const Real & excess, const Real & size, const std::string & what, const Real & rounding = 0)
  {
    if (violated_.empty() && !(excess <= kLaw * size + rounding))
    {
      violated_ = what + ": " + number(excess) + " of " + number(size);
    }
  }

private:
  Vector acceleration_;
  Matrix inertia_;
  Real largest_force_ = 0;
  Real whole_ = 0;
  Real largest_acceleration_ = 0;
  std::string violated_;
};

/// Q u̇ = h + Σ aᵀ λ.
void check_newton(
  const System & system, const Terms & terms, const std::vector<Row> & rows,
  const Vector & multipliers, Laws & laws)
{
  for (int i = 0; i < system.size(); ++i)
  {
    if (!system.driven.empty() && system.driven[at(i)])
    {
      continue;
    }
    Real rest = -terms.force[at(i)];
    Real size = terms.force_size[at(i)];
    for (int j = 0; j < system.size(); ++j)
    {
      rest += terms.inertia(i, j) * laws.acceleration()[at(j)];
      size += terms.inertia_size(i, j) * abs(laws.acceleration()[at(j)]);
    }
    for (std::size_t k = 0; k < rows.size(); ++k)
    {
      rest -= rows[k].a[at(i)] * multipliers[k];
      size += rows[k].a_size[at(i)] * abs(multipliers[k]);
    }
    laws.require(
      abs(rest), size, "motion of " + system.speeds[at(i)],
      kData * sqrt(abs(terms.inertia(i, i))) * laws.whole());
  }
}

void check_friction(const Touching & contact, Laws & laws)
{
  const Real normal = contact.force[0];
  const auto length = [](const Real & x, const Real & y) { return sqrt(x * x + y * y); };
  const Real friction = length(contact.force[1], contact.force[2]);
  laws.require(
    friction - contact.sticking * normal, laws.largest_force(),
    contact.name + " exceeds its friction");
  const RowMotion first = motion_of(contact.rows[1], laws.acceleration());
  const RowMotion second = motion_of(contact.rows[2], laws.acceleration());
  const Real slip = length(contact.rows[1].velocity, contact.rows[2].velocity);
  const Real begins = length(first.acceleration, second.acceleration);
  // Friction acts against the slip, or against one that begins. A slip that counts as none still
  // turns friction, by its fraction of the creep speed, and friction turns the slip that begins.
  const auto against = [&](const Real & x, const Real & y, const char * what)
  {
    const Real bound = contact.kinetic * normal / length(x, y);
    const Real most = contact.kinetic * normal;
    const Real answers = slip <= kRest ? Real(most * laws.mobility(contact) / begins) : Real(0);
    const Real turned = slip <= kRest ? Real(most * slip / kRest * (1 + answers)) : Real(0);
    laws.require(
      length(contact.force[1] + bound * x, contact.force[2] + bound * y), laws.largest_force(),
      contact.name + what, turned);
  };
  if (slip > kMoving)
  {
    against(
      contact.rows[1].velocity, contact.rows[2].velocity,
      " slides, and friction is not against it");
  }
  else if (
    slip <= kRest && contact.kinetic > 0 &&
    begins > kMoving * (first.size + second.size + norm(contact.rows[1].a_size) * laws.fastest()))
  {
    against(
      first.acceleration, second.acceleration, " begins to slide, and friction is not against it");
  }
  else if (slip <= kRest && friction < contact.sticking * normal - kLaw * laws.largest_force())
  {
    laws.require(
      begins, first.size + second.size, contact.name + " sticks and moves",
      laws.rounding(contact.rows[1]) + laws.rounding(contact.rows[2]));
  }
}

/// Signorini and Coulomb.
void check_contact(const Touching & contact, Laws & laws)
{
  const RowMotion normal = motion_of(contact.rows[0], laws.acceleration());
  const Real speed = contact.rows[0].velocity;
  if (contact.gap > kTouch || (abs(speed) > kRest && abs(speed) < kMoving))
  {
    throw Unsupported("contact '" + contact.name + "' between touching and not");
  }
  laws.require(-contact.force[0], laws.largest_force(), contact.name + " pulls");
  if (speed >= kMoving)
  {
    laws.require(contact.force[0], laws.largest_force(), contact.name + " leaves and pushes");
    return;
  }
  laws.require(speed <= -kMoving ? Real(1) : Real(0), 1, contact.name + " approaches");
  const Real rounding = laws.rounding(contact.rows[0]);
  laws.require(
    -normal.acceleration, normal.size, contact.name + " is accelerated into the other", rounding);
  if (contact.force[0] > kLaw * laws.largest_force())
  {
    laws.require(normal.acceleration, normal.size, contact.name + " opens and pushes", rounding);
  }
  check_friction(contact, laws);
}

void fill_verdict(
  const Document & document, const State & state, const Answered & answered,
  ContactVerdict & verdict)
{
  const std::unique_ptr<System> system = make_system(document, state);
  std::vector<YAML::Node> items;
  std::vector<Row> rows = make_rows(document, *system, state.time, &items);
  Vector multipliers;
  for (const Row & row : rows)
  {
    const auto found = answered.multipliers.find(row.name);
    if (found == answered.multipliers.end())
    {
      throw Unsupported("an answer without a multiplier of " + row.name);
    }
    multipliers.push_back(found->second);
  }
  const std::size_t always = rows.size();
  std::vector<Touching> contacts;
  for (const YAML::Node & item : items)
  {
    Touching contact = read_contact(item, document, *system, state.time);
    for (const std::string & name : {contact.name, contact.name + "_friction"})
    {
      const auto found = answered.forces.find(name);
      for (int i = 0; i < 3 && found != answered.forces.end(); ++i)
      {
        const RealTriple & direction = contact.rows[at(i)].wrench.force;
        for (int k = 0; k < 3; ++k)
        {
          contact.force[at(i)] += direction[k] * found->second[at(k)];
        }
      }
    }
    rows.insert(rows.end(), contact.rows.begin(), contact.rows.end());
    multipliers.insert(multipliers.end(), contact.force.begin(), contact.force.end());
    contacts.push_back(contact);
  }
  const Terms terms = system->terms();
  Laws laws(answered, terms, multipliers);
  check_newton(*system, terms, rows, multipliers, laws);
  for (std::size_t i = 0; i < always; ++i)
  {
    const RowMotion motion = motion_of(rows[i], laws.acceleration());
    laws.require(
      abs(motion.acceleration), motion.size, rows[i].name + " is missed", laws.rounding(rows[i]));
  }
  for (const Touching & contact : contacts)
  {
    check_contact(contact, laws);
  }
  verdict.violated = laws.violated();
  verdict.supported = true;
}

}  // namespace

ContactVerdict judge_contacts(
  const std::string & scenario_file, const Given & given, const Answered & answered)
{
  ContactVerdict verdict;
  try
  {
    const Document document(scenario_file);
    State state;
    state.time = given.time;
    state.q.assign(given.q.begin(), given.q.end());
    state.u.assign(given.u.begin(), given.u.end());
    state.inputs.assign(given.inputs.begin(), given.inputs.end());
    fill_verdict(document, state, answered, verdict);
  }
  catch (const Unsupported & reason)
  {
    verdict = ContactVerdict();
    verdict.unsupported = reason.what();
  }
  return verdict;
}

}  // namespace invariance
