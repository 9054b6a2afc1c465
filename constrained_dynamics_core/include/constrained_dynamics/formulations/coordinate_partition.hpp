// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <vector>

#include "constrained_dynamics/formulations/formulation.hpp"
#include "constrained_dynamics/formulations/row_factorisation.hpp"

namespace constrained_dynamics
{

/// Coordinate partitioning, in the order of the problem: with B = A2ᵀ and ℧ = [A_D⁻¹ b; 0],
///     u̇ = B u̇_i + ℧,   BᵀQB u̇_i = Bᵀ (h − Q ℧).
/// Three modes:
/// - kFullCoordinates: nothing is reduced; accelerations of all coordinates and multipliers of the
///   rows that are left after the decision about rank (A1, E5) together,
///       [Q −A1ᵀ; A1 0] [u̇; μ] = [h; β],
///   by an LU of the whole matrix;
/// - kEveryStep: found anew in every solve by pivoting (generalized coordinate partitioning);
/// - kSelected: chosen once, by the user or by pivoting in the first solve, and kept (selective
///   coordinate partitioning). It is chosen anew only where it would cost digits: |K| (E4) above
///   kSelectedLimit, or the rank has changed. Where no row is redundant the pivots within A_D are
///   kept as well, and with them the zeros of A, so that a solve searches for nothing.
///
/// Q as for KaneNonminimal: only BᵀQB must be positive definite, or regular where Q is unsymmetric.
class CONSTRAINED_DYNAMICS_EXPORT CoordinatePartition : public RowFormulation
{
public:
  enum class Mode
  {
    kFullCoordinates,
    kEveryStep,
    kSelected,
  };
  /// Largest |K| of a selected partition. Its square enters BᵀQB: four of sixteen digits.
  static constexpr double kSelectedLimit = 100.0;

  /// @param independent_speeds for kSelected: the independent speeds, as many as degrees of
  /// freedom; prefer speeds such as ω_z to rates of single Euler parameters, which are singular at
  /// every half turn. None: pivoting in the first solve.
  /// @throw std::invalid_argument for negative or repeated speeds, or speeds in another mode.
  explicit CoordinatePartition(
    Mode mode = Mode::kEveryStep, std::vector<int> independent_speeds = {});

  /// "coordinate_partition_full", "coordinate_partition" or "coordinate_partition_selected".
  const char * name() const noexcept CD_NONBLOCKING override;
  /// @throw std::invalid_argument where a selected speed is not below `speed_count`.
  std::unique_ptr<FormulationData> make_data(int speed_count, int max_row_count) const override;
  using RowFormulation::make_data;

  /// Whether the mode partitions at all.
  bool has_independent_speeds() const noexcept override { return mode_ != Mode::kFullCoordinates; }

  Mode mode() const { return mode_; }
  /// The speeds given to the constructor.
  const std::vector<int> & independent_speeds() const { return independent_speeds_; }
  /// The factorisation of the last solve, for reports: order() tells the partition. @pre data was
  /// made by this class.
  static const RowFactorisation & factorisation(const FormulationData & data);

  /// What partitioning has cost since make_data.
  struct Work
  {
    long searches = 0;         ///< how often independent speeds were searched for by pivoting
    long pivot_choices = 0;    ///< kSelected: how often pivots were chosen within A_D
    long kept = 0;             ///< kSelected: solves and corrections with kept pivots
    long multiplications = 0;  ///< kSelected: of one elimination with the pivots of now
  };
  /// @pre data was made by this class.
  static Work work(const FormulationData & data);

protected:
  Status do_solve_rows(
    const RowProblem & problem, const RankOptions & options, FormulationData & data,
    RowSolution & solution) const noexcept CD_NONBLOCKING override;
  Status do_correct(
    const RowProblem & problem, const RankOptions & options, FormulationData & data,
    RowSolution & solution) const noexcept CD_NONBLOCKING override;

private:
  Mode mode_;
  std::vector<int> independent_speeds_;
};

}  // namespace constrained_dynamics
