// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/formula/dual.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

struct AnalyticDescription;

/// A textbook system: it has no bodies and no frames, but its generalized speeds can be chosen
/// freely. make_analytic_system builds it from C++ functions or from formulas:
///     (E1) q̇ = C(q,t) u + D(q,t),     (E2) Q u̇ = P + G τ + F^c.
/// neutral_coordinates() are zeros, or a regular point if the system is singular at zero.
class CONSTRAINED_DYNAMICS_EXPORT AnalyticSystem : public System
{
public:
  ~AnalyticSystem() override;

  /// Finds the speeds u (n) that give the rates qdot (nq), e.g. for initial values. Where nq > n,
  /// it finds the closest speeds in the least-squares sense.
  /// Statuses: kOk, kSizeMismatch, kNonFiniteInput, kNonFiniteResult, kSingularKinematics,
  /// kUserFunctionFailed; on failure `u` is untouched. Real-time safe: no (it allocates).
  [[nodiscard]] Status speeds_from_rates(
    double time, const ConstVectorRef & q, const ConstVectorRef & qdot, VectorRef u) const;

  /// The formulas that the system was built from; null if it was built from C++ functions.
  const AnalyticDescription * description() const { return description_.get(); }

protected:
  AnalyticSystem();
  explicit AnalyticSystem(const AnalyticDescription & description);
  virtual Status do_speeds_from_rates(
    double time, const ConstVectorRef & q, const ConstVectorRef & qdot,
    Eigen::VectorXd & u) const = 0;

private:
  std::unique_ptr<const AnalyticDescription> description_;
};

/// A system given by C++ functions. Every function fills all of its last argument, which already
/// has the right size. Several threads may call it at the same time. It must not allocate if it is
/// to run in a control cycle. If it throws, the evaluation returns Status::kUserFunctionFailed.
struct AnalyticFunctions
{
  using MatrixOfPosition = std::function<void(double t, const ConstVectorRef & q, MatrixRef out)>;
  using VectorOfPosition = std::function<void(double t, const ConstVectorRef & q, VectorRef out)>;
  using MatrixOfState = std::function<void(
    double t, const ConstVectorRef & q, const ConstVectorRef & u, MatrixRef out)>;
  using VectorOfState = std::function<void(
    double t, const ConstVectorRef & q, const ConstVectorRef & u, VectorRef out)>;
  /// q̇ = f(t, q, u), affine in u, over dual numbers; arrays of nq, n and nq elements.
  using Rates = std::function<void(const Dual & t, const Dual * q, const Dual * u, Dual * qdot)>;

  std::vector<std::string> coordinates;  ///< names; nq of them
  std::vector<std::string> speeds;       ///< names; empty: "d" + each coordinate
  std::vector<std::string> inputs;       ///< names; empty: none

  /// The kinematics (E1) can be given in one of three ways. First, by nothing: then q̇ = u and
  /// nq = n. Second, by `rates`, a function over dual numbers from which C, D and the bias of q̈
  /// are derived.
  Rates rates;
  /// Third, by C, D (empty: zero) and the bias Ċ u + Ḋ, which is q̈ at u̇ = 0.
  MatrixOfPosition kinematic_matrix;
  VectorOfPosition kinematic_drift;
  VectorOfState acceleration_bias;

  MatrixOfPosition mass_matrix;  ///< Q (n × n); required
  VectorOfState force;           ///< P (n); empty: zero
  MatrixOfState input_matrix;    ///< G (n × l); required if there are inputs

  /// Kinetic energy [J]; empty: uᵀ Q u / 2.
  std::function<double(double t, const ConstVectorRef & q, const ConstVectorRef & u)>
    kinetic_energy;
  /// Potential energy [J]; empty: 0.
  std::function<double(double t, const ConstVectorRef & q)> potential_energy;

  /// Normalises q, e.g. Euler parameters to unit length; empty: nothing to do. Must not throw.
  std::function<void(VectorRef q)> normalise;
  /// A configuration (nq) at which every function succeeds; empty: zeros.
  Eigen::VectorXd neutral_coordinates;
};

/// Builds a system from C++ functions.
/// @throw std::invalid_argument for names that are empty or not unique, sizes that do not match,
/// missing functions, or `rates` that are not affine in the speeds.
CONSTRAINED_DYNAMICS_EXPORT std::shared_ptr<const AnalyticSystem> make_analytic_system(
  AnalyticFunctions functions);

/// A name and its formula (see formula.hpp for the language).
struct NamedFormula
{
  std::string name;
  std::string formula;
};

/// A control input and the generalized force that it exerts per unit of input.
struct AnalyticInput
{
  std::string name;
  /// Maps a coordinate or speed to its coefficient: a formula as in AnalyticDescription::force, but
  /// without accelerations.
  std::vector<NamedFormula> coefficients;
};

/// A system given by formulas. Everything else is derived by automatic differentiation.
///
/// Formulas may use coordinates (`x`), their rates (`dx`), time (`t`), the parameters, the
/// definitions, the speeds and, in forces, the accelerations (`ddx`). With the kinetic energy T,
/// the potential energy V, the active forces F on the coordinates and f on the speeds:
///     M q̈ = F − ∂V/∂q + ∂T/∂q − (∂²T/∂q̇∂q q̇ + ∂²T/∂q̇∂t) = P_q,   M = ∂²T/∂q̇²   (Lagrange)
///     u = W q̇ + w0,   C = W⁻¹,   D = −W⁻¹ w0,   q̈ = C u̇ + q̈0
///     Q = Cᵀ M C,   P = Cᵀ (P_q − M q̈0) + f.
/// Accelerations in forces are moved into the mass matrix, Q ← Q − Cᵀ ∂F/∂q̈ C − ∂f/∂q̈ C, which
/// may then be unsymmetric. M may be semidefinite, as for the rates of Euler parameters, but must
/// not depend on the rates.
struct AnalyticDescription
{
  std::vector<std::string> coordinates;
  std::vector<std::pair<std::string, double>> parameters;
  /// Named sub-expressions. Each may use those before it, and the speeds.
  std::vector<NamedFormula> definitions;
  /// T(q, q̇, t) [J]; a polynomial of at most degree 2 in the rates.
  std::string kinetic;
  /// V(q, t) [J]; empty: 0.
  std::string potential;
  /// The generalized speeds, one for each coordinate. Each is a formula in rates, coordinates and
  /// time that is affine in the rates. Empty: the rates themselves, named `dx`. A speed may be
  /// called `dx` only if it is the rate of x.
  std::vector<NamedFormula> speeds;
  /// Active forces. One named after a coordinate acts on its rate as in Lagrange's equations
  /// (virtual power Σ F_i δq̇_i). One named after a speed is Kane's generalized active force,
  /// conjugate to that speed (virtual power Σ f_i δu_i). The name `dx` means the speed; if all
  /// speeds are rates, it has the same effect as `x`. Several entries of one name add up.
  std::vector<NamedFormula> force;
  std::vector<AnalyticInput> inputs;
  /// A configuration (nq) near which all formulas are defined, such as the initial one. The checks
  /// at set-up sample its neighbourhood first. It becomes neutral_coordinates(). Empty: zeros or,
  /// if a formula is undefined there, a sample where all are defined.
  Eigen::VectorXd regular_coordinates;
};

/// Builds a system from formulas. An evaluation returns Status::kSingularKinematics where W is
/// singular (reciprocal condition below 1e-12), e.g. for spherical coordinates on their axis.
/// @throw std::invalid_argument naming the entry: for invalid or duplicate names, formulas that
/// cannot be parsed, speeds that are not affine in the rates, a number of speeds other than that of
/// the coordinates, speeds that are singular everywhere, a potential that depends on rates,
/// accelerations that enter nonlinearly or outside forces, and a mass matrix that depends on rates.
CONSTRAINED_DYNAMICS_EXPORT std::shared_ptr<const AnalyticSystem> make_analytic_system(
  const AnalyticDescription & description);

}  // namespace constrained_dynamics
