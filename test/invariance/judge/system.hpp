// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "document.hpp"

namespace invariance
{

/// A quantity of the system that a formula, or a row over coordinates, may use. Sizes are the
/// values that the numbers could have, with absolute values in sums.
struct Variable
{
  int level = 0;    ///< 0: function of q and t, 1: of u too, 2: of u̇ too
  Real value = 0;   ///< at u̇ = 0
  Real rate = 0;    ///< its derivative in time at u̇ = 0 (levels 0 and 1)
  Real second = 0;  ///< its second derivative at u̇ = 0 (level 0)
  /// n: derivative by u̇ of the first time derivative that contains it: ∂(rate)/∂u for level 0,
  /// ∂(value)/∂u for level 1, ∂(value)/∂u̇ for level 2.
  Vector row;
  Real value_size = 0;
  Real rate_size = 0;
  Real second_size = 0;
  Vector row_size;
};

/// Q u̇ = h + F^c, h = P + G τ.
struct Terms
{
  Matrix inertia;
  Matrix inertia_size;
  Vector force;
  Vector force_size;
};

/// What a multiplier of 1 exerts on body A of a row between two frames, in axes of the world.
struct UnitWrench
{
  RealTriple point = zero3();  ///< about which the torque counts
  RealTriple force = zero3();
  RealTriple torque = zero3();
  Real torque_size = 0;  ///< what it could be
};

/// One row A u̇ = b.
struct Row
{
  std::string name;
  std::string constraint;
  bool has_wrench = false;
  UnitWrench wrench;
  int level = 0;
  bool rotational = false;  ///< its multiplier is a torque
  Real position = 0;        ///< φ
  Real velocity = 0;        ///< φ̇ or ψ
  Vector a;                 ///< n
  Vector a_size;
  Real b = 0;
  Real b_size = 0;
};

/// A state with inputs.
struct State
{
  Real time = 0;
  Vector q;
  Vector u;
  Vector inputs;
};

/// A system at a given state.
class System
{
public:
  virtual ~System() = default;

  int size() const { return static_cast<int>(speeds.size()); }  ///< n
  /// @throw Unsupported for a name that is none.
  virtual Variable variable(const std::string & name) const = 0;
  virtual Terms terms() const = 0;
  /// Rows of a constraint that only this kind of system knows.
  /// @return false where it does not know the type.
  virtual bool add_rows(
    const YAML::Node & item, const std::string & name, const std::string & type,
    std::vector<Row> & rows) const = 0;
  /// Whether a coordinate is an angle.
  virtual bool is_angle(const std::string & coordinate) const = 0;
  /// Couplings that the description states, as terms and offset: Σ c q = offset.
  struct Coupling
  {
    std::string name;
    std::vector<std::pair<std::string, Real>> terms;
    Real offset = 0;
  };
  virtual std::vector<Coupling> couplings() const { return {}; }

  std::vector<std::string> coordinates;
  std::vector<std::string> speeds;
  std::vector<std::string> inputs;
  std::vector<bool> driven;  ///< speeds that no constraint force accelerates; empty: none
};

/// The system of a scenario at a state.
/// @throw Unsupported for keys and types that the judge does not know, std::invalid_argument for
/// vectors of a wrong size.
std::unique_ptr<System> make_system(const Document & document, const State & state);
std::unique_ptr<System> make_robots(const Document & document, const State & state);
std::unique_ptr<System> make_textbook(const Document & document, const State & state);
/// A textbook system with the key `control_states`.
std::unique_ptr<System> make_control_states(const Document & document, const State & state);
/// Coordinates of a textbook system, those of controls of second order included.
std::vector<std::string> control_coordinates(const Document & document);

/// A formula with its derivatives at the state.
struct EvaluatedFormula
{
  std::vector<std::string> names;
  std::vector<Variable> variables;
  Jet jet;
};
EvaluatedFormula evaluate(const Expression & formula, const Names & names, const System & system);

/// The active rows of a scenario, stabilisation included.
/// @param touching contacts that touch are added to this list and make no rows; null: they are
/// unsupported.
std::vector<Row> make_rows(
  const Document & document, const System & system, const Real & time,
  std::vector<YAML::Node> * touching = nullptr);

/// Rows of a single constraint, whatever its type.
void add_constraint(
  const YAML::Node & item, const Document & document, const System & system, const Real & time,
  std::vector<Row> & rows);

}  // namespace invariance
