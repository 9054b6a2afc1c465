// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <cmath>
#include <complex>

#include <Eigen/Core>

#include "simulation/rosenbrock_step.hpp"

namespace constrained_dynamics
{

/// Radau IIA with five stages (Hairer and Wanner, Solving ODEs II, IV.5 and IV.8): a collocation
/// method of order 9, L-stable and stiffly accurate, whose stages have order 5, so that strong
/// dampers cost it few digits. Stages are found by a simplified Newton iteration, split by the
/// eigenvalues of the method into one real and two complex systems of the size of the state.
class RadauStep
{
public:
  explicit RadauStep(Eigen::Index size);

  /// One step from `begin`. @param derive (x, slope, time). @param first_slope at the begin.
  /// @param scale by element, the error that is tolerated. @return whether the iteration
  /// converged; otherwise a smaller step has to be tried.
  template <typename Derive>
  bool make(
    const Derive & derive, const Eigen::MatrixXd & jacobian, const StateVector & begin,
    const StateVector & first_slope, double time, double h, const Eigen::VectorXd & scale,
    StateVector & end)
  {
    const auto n = static_cast<Eigen::Index>(begin.size());
    const Eigen::Map<const Eigen::VectorXd> x(begin.data(), n);
    factorise(jacobian, h);
    predict(time, h);
    has_past_ = false;
    stage_vector_.resize(begin.size());
    slope_vector_.resize(begin.size());
    double last = 0.0;
    bool converged = false;
    for (int k = 0; k < kIterations && !converged; ++k)
    {
      for (int i = 0; i < kStages; ++i)
      {
        Eigen::Map<Eigen::VectorXd>(stage_vector_.data(), n) = x + stages_.col(i);
        derive(stage_vector_, slope_vector_, time + place_[static_cast<std::size_t>(i)] * h);
        slopes_.col(i) = Eigen::Map<const Eigen::VectorXd>(slope_vector_.data(), n);
      }
      const double size = iterate(h, scale);
      const double rate = k > 0 ? size / last : 1.0;
      converged = size <= kConverged || (rate < 1.0 && rate / (1.0 - rate) * size <= kConverged) ||
                  (rate >= 1.0 && k > 0 && size <= kRounded);
      if (!std::isfinite(size) || (k > 0 && rate >= kDiverging && !converged))
      {
        return false;
      }
      last = size;
    }
    find_error(Eigen::Map<const Eigen::VectorXd>(first_slope.data(), n), h);
    end.resize(begin.size());
    Eigen::Map<Eigen::VectorXd>(end.data(), n) = x + stages_.col(kStages - 1);
    past_time_ = time;
    length_ = h;
    has_past_ = converged;
    return converged;
  }

  /// The next step does not continue the motion of the last one.
  void forget() noexcept { has_past_ = false; }
  const Eigen::VectorXd & error() const { return error_; }
  /// The state within the last step. @param s 0 to 1.
  void at(double s, const StateVector & begin, StateVector & x) const;

private:
  static constexpr int kStages = 5;
  static constexpr int kIterations = 10;
  // [1] In units of the tolerated error: what a correction may leave; what round-off may leave.
  static constexpr double kConverged = 0.01;
  static constexpr double kRounded = 0.1;
  static constexpr double kDiverging = 2.0;
  using Complex = std::complex<double>;

  /// Values at s of the polynomials that are 1 at one of the places and 0 at the others; with
  /// `from_zero` they are 0 at s = 0 as well.
  Eigen::Matrix<double, kStages, 1> basis(double s, bool from_zero) const;
  void factorise(const Eigen::MatrixXd & jacobian, double h);
  /// Stages by the polynomial of the last step, which this one continues or repeats; zero without
  /// one.
  void predict(double time, double h);
  /// Corrects the stages. @return the size of the correction.
  double iterate(double h, const Eigen::VectorXd & scale);
  void find_error(const Eigen::VectorXd & first_slope, double h);

  std::array<double, kStages> place_;
  Eigen::Matrix<double, kStages, kStages> inverse_;  // of the coefficients
  // Eigenvalues of the inverse: one real, two of the complex ones; their vectors and rows of the
  // inverse of all vectors.
  double real_ = 0.0;
  Eigen::Matrix<double, kStages, 1> real_vector_;
  Eigen::Matrix<double, kStages, 1> real_row_;
  std::array<Complex, 2> complex_;
  Eigen::Matrix<Complex, kStages, 2> complex_vectors_;
  Eigen::Matrix<Complex, kStages, 2> complex_rows_;

  Eigen::PartialPivLU<Eigen::MatrixXd> real_factor_;
  std::array<Eigen::PartialPivLU<Eigen::MatrixXcd>, 2> complex_factors_;
  Eigen::MatrixXd stages_;  // n × 5, from the begin of the step
  Eigen::MatrixXd slopes_;  // n × 5
  Eigen::VectorXd error_;
  StateVector stage_vector_;
  StateVector slope_vector_;
  double past_time_ = 0.0;  // begin of the last step
  double length_ = 0.0;     // of the last step
  bool has_past_ = false;
};

}  // namespace constrained_dynamics
