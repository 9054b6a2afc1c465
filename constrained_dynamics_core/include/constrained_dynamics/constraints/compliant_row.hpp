#pragma once

#include <memory>
#include <string>

#include "constrained_dynamics/constraint.hpp"
#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// How the penetration x of a compliant contact moves by itself (not a spring: the motion is
/// prescribed, and the multiplier is the force that it takes).
///     linear:         ẍ = Δ1 ẋ + Δ2 x        (thesis 328; Kelvin-Voigt with Δ1 = −c/m, Δ2 = −k/m)
///     Hunt-Crossley:  ẍ = −(c ẋ + k) xⁿ      (thesis 368, per unit of mass), for x > 0
struct RowLaw
{
  enum class Kind
  {
    kLinear,
    kHuntCrossley,
  };
  Kind kind = Kind::kLinear;
  double velocity_gain = 0.0;  ///< Δ1 ≤ 0 [1/s]
  double position_gain = 0.0;  ///< Δ2 ≤ 0 [1/s²]
  double stiffness = 0.0;      ///< k ≥ 0
  double damping = 0.0;        ///< c ≥ 0
  double exponent = 1.5;       ///< n > 0
};

/// The one row of another constraint with a law of its own motion, for contacts with continuous
/// velocities (thesis 5.4 to 5.7). Type id "compliant_row".
///
/// A position row x = side · φ gets b ← b + side · law(x, ẋ); a velocity row ψ gets b ← b + Δ1 ψ
/// (thesis 329). The row is on acceleration level, so that no projection moves it; φ and φ̇ are
/// filled all the same.
class CONSTRAINED_DYNAMICS_EXPORT CompliantRow : public Constraint
{
public:
  /// @param side +1: penetration is φ > 0; −1: φ < 0.
  /// @throw std::invalid_argument for no row or more than one, gains that are positive or not
  /// finite.
  CompliantRow(std::shared_ptr<const Constraint> row, const RowLaw & law, double side = 1.0);

  const Constraint & row() const { return *row_; }
  const RowLaw & law() const { return law_; }
  double side() const { return side_; }

protected:
  Status do_evaluate(const SystemData & data, ConstraintScratch & scratch, RowBlock & rows)
    const noexcept CD_NONBLOCKING override;
  void do_wrenches(
    const SystemData & data, ConstraintScratch & scratch, const ConstVectorRef & multipliers,
    WrenchPair * out) const noexcept CD_NONBLOCKING override;

private:
  std::shared_ptr<const Constraint> row_;
  RowLaw law_;
  double side_;
  bool is_velocity_;
};

}  // namespace constrained_dynamics
