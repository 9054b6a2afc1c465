// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Published friction contact problems of Siconos, from the folder that the environment variable
// CD_CONTACT_PROBLEMS names (`*.dat`, friction in two and three dimensions, and `lcp_*.dat`),
// through ConeProblem. See doc/contact_problems.md.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Eigenvalues>

#include "contact/cone_problem.hpp"

namespace constrained_dynamics::test
{
namespace
{

/// u = W r + q, r in the cones of μ.
struct Problem
{
  std::string name;
  int dimension = 3;  // of a contact; 1: a linear complementarity problem
  int contacts = 0;
  Eigen::MatrixXd w;
  Eigen::VectorXd q;
  Eigen::VectorXd mu;
};

template <typename Number>
Number read(std::istream & from)
{
  Number value;
  if (!(from >> value))
  {
    throw std::runtime_error("ends too early, or holds no number where one belongs");
  }
  return value;
}

/// NumericsMatrix of Siconos: dense, or sparse blocks. Symmetric parts are the same by columns.
Eigen::MatrixXd read_matrix(std::istream & from)
{
  const int storage = read<int>(from);
  const int rows = read<int>(from);
  const int columns = read<int>(from);
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(rows, columns);
  if (storage == 0)
  {
    const int dense_rows = read<int>(from);
    const int dense_columns = read<int>(from);
    for (int i = 0; i < dense_rows * dense_columns; ++i)
    {
      matrix(i % dense_rows, i / dense_rows) = read<double>(from);
    }
    return matrix;
  }
  if (storage != 1)
  {
    throw std::runtime_error("storage " + std::to_string(storage) + "; allowed: 0 and 1");
  }
  const auto read_list = [&](std::size_t count)
  {
    std::vector<int> list(count);
    std::generate(list.begin(), list.end(), [&] { return read<int>(from); });
    return list;
  };
  const auto blocks = read<std::size_t>(from);
  const auto block_rows = read<std::size_t>(from);
  const auto block_columns = read<std::size_t>(from);
  std::vector<int> row_ends = read_list(block_rows);
  std::vector<int> column_ends = read_list(block_columns);
  const auto starts = read<std::size_t>(from);
  const auto filled = read<std::size_t>(from);
  const std::vector<int> start = read_list(starts);
  const std::vector<int> column_of = read_list(filled);
  if (filled != blocks)
  {
    throw std::runtime_error("as many blocks as columns of blocks are allowed");
  }
  row_ends.insert(row_ends.begin(), 0);
  column_ends.insert(column_ends.begin(), 0);
  for (std::size_t row = 0; row + 1 < starts; ++row)
  {
    for (int k = start[row]; k < start[row + 1]; ++k)
    {
      const int number = read<int>(from);
      const auto column = static_cast<std::size_t>(column_of.at(static_cast<std::size_t>(number)));
      const int height = row_ends.at(row + 1) - row_ends[row];
      const int width = column_ends.at(column + 1) - column_ends[column];
      for (int i = 0; i < height * width; ++i)
      {
        matrix(row_ends[row] + i % height, column_ends[column] + i / height) = read<double>(from);
      }
    }
  }
  return matrix;
}

Problem read_problem(const std::filesystem::path & path)
{
  std::ifstream file(path);
  Problem problem;
  problem.name = path.filename().string();
  if (problem.name.rfind("lcp_", 0) == 0)
  {
    problem.dimension = 1;
    problem.contacts = read<int>(file);
  }
  else
  {
    problem.dimension = read<int>(file);
    problem.contacts = read<int>(file);
  }
  const Eigen::MatrixXd matrix = read_matrix(file);
  problem.w = 0.5 * (matrix + matrix.transpose());
  problem.q.setZero(matrix.rows());
  for (double & value : problem.q)
  {
    value = read<double>(file);
  }
  problem.mu.setZero(problem.contacts);
  for (int i = 0; problem.dimension > 1 && i < problem.contacts; ++i)
  {
    problem.mu(i) = read<double>(file);
  }
  return problem;
}

/// ‖r − P_K(r − (u + μ‖u_T‖ n))‖ / ‖q‖, the residual that Siconos judges by.
double residual(const Problem & problem, const Eigen::VectorXd & r)
{
  const Eigen::VectorXd u = problem.w * r + problem.q;
  const int d = problem.dimension;
  double sum = 0.0;
  for (int i = 0; i < problem.contacts; ++i)
  {
    const double mu = problem.mu(i);
    Eigen::VectorXd z = r.segment(d * i, d) - u.segment(d * i, d);
    z(0) -= mu * u.segment(d * i + 1, d - 1).norm();
    const double tangent = z.tail(d - 1).norm();
    Eigen::VectorXd projected = z;
    if (mu * tangent <= -z(0))
    {
      projected.setZero();
    }
    else if (tangent > mu * z(0))
    {
      projected(0) = (z(0) + mu * tangent) / (1.0 + mu * mu);
      projected.tail(d - 1) *= mu * projected(0) / tangent;
    }
    sum += (r.segment(d * i, d) - projected).squaredNorm();
  }
  const double size = problem.q.norm();
  return std::sqrt(sum) / (size > 0.0 ? size : 1.0);
}

struct Result
{
  Status status = Status::kOk;
  int sweeps = 0;
  int newton_steps = 0;
  double seconds = 0.0;
  double residual = 0.0;
  double error = 0.0;           // ConeProblem's own
  bool is_semidefinite = true;  // but for rounding
};

/// The cone problem of W = YᵀY and q, with the mass matrix 1: what rows and inertia make.
Status solve(
  const Problem & problem, const Eigen::MatrixXd & y, const Eigen::VectorXd & q, Result & result,
  Eigen::VectorXd & r)
{
  const auto n = static_cast<int>(q.size());
  ConeProblem cone(n, n);
  const Eigen::VectorXd none = Eigen::VectorXd::Zero(n);
  const Status begun = cone.begin(Eigen::MatrixXd::Identity(n, n), none, none);
  if (begun != Status::kOk)
  {
    return begun;
  }
  std::vector<ConeContact> contacts(static_cast<std::size_t>(problem.contacts));
  const int d = problem.dimension;
  for (int i = 0; i < problem.contacts; ++i)
  {
    ConeContact & contact = contacts[static_cast<std::size_t>(i)];
    contact.normal = cone.add_row(y.col(d * i), -q(d * i));
    contact.friction = problem.mu(i);
    contact.tangent_count = d - 1;
    for (int k = 1; k < d; ++k)
    {
      contact.tangent[k - 1] = cone.add_row(y.col(d * i + k), -q(d * i + k));
    }
  }
  const Status status = cone.solve(contacts.data(), problem.contacts);
  result.sweeps += cone.sweep_count();
  result.newton_steps += cone.newton_count();
  result.error = cone.error();
  for (int i = 0; i < n; ++i)
  {
    r(i) = cone.force(i);
  }
  return status;
}

/// Where W is not semidefinite, what its negative part W₋ contributes is a correction of q, found
/// from the solution before: r ← solution of W₊ r + (q + W₋ r).
Result solve(const Problem & problem)
{
  constexpr int kCorrections = 4;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(problem.w);
  const Eigen::VectorXd & values = eigen.eigenvalues();
  const Eigen::MatrixXd & vectors = eigen.eigenvectors();
  const Eigen::MatrixXd y = values.cwiseMax(0.0).cwiseSqrt().asDiagonal() * vectors.transpose();
  const Eigen::MatrixXd negative =
    vectors * values.cwiseMin(0.0).asDiagonal() * vectors.transpose();
  Result result;
  result.is_semidefinite = values.minCoeff() >= -1e-12 * values.maxCoeff();
  Eigen::VectorXd r = Eigen::VectorXd::Zero(problem.q.size());
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k <= (result.is_semidefinite ? 0 : kCorrections); ++k)
  {
    const Eigen::VectorXd q = problem.q + negative * r;
    result.status = solve(problem, y, q, result, r);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.residual = residual(problem, r);
  return result;
}

std::vector<Problem> problems_of(const std::string & folder)
{
  // Linear complementarity problems with a symmetric positive semidefinite matrix.
  const std::set<std::string> convex = {
    "lcp_CPS_1.dat", "lcp_CPS_5.dat", "lcp_deudeu.dat", "lcp_mmc.dat", "lcp_trivial.dat"};
  std::vector<std::filesystem::path> paths;
  for (const auto & entry : std::filesystem::directory_iterator(folder))
  {
    const std::string name = entry.path().filename().string();
    const bool is_convex = name.rfind("lcp_", 0) != 0 || convex.count(name) > 0;
    if (entry.path().extension() == ".dat" && is_convex)
    {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Problem> problems;
  for (const std::filesystem::path & path : paths)
  {
    try
    {
      problems.push_back(read_problem(path));
    }
    catch (const std::exception & error)
    {
      ADD_FAILURE() << path << ": " << error.what();
    }
  }
  return problems;
}

/// Contacts whose rows depend on each other, with sizes over many decades: sweeps are slow there.
Problem random_problem(std::mt19937_64 & random)
{
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  Problem problem;
  problem.contacts = std::uniform_int_distribution<int>(1, 10)(random);
  const int m = 3 * problem.contacts;
  const int rank = std::uniform_int_distribution<int>(1, m)(random);
  const auto draw = [&](Eigen::Index rows, Eigen::Index columns)
  {
    Eigen::MatrixXd matrix(rows, columns);
    for (double & value : matrix.reshaped())
    {
      value = normal(random);
    }
    return matrix;
  };
  Eigen::MatrixXd y = draw(rank, m);
  for (int i = 0; i < rank; ++i)
  {
    y.row(i) *= std::pow(10.0, -4.0 * uniform(random));
  }
  problem.w = y.transpose() * y;
  problem.q = y.transpose() * draw(rank, 1);
  problem.mu.setConstant(problem.contacts, uniform(random));
  return problem;
}

TEST(ContactProblems, when_problems_are_random_expect_ok_only_with_a_small_residual)
{
  constexpr unsigned kSeed = 20261117;
  std::mt19937_64 random(kSeed);
  constexpr int kCount = 300;
  int solved = 0;
  double worst = 0.0;
  for (int k = 0; k < kCount; ++k)
  {
    const Problem problem = random_problem(random);
    const Result result = solve(problem);
    if (result.status == Status::kOk)
    {
      ++solved;
      // In the forces of the problem, as ConeProblem measures: W r ~ q.
      worst = std::max(worst, result.error);
      EXPECT_LE(result.error, 1e-9) << "seed " << kSeed << ", problem " << k;
    }
  }
  std::printf(
    "seed %u: %d of %d random problems ok, largest error %.1e\n", kSeed, solved, kCount, worst);
  EXPECT_GE(solved, kCount / 2);
}

TEST(ContactProblems, when_others_made_them_expect_solutions_or_a_status)
{
  const char * folder = std::getenv("CD_CONTACT_PROBLEMS");
  if (folder == nullptr || *folder == '\0')
  {
    GTEST_SKIP() << "skipped: CD_CONTACT_PROBLEMS names no folder of contact problems";
  }
  const char * most = std::getenv("CD_CONTACT_PROBLEMS_MOST");
  const int largest = most != nullptr ? std::atoi(most) : 50;
  constexpr double kSolved = 1e-10;
  std::printf(
    "| problem | contacts | rank | solved | sweeps | Newton | time [ms] | residual | status |\n"
    "|---|---|---|---|---|---|---|---|---|\n");
  int solved = 0;
  int count = 0;
  for (const Problem & problem : problems_of(folder))
  {
    if (problem.contacts > largest)
    {
      std::printf(
        "| %s | %d | | left out: more than %d contacts | | | | | |\n", problem.name.c_str(),
        problem.contacts, largest);
      continue;
    }
    const Result result = solve(problem);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(problem.w);
    const double threshold = 1e-12 * eigen.eigenvalues().cwiseAbs().maxCoeff();
    const bool is_solved = result.residual <= kSolved;
    std::printf(
      "| %s | %d | %d of %d%s | %s | %d | %d | %.2f | %.1e | %s |\n", problem.name.c_str(),
      problem.contacts, static_cast<int>((eigen.eigenvalues().array() > threshold).count()),
      static_cast<int>(problem.q.size()), result.is_semidefinite ? "" : ", indefinite",
      is_solved ? "yes" : "no", result.sweeps, result.newton_steps, 1e3 * result.seconds,
      result.residual, to_string(result.status));
    solved += is_solved ? 1 : 0;
    ++count;
    EXPECT_TRUE(is_solved || result.status != Status::kOk) << problem.name << ": wrong and ok";
    EXPECT_TRUE(is_solved || problem.contacts > 50) << problem.name;
  }
  std::printf("%d of %d solved to %.0e\n", solved, count, kSolved);
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace constrained_dynamics::test
