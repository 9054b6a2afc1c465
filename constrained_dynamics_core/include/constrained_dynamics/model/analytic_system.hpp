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

/// A textbook system: no bodies and no frames, but generalized speeds of one's own choice.
/// Built by make_analytic_system from C++ functions or from formulas; both give the same object:
///     (E1) q̇ = C(q,t) u + D(q,t),     (E2) Q u̇ = P + G τ + F^c.
/// neutral_coordinates() are zeros or, where the system is singular there, a point where it is not.
class CONSTRAINED_DYNAMICS_EXPORT AnalyticSystem : public System
{
public:
  ~AnalyticSystem() override;

  /// Speeds that belong to given rates (n, from nq), e.g. for initial values. Where nq > n: the
  /// nearest ones in the least-squares sense.
  /// Statuses: kOk, kSizeMismatch, kNonFiniteInput, kNonFiniteResult, kSingularKinematics,
  /// kUserFunctionFailed; on failure `u` is untouched. Real-time safe: no (it allocates).
  [[nodiscard]] Status speeds_from_rates(
    double time, const ConstVectorRef & q, const ConstVectorRef & qdot, VectorRef u) const;

  /// The formulas that the system was built from; null where it was built from C++ functions.
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

/// A system given by C++ functions. Every function fills all of its last argument, which has the
/// right size; it may be called by several threads at a time, it must not allocate if cycles shall
/// not, and it may throw: the evaluation then ends with Status::kUserFunctionFailed.
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
  std::vector<std::string> speeds;       ///< names; empty: one a coordinate, "d" + coordinate
  std::vector<std::string> inputs;       ///< names; empty: none

  /// The kinematics (E1), one of three ways. First: nothing at all; then q̇ = u, and nq = n.
  /// Second: `rates`, a generic callable from which C, D and the bias of q̈ are derived.
  Rates rates;
  /// Third: C, D (empty: zero) and the bias Ċ u + Ḋ, that is q̈ at u̇ = 0.
  MatrixOfPosition kinematic_matrix;
  VectorOfPosition kinematic_drift;
  VectorOfState acceleration_bias;

  MatrixOfPosition mass_matrix;  ///< Q (n × n); needed
  VectorOfState force;           ///< P (n); empty: zero
  MatrixOfState input_matrix;    ///< G (n × l); needed iff there are inputs

  /// Kinetic energy [J]; empty: uᵀ Q u / 2.
  std::function<double(double t, const ConstVectorRef & q, const ConstVectorRef & u)>
    kinetic_energy;
  /// Potential energy [J]; empty: 0.
  std::function<double(double t, const ConstVectorRef & q)> potential_energy;

  /// Brings q back to its manifold, e.g. Euler parameters to length 1; empty: nothing to do. Must
  /// not throw.
  std::function<void(VectorRef q)> normalise;
  /// A configuration that every function accepts (nq); empty: zeros.
  Eigen::VectorXd neutral_coordinates;
};

/// Builds a system from C++ functions.
/// @throw std::invalid_argument for names that are empty or not unique, sizes that do not fit,
/// missing functions, or `rates` that are not affine in the speeds.
CONSTRAINED_DYNAMICS_EXPORT std::shared_ptr<const AnalyticSystem> make_analytic_system(
  AnalyticFunctions functions);

/// A name and its formula (see formula.hpp for the language).
struct NamedFormula
{
  std::string name;
  std::string formula;
};

/// A control input and the generalized force it exerts, a unit of input at a time.
struct AnalyticInput
{
  std::string name;
  /// Coordinate or speed → coefficient, a formula as in AnalyticDescription::force but without
  /// accelerations.
  std::vector<NamedFormula> coefficients;
};

/// A system given by formulas; everything else follows by automatic differentiation.
///
/// Names in formulas: coordinates (`x`), their rates (`dx`), time (`t`), the parameters, the
/// definitions, the speeds and, in forces, the accelerations (`ddx`). With T kinetic, V potential
/// energy, F the active forces on the coordinates and f those on the speeds:
///     M q̈ = F − ∂V/∂q + ∂T/∂q − (∂²T/∂q̇∂q q̇ + ∂²T/∂q̇∂t) = P_q,   M = ∂²T/∂q̇²   (Lagrange)
///     u = W q̇ + w0,   C = W⁻¹,   D = −W⁻¹ w0,   q̈ = C u̇ + q̈0
///     Q = Cᵀ M C,   P = Cᵀ (P_q − M q̈0) + f.
/// Accelerations in forces are moved into the mass matrix, Q ← Q − Cᵀ ∂F/∂q̈ C − ∂f/∂q̈ C, which may
/// then be unsymmetric. M may be semidefinite (rates of Euler parameters); M may not depend on the
/// rates.
struct AnalyticDescription
{
  std::vector<std::string> coordinates;
  std::vector<std::pair<std::string, double>> parameters;
  /// Named sub-expressions, each over what comes before it; they may use the speeds, too.
  std::vector<NamedFormula> definitions;
  /// T(q, q̇, t) [J]; a polynomial of degree 2 or less in the rates.
  std::string kinetic;
  /// V(q, t) [J]; empty: 0.
  std::string potential;
  /// The generalized speeds in order, as many as coordinates, each a formula over rates,
  /// coordinates and time that is affine in the rates. Empty: the rates themselves, named `dx`.
  /// A speed may be called `dx` only if it is that rate.
  std::vector<NamedFormula> speeds;
  /// Active force, keyed by a coordinate: it acts on that coordinate's rate as in Lagrange's
  /// equations (virtual power Σ F_i δq̇_i). Keyed by a speed: it is the generalized active force of
  /// Kane, conjugate to that speed (virtual power Σ f_i δu_i). What is named `dx` is a speed and,
  /// where all speeds are the rates, the same as `x`. Several entries for one name add up.
  std::vector<NamedFormula> force;
  std::vector<AnalyticInput> inputs;
  /// A configuration (nq) near which all formulas have values, such as the initial one; the checks
  /// of setup sample its surroundings first. It becomes neutral_coordinates(). Empty: zeros or,
  /// where formulas have no value there, a sample where they do.
  Eigen::VectorXd regular_coordinates;
};

/// Builds a system from formulas. Evaluation where W is singular (reciprocal condition below
/// 1e-12, e.g. spherical coordinates on their axis) gives Status::kSingularKinematics.
/// @throw std::invalid_argument naming the entry: bad or duplicate names, formulas that cannot be
/// parsed, speeds that are not affine in the rates or not as many as the coordinates or singular
/// everywhere, a potential that depends on rates, accelerations that enter nonlinearly or outside
/// of forces, a mass matrix that depends on the rates.
CONSTRAINED_DYNAMICS_EXPORT std::shared_ptr<const AnalyticSystem> make_analytic_system(
  const AnalyticDescription & description);

}  // namespace constrained_dynamics
