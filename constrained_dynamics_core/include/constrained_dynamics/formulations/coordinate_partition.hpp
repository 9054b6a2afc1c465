// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <vector>

#include "constrained_dynamics/formulations/formulation.hpp"
#include "constrained_dynamics/formulations/row_factorisation.hpp"

namespace constrained_dynamics
{

/// Coordinate partitioning. With B = A2ᵀ and ℧ = [A_D⁻¹ b; 0], columns in the order of the problem,
///     u̇ = B u̇_i + ℧,   BᵀQB u̇_i = Bᵀ (h − Q ℧).
/// Three modes:
/// - kFullCoordinates: no reduction; solves for all accelerations and for the multipliers of the
///   rows that remain after the rank decision (A1, E5) together,
///       [Q −A1ᵀ; A1 0] [u̇; μ] = [h; β],
/// by an LU factorisation of the whole matrix;
/// - kEveryStep: the partition is found by pivoting in every solve (generalized coordinate
///   partitioning);
/// - kSelected: the partition is chosen once, by the user or by pivoting in the first solve, and
///   kept (selective coordinate partitioning). It is chosen again only if |K| (E4) exceeds
///   kSelectedLimit, which would cost digits, or if the rank changes. If no row is redundant, the
///   pivots within A_D and the pattern of zeros of A are kept as well, so that a solve needs no
///   search.
///
/// As for KaneNonminimal, only BᵀQB must be positive definite, or regular if Q is unsymmetric.
class CONSTRAINED_DYNAMICS_EXPORT CoordinatePartition : public RowFormulation
{
public:
  enum class Mode
  {
    kFullCoordinates,
    kEveryStep,
    kSelected,
  };
  /// Largest |K| of a selected partition. Its square enters BᵀQB and costs four of sixteen digits.
  static constexpr double kSelectedLimit = 100.0;

  /// @param independent_speeds for kSelected: the independent speeds, one per degree of freedom.
  /// Prefer speeds such as ω_z to rates of single Euler parameters, which are singular at every
  /// half turn. Empty: chosen by pivoting in the first solve.
  /// @throw std::invalid_argument for negative or repeated speeds, or speeds in another mode.
  explicit CoordinatePartition(
    Mode mode = Mode::kEveryStep, std::vector<int> independent_speeds = {});

  /// "coordinate_partition_full", "coordinate_partition" or "coordinate_partition_selected".
  const char * name() const noexcept CD_NONBLOCKING override;
  /// @throw std::invalid_argument where a selected speed is not below `speed_count`.
  std::unique_ptr<FormulationData> make_data(int speed_count, int max_row_count) const override;
  using RowFormulation::make_data;

  /// False only for kFullCoordinates, which does not partition.
  bool has_independent_speeds() const noexcept override { return mode_ != Mode::kFullCoordinates; }

  Mode mode() const { return mode_; }
  /// The speeds given to the constructor.
  const std::vector<int> & independent_speeds() const { return independent_speeds_; }
  /// The factorisation of the last solve, for reports: order() is the partition. @pre data was made
  /// by this class.
  static const RowFactorisation & factorisation(const FormulationData & data);

  /// Cost of partitioning since make_data.
  struct Work
  {
    long searches = 0;         ///< how often independent speeds were searched for by pivoting
    long pivot_choices = 0;    ///< kSelected: how often pivots were chosen within A_D
    long kept = 0;             ///< kSelected: solves and corrections with kept pivots
    long multiplications = 0;  ///< kSelected: of one elimination with the present pivots
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
