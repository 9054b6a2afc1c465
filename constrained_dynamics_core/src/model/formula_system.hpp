// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/model/analytic_system.hpp"
#include "model/formula_data.hpp"
#include "model/formula_model.hpp"

namespace constrained_dynamics::detail
{

/// The system of an AnalyticDescription: Lagrange's equations in generalized speeds by automatic
/// differentiation of its formulas. The equations are in the comment of AnalyticDescription.
class FormulaSystem final : public AnalyticSystem
{
public:
  explicit FormulaSystem(const AnalyticDescription & description);

protected:
  std::unique_ptr<SystemData> do_make_data() const override;
  Status do_update_kinematics(SystemData & data) const noexcept CD_NONBLOCKING override;
  Status do_update_dynamics(SystemData & data) const noexcept CD_NONBLOCKING override;
  Eigen::VectorXd do_neutral_coordinates() const override { return neutral_; }
  double do_kinetic_energy(const SystemData & data) const noexcept CD_NONBLOCKING override
  {
    return static_cast<const FormulaData &>(data).kinetic_energy;
  }
  double do_potential_energy(const SystemData & data) const noexcept CD_NONBLOCKING override
  {
    return static_cast<const FormulaData &>(data).potential_energy;
  }
  bool do_power(
    SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef & inputs,
    const ConstVectorRef & constraint_force,
    SystemPower & out) const noexcept CD_NONBLOCKING override;
  Status do_speeds_from_rates(
    double time, const ConstVectorRef & q, const ConstVectorRef & qdot,
    Eigen::VectorXd & u) const override;
  bool do_differentiate(
    SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef & inputs,
    SystemDerivatives & out) const override;
  void do_add_coordinate_force_derivatives(
    const SystemData & data, const ConstVectorRef & y, MatrixRef out) const override;

private:
  void add_kinetic(FormulaData & data) const noexcept;
  void add_potential(FormulaData & data) const noexcept;
  void update_mass(FormulaData & data) const noexcept;
  void mass_times(FormulaData & data, Eigen::Index speed) const noexcept;
  void mass_of(const std::vector<int> & rates, FormulaData & data) const noexcept;
  void add_force(FormulaData & data) const noexcept;
  void update_inputs(FormulaData & data) const noexcept;
  double moving_frame_power(FormulaData & data) const noexcept;

  void move_coordinates(const SystemTerms & terms, FormulaDerivativeScratch & along) const noexcept;
  void differentiate_speed_matrix(
    const SystemTerms & terms, const Eigen::VectorXd & q, const Eigen::VectorXd & rates, double t,
    FormulaDerivativeScratch & scratch) const noexcept;
  void equations_along(
    const SystemTerms & terms, const ConstVectorRef & inputs,
    FormulaDerivativeScratch & along) const noexcept;
  void add_forces_along(
    const ConstVectorRef & inputs, FormulaDerivativeScratch & along) const noexcept;

  FormulaModel model_;
  Eigen::Index n_ = 0;
  bool is_scleronomic_ = false;  // T is homogeneous of degree 2 in the rates and free of t
  Eigen::MatrixXd mass_;         // M where it is constant
  Eigen::VectorXd neutral_;
};

/// What sampling the formulas of a description has found.
struct FormulaSamples
{
  Eigen::VectorXd regular;     ///< coordinates where all formulas have values and C exists
  bool is_homogeneous = true;  ///< T is homogeneous of degree 2 in the rates
};

/// Checks the formulas at random samples near zero or near regular_coordinates: kinetic energy of
/// degree 2, speeds affine in the rates and independent, forces affine in the accelerations.
/// @throw std::invalid_argument
FormulaSamples check_formulas(
  const AnalyticDescription & d, const FormulaModel & model, FormulaData & data);

}  // namespace constrained_dynamics::detail
