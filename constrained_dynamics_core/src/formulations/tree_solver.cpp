// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "formulations/tree_solver.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <Eigen/Geometry>

#include "clones.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"

namespace constrained_dynamics
{

namespace
{

// Pivots of a row, relative to what they were before elimination (or at a regular state, if that
// was more): the square of the sine of the angle to the rows before it, in the metric of Q⁻¹. Above
// the first the rows are regular with a wide margin, below the second they are redundant up to
// rounding and drift; between them the factorisation of A itself must tell.
constexpr double kRegular = 1e-6;
constexpr double kRedundant = 1e-10;
// Where a row is always far below the size that it could have, its own size says whether it is
// regular down to the square root of this fraction.
constexpr double kSmallestRow = 1e-4;
// Smallest inertia of a joint, relative to its body's: below, it is rounding.
constexpr double kSmallestInertia = 1e-13;
// Rows that are missed by more than this, some tens of roundings, are left to another form: the
// recursion loses digits where rows lock what they pass, and the order of redundant rows matters.
constexpr double kLargestMiss = 1e-14;
// Up to so many speeds the factorisation of A costs little, and where rows are redundant it keeps
// all digits. Then the recursion leaves redundant rows to it.
constexpr Eigen::Index kFewSpeeds = 20;

std::size_t idx(int i) { return static_cast<std::size_t>(i); }

bool contains(const std::vector<int> & sorted, int value)
{
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

/// The lowest body that is above or equal to both; −1: the world.
int common_ancestor(const KinematicTree & tree, int a, int b)
{
  while (a != b)
  {
    // Parents have smaller indices.
    (a > b ? a : b) = tree.bodies[idx(std::max(a, b))].parent;
  }
  return a;
}

/// The order in which the constraints of a group are eliminated with little fill: always the one
/// with the fewest neighbours that are left.
std::vector<int> few_neighbours_first(std::vector<std::set<int>> neighbours)
{
  const std::size_t count = neighbours.size();
  std::vector<bool> done(count, false);
  std::vector<int> order;
  while (order.size() < count)
  {
    std::size_t best = count;
    for (std::size_t i = 0; i < count; ++i)
    {
      if (!done[i] && (best == count || neighbours[i].size() < neighbours[best].size()))
      {
        best = i;
      }
    }
    done[best] = true;
    order.push_back(static_cast<int>(best));
    for (const int a : neighbours[best])
    {
      neighbours[idx(a)].erase(static_cast<int>(best));
      for (const int b : neighbours[best])
      {
        if (a != b)
        {
          neighbours[idx(a)].insert(b);
        }
      }
    }
  }
  return order;
}

/// Cholesky of the leading block of a small matrix, in its lower triangle, the diagonal inverted.
/// False where it is not positive definite to rounding.
template <typename Matrix>
bool factor_small(Matrix & D, Eigen::Index size) noexcept
{
  for (Eigen::Index j = 0; j < size; ++j)
  {
    const double before = D(j, j);
    double pivot = before;
    for (Eigen::Index k = 0; k < j; ++k)
    {
      pivot -= D(j, k) * D(j, k);
    }
    if (!(pivot > kSmallestInertia * before))
    {
      return false;
    }
    const double inverse = 1.0 / std::sqrt(pivot);
    D(j, j) = inverse;
    for (Eigen::Index i = j + 1; i < size; ++i)
    {
      double sum = D(i, j);
      for (Eigen::Index k = 0; k < j; ++k)
      {
        sum -= D(i, k) * D(j, k);
      }
      D(i, j) = sum * inverse;
    }
  }
  return true;
}

/// x ← G⁻¹ x with the root G of factor_small.
template <typename Matrix, typename Vector>
void divide_small(const Matrix & G, Eigen::Index size, Vector & x) noexcept
{
  for (Eigen::Index i = 0; i < size; ++i)
  {
    for (Eigen::Index k = 0; k < i; ++k)
    {
      x(i) -= G(i, k) * x(k);
    }
    x(i) *= G(i, i);
  }
}

/// x ← (G Gᵀ)⁻¹ x.
template <typename Matrix, typename Vector>
void solve_small(const Matrix & G, Eigen::Index size, Vector & x) noexcept
{
  divide_small(G, size, x);
  for (Eigen::Index i = size - 1; i >= 0; --i)
  {
    for (Eigen::Index k = i + 1; k < size; ++k)
    {
      x(i) -= G(k, i) * x(k);
    }
    x(i) *= G(i, i);
  }
}

/// Finite, and so far from overflow that products of some of them are.
bool is_moderate(const Eigen::VectorXd & x) noexcept
{
  constexpr double kLargest = 1e100;
  double sum = 0.0;
  for (Eigen::Index i = 0; i < x.size(); ++i)
  {
    sum += std::abs(x(i));
  }
  return sum <= kLargest;
}

/// A matrix that is known to be symmetric.
Symmetric3 symmetric(const Eigen::Matrix3d & A) noexcept
{
  return {A(0, 0), A(1, 1), A(2, 2), A(1, 0), A(2, 0), A(2, 1)};
}

/// R A Rᵀ.
Symmetric3 turned(const Eigen::Matrix3d & R, const Eigen::Matrix3d & A) noexcept
{
  const Eigen::Matrix3d B = R.lazyProduct(A);
  const auto element = [&](int i, int j)
  { return B(i, 0) * R(j, 0) + B(i, 1) * R(j, 1) + B(i, 2) * R(j, 2); };
  return {element(0, 0), element(1, 1), element(2, 2), element(1, 0), element(2, 0), element(2, 1)};
}

/// Adds inertia and force of a child, given about the child's origin, to its parent; `r` leads from
/// the parent's origin to the child's.
inline void hand_over(
  const Symmetric3 & M, const Eigen::Matrix3d & H, const Symmetric3 & J, const Eigen::Vector3d & f,
  const Eigen::Vector3d & n, const Eigen::Vector3d & r, TreeSolverData::Body & parent) noexcept
{
  // G = H − M [r]×,  J ← J − Hᵀ [r]× + [r]× G.
  const double x = r(0);
  const double y = r(1);
  const double z = r(2);
  Eigen::Matrix3d G;
  G(0, 0) = H(0, 0) - (M.yx * z - M.zx * y);
  G(0, 1) = H(0, 1) - (M.zx * x - M.xx * z);
  G(0, 2) = H(0, 2) - (M.xx * y - M.yx * x);
  G(1, 0) = H(1, 0) - (M.yy * z - M.zy * y);
  G(1, 1) = H(1, 1) - (M.zy * x - M.yx * z);
  G(1, 2) = H(1, 2) - (M.yx * y - M.yy * x);
  G(2, 0) = H(2, 0) - (M.zy * z - M.zz * y);
  G(2, 1) = H(2, 1) - (M.zz * x - M.zx * z);
  G(2, 2) = H(2, 2) - (M.zx * y - M.zy * x);
  parent.J.add(J);
  parent.J.xx += y * (H(2, 0) + G(2, 0)) - z * (H(1, 0) + G(1, 0));
  parent.J.yy += z * (H(0, 1) + G(0, 1)) - x * (H(2, 1) + G(2, 1));
  parent.J.zz += x * (H(1, 2) + G(1, 2)) - y * (H(0, 2) + G(0, 2));
  parent.J.yx += y * H(2, 1) - z * H(1, 1) + z * G(0, 0) - x * G(2, 0);
  parent.J.zx += y * H(2, 2) - z * H(1, 2) + x * G(1, 0) - y * G(0, 0);
  parent.J.zy += z * H(0, 2) - x * H(2, 2) + x * G(1, 1) - y * G(0, 1);
  parent.M.add(M);
  parent.H += G;
  parent.f += f;
  parent.n += n + r.cross(f);
}

}  // namespace

// ---- the pattern, found once -------------------------------------------------------------------

std::shared_ptr<const TreeSolver> TreeSolver::make(const ConstraintSet & constraints)
{
  const auto * system = dynamic_cast<const RigidBodySystem *>(&constraints.system());
  return system ? std::shared_ptr<const TreeSolver>(new TreeSolver(constraints, system->tree()))
                : nullptr;
}

TreeSolver::TreeSolver(const ConstraintSet & constraints, const KinematicTree & tree)
: set_(constraints), tree_(tree)
{
  for (const TreeBody & body : tree_.bodies)
  {
    joint_of_body_.push_back(body.nu == 1 ? -1 : joint_count_++);
  }
  // The joints that each constraint passes, and the body above all of them.
  std::vector<int> top;
  std::vector<std::vector<int>> paths;
  for (int c = 0; c < set_.size(); ++c)
  {
    std::vector<int> ends;  // bodies whose joints are touched first
    int above = 0;
    if (const auto * frames = dynamic_cast<const FrameConstraint *>(&set_[c]))
    {
      const int a = tree_.frames[idx(frames->frame_a())].body;
      const int b = tree_.frames[idx(frames->frame_b())].body;
      std::vector<int> twins;
      for (std::size_t i = 0; i < frame_terms_.size(); ++i)
      {
        const FrameTerms & other = frame_terms_[i];
        if (
          other.body_a == a && other.body_b == b &&
          set_[other.constraint].row_count() == set_[c].row_count())
        {
          twins.push_back(static_cast<int>(i));
        }
      }
      frame_terms_.push_back({c, frames, a, b, {}, {}, twins});
      above = common_ancestor(tree_, a, b);
      ends = {a, b};
    }
    else
    {
      dense_constraints_.push_back(c);
      const std::vector<int> & support = set_[c].speed_support();
      bool first = true;
      for (int i = 0; i < static_cast<int>(tree_.bodies.size()); ++i)
      {
        const TreeBody & body = tree_.bodies[idx(i)];
        const bool touched =
          support.empty() || std::any_of(
                               support.begin(), support.end(),
                               [&](int u) { return body.u <= u && u < body.u + body.nu; });
        if (touched)
        {
          ends.push_back(i);
          above = first ? body.parent : common_ancestor(tree_, above, body.parent);
          first = false;
        }
      }
    }
    std::set<int> path;
    for (int end : ends)
    {
      for (int i = end; i != above && i >= 0; i = tree_.bodies[idx(i)].parent)
      {
        path.insert(i);
      }
    }
    top.push_back(above);
    paths.emplace_back(path.begin(), path.end());
  }
  for (int i = 0; i < static_cast<int>(tree_.bodies.size()); ++i)
  {
    const TreeBody & body = tree_.bodies[idx(i)];
    const bool is_top = std::find(top.begin(), top.end(), i) != top.end();
    is_hinge_.push_back(body.parent < 0 && body.nu == 1 && !is_top);
  }
  order_rows(top, paths);
  find_places(top, paths);
}

void TreeSolver::order_rows(
  const std::vector<int> & top, const std::vector<std::vector<int>> & paths)
{
  const int body_count = static_cast<int>(tree_.bodies.size());
  elimination_begin_.assign(idx(body_count + 1), 0);
  elimination_end_.assign(idx(body_count + 1), 0);
  for (int body = body_count - 1; body >= -1; --body)
  {
    elimination_begin_[idx(body + 1)] = static_cast<int>(row_at_.size());
    std::vector<int> group;
    for (int c = 0; c < set_.size(); ++c)
    {
      if (top[idx(c)] == body)
      {
        group.push_back(c);
      }
    }
    std::vector<std::set<int>> neighbours(group.size());
    for (std::size_t i = 0; i < group.size(); ++i)
    {
      for (std::size_t j = 0; j < i; ++j)
      {
        const std::vector<int> & other = paths[idx(group[j])];
        const std::vector<int> & own = paths[idx(group[i])];
        if (std::any_of(own.begin(), own.end(), [&](int b) { return contains(other, b); }))
        {
          neighbours[i].insert(static_cast<int>(j));
          neighbours[j].insert(static_cast<int>(i));
        }
      }
    }
    for (const int i : few_neighbours_first(std::move(neighbours)))
    {
      const int c = group[idx(i)];
      for (int row = 0; row < set_[c].row_count(); ++row)
      {
        row_at_.push_back(set_.row_offset(c) + row);
        constraint_at_.push_back(c);
      }
    }
    elimination_end_[idx(body + 1)] = static_cast<int>(row_at_.size());
  }
}

void TreeSolver::find_places(
  const std::vector<int> & top, const std::vector<std::vector<int>> & paths)
{
  const int body_count = static_cast<int>(tree_.bodies.size());
  const int row_count = static_cast<int>(row_at_.size());
  const auto is_dense = [&](int c) { return contains(dense_constraints_, c); };
  std::map<std::pair<int, int>, int> place_of;  // (body, position)
  std::vector<std::vector<int>> passing(idx(body_count));
  for (const bool hinges : {true, false})
  {
    for (int body = 0; body < body_count; ++body)
    {
      for (int k = 0; hinges == bool(is_hinge_[idx(body)]) && k < row_count; ++k)
      {
        if (contains(paths[idx(constraint_at_[idx(k)])], body))
        {
          place_of[{body, k}] = passing_count_++;
          passing[idx(body)].push_back(k);
        }
      }
    }
    hinge_place_count_ = hinges ? passing_count_ : hinge_place_count_;
  }
  place_count_ = passing_count_;
  for (int k = 0; k < row_count; ++k)
  {
    const int above = top[idx(constraint_at_[idx(k)])];
    elimination_place_.push_back(above < 0 ? -1 : place_count_++);
    if (above >= 0)
    {
      place_of[{above, k}] = elimination_place_.back();
    }
  }
  const auto find = [&](int body, int k) { return body < 0 ? -1 : place_of.at({body, k}); };
  for (int body = 0; body < body_count; ++body)
  {
    run_begin_.push_back(static_cast<int>(runs_.size()));
    for (const int k : passing[idx(body)])
    {
      const bool dense = is_dense(constraint_at_[idx(k)]);
      const Run next{
        constraint_at_[idx(k)],      find(body, k), 1, k, find(tree_.bodies[idx(body)].parent, k),
        dense ? row_at_[idx(k)] : -1};
      const bool joins = static_cast<int>(runs_.size()) > run_begin_.back() &&
                         runs_.back().constraint == next.constraint;
      if (joins)
      {
        ++runs_.back().count;
      }
      else
      {
        runs_.push_back(next);
      }
    }
  }
  run_begin_.push_back(static_cast<int>(runs_.size()));
  position_of_.resize(row_at_.size());
  for (int k = 0; k < row_count; ++k)
  {
    position_of_[idx(row_at_[idx(k)])] = k;
  }
  for (FrameTerms & terms : frame_terms_)
  {
    for (int i = 0; i < set_[terms.constraint].row_count(); ++i)
    {
      const int k = position_of_[idx(set_.row_offset(terms.constraint) + i)];
      terms.places_a.push_back(find(terms.body_a, k));
      terms.places_b.push_back(find(terms.body_b, k));
    }
  }

  // Rows that share a joint; their places on the body of elimination are filled in below.
  std::vector<std::set<int>> pattern(row_at_.size());
  for (const std::vector<int> & rows : passing)
  {
    for (auto k = rows.begin(); k != rows.end(); ++k)
    {
      pattern[idx(*k)].insert(std::next(k), rows.end());
    }
  }
  below_.resize(row_at_.size());
  for (int k = 0; k < row_count; ++k)
  {
    const std::set<int> later = pattern[idx(k)];
    const int above = top[idx(constraint_at_[idx(k)])];
    for (auto i = later.begin(); i != later.end(); ++i)
    {
      below_[idx(k)].push_back({*i, find(above, *i)});
      pattern[idx(*i)].insert(std::next(i), later.end());  // fill
    }
  }
}

std::unique_ptr<TreeSolverData> TreeSolver::make_data() const
{
  auto data = std::make_unique<TreeSolverData>();
  const Eigen::Index m = static_cast<Eigen::Index>(row_at_.size());
  const Eigen::Index n = tree_.damping.size();
  const Eigen::Index spare = m;  // as many rows as there are may be redundant
  data->bodies.resize(tree_.bodies.size());
  data->joints.resize(idx(joint_count_));
  data->forces.resize(frame_terms_.size());
  data->part.assign(idx(set_.size()), 0);
  data->compliance.setOnes(m);
  data->strength.setOnes(m);
  data->carry.setZero(place_count_, 6);
  data->effect.setZero(passing_count_, 6);
  data->share.setZero(passing_count_, 6);
  data->factor.setZero(m, m);
  data->diagonal.setZero(m);
  data->nominal.setZero(m);
  data->inverse_pivot.setZero(m);
  data->left.setZero(m);
  data->multipliers.setZero(m);
  data->joint_force.setZero(n);
  data->acceleration.setZero(n);
  data->column.setZero(m);
  data->dropped.assign(idx(static_cast<int>(m)), 0);
  data->null_space.setZero(m, spare);
  data->gram.setZero(spare, spare);
  data->gram_scaled.setZero(spare, spare);
  data->gram_right.setZero(spare);
  return data;
}

// ---- one cycle ---------------------------------------------------------------------------------

CD_CLONES Status TreeSolver::evaluate(
  const SystemData & system_data, ConstraintScratch & scratch, Rows & rows,
  TreeSolverData & data) const noexcept CD_NONBLOCKING
{
  const TreeData & tree_data = static_cast<const TreeData &>(system_data);
  for (std::size_t i = 0; i < frame_terms_.size(); ++i)
  {
    const FrameConstraint & frames = *frame_terms_[i].frames;
    tree_.frame_kinematics(tree_data, frames.frame_a(), data.work.a, !frames.is_point_only());
    tree_.frame_kinematics(tree_data, frames.frame_b(), data.work.b);
    const Eigen::Index first = set_.row_offset(frame_terms_[i].constraint);
    const Status status = frames.evaluate_forces(
      system_data.terms.time, scratch, data.work, rows.position.data() + first,
      rows.velocity.data() + first, rows.bias.data() + first, data.forces[i]);
    if (status != Status::kOk)
    {
      return status;
    }
  }
  for (const int c : dense_constraints_)
  {
    const Eigen::Index first = set_.row_offset(c);
    const Eigen::Index count = set_[c].row_count();
    RowBlock block{
      rows.position.segment(first, count), rows.velocity.segment(first, count),
      rows.jacobian.middleRows(first, count), rows.bias.segment(first, count)};
    const Status status = set_[c].evaluate(system_data, scratch, block);
    if (status != Status::kOk)
    {
      return status;
    }
  }
  return Status::kOk;
}

TreeSolver::Screw TreeSolver::screw(
  std::size_t body, const TreeData & tree_data, const Eigen::Vector3d & r) const noexcept
{
  const Eigen::Vector3d z = tree_data.motions[body].rotation.col(2);
  if (tree_.bodies[body].kind == JointKind::kRevolute)
  {
    return {z.cross(r), z};
  }
  return {z, Eigen::Vector3d::Zero()};
}

void TreeSolver::begin(const TreeProblem & problem, TreeSolverData & data) const noexcept
{
  const TreeData & tree_data = static_cast<const TreeData &>(problem.system_data);
  tree_.joint_force(tree_data, data.joint_force);
  for (std::size_t i = 0; i < tree_.actuated.size(); ++i)
  {
    data.joint_force(tree_.actuated[i]) += problem.inputs(static_cast<Eigen::Index>(i));
  }
  for (std::size_t i = 0; i < tree_.bodies.size(); ++i)
  {
    const TreeBody & body = tree_.bodies[i];
    const BodyMotion & m = tree_data.motions[i];
    TreeSolverData::Body & b = data.bodies[i];
    const Eigen::Vector3d c = m.rotation.lazyProduct(body.moment);
    if (is_hinge_[i])
    {
      const bool turns = body.kind == JointKind::kRevolute;
      const Eigen::Vector3d z = m.rotation.col(2);
      b.D = (turns ? body.inertia(2, 2) : body.mass) + tree_.armature(body.u);
      b.scale = turns ? body.inertia.trace() : 3.0 * body.mass;
      b.joint_force = data.joint_force(body.u) +
                      (turns ? z.dot(c.cross(tree_.gravity)) : body.mass * z.dot(tree_.gravity));
      continue;
    }
    b.J = turned(m.rotation, body.inertia);
    b.M = {body.mass, body.mass, body.mass, 0.0, 0.0, 0.0};
    b.H << 0.0, c(2), -c(1), -c(2), 0.0, c(0), c(1), -c(0), 0.0;
    const Eigen::Vector3d & w = m.angular_velocity;
    const Eigen::Vector3d a = m.acceleration_bias - tree_.gravity;
    const Eigen::Vector3d & alpha = m.angular_acceleration_bias;
    const Eigen::Vector3d momentum = b.J * w;
    b.f = body.mass * a + alpha.cross(c) + w.cross(w.cross(c));
    b.n = b.J * alpha + w.cross(momentum) + c.cross(a);
  }
  for (const TreeWrench & wrench : tree_data.wrenches)
  {
    const int body = tree_.frames[idx(wrench.frame)].body;
    if (body >= 0)
    {
      Wrench world;
      tree_.world_wrench(tree_data, wrench, world);
      TreeSolverData::Body & b = data.bodies[idx(body)];
      const Eigen::Vector3d r = world.point - tree_data.motions[idx(body)].position;
      if (is_hinge_[idx(body)])
      {
        b.joint_force += screw(idx(body), tree_data, r).power(world.force, world.torque);
        continue;
      }
      b.f -= world.force;
      b.n -= world.torque + r.cross(world.force);
    }
  }
}

void TreeSolver::find_copies(const TreeProblem & problem, TreeSolverData & data) const noexcept
{
  for (int c = 0; c < set_.size(); ++c)
  {
    data.part[idx(c)] = problem.active[idx(c)] ? c : -1;
  }
  data.has_copies = false;
  for (std::size_t i = 0; i < frame_terms_.size(); ++i)
  {
    const FrameTerms & terms = frame_terms_[i];
    int & part = data.part[idx(terms.constraint)];
    for (std::size_t t = 0; t < terms.twins.size() && part == terms.constraint; ++t)
    {
      const FrameTerms & other = frame_terms_[idx(terms.twins[t])];
      const FrameRowForces & a = data.forces[i];
      const FrameRowForces & b = data.forces[idx(terms.twins[t])];
      bool same = data.part[idx(other.constraint)] == other.constraint && a.point == b.point;
      for (std::size_t k = 0; same && k < terms.places_a.size(); ++k)
      {
        same = a.force[k] == b.force[k] && a.torque[k] == b.torque[k];
      }
      if (same)
      {
        part = other.constraint;
        data.has_copies = true;
      }
    }
  }
  // Copies that share a force by the least weighted norm act as one row with 1/weight² = Σ
  // 1/weight²; likewise for sizes.
  for (std::size_t k = 0; k < row_at_.size(); ++k)
  {
    const Eigen::Index row = row_at_[k];
    const double scale = problem.row_scale(row);
    data.compliance(static_cast<Eigen::Index>(k)) = problem.multiplier_compliance(row);
    data.strength(static_cast<Eigen::Index>(k)) = scale * scale;
  }
  for (int c = 0; data.has_copies && c < set_.size(); ++c)
  {
    const int part = data.part[idx(c)];
    for (int i = 0; part >= 0 && part != c && i < set_[c].row_count(); ++i)
    {
      const Eigen::Index own = position_of_[idx(set_.row_offset(c) + i)];
      const Eigen::Index first = position_of_[idx(set_.row_offset(part) + i)];
      data.compliance(first) += data.compliance(own);
      data.strength(first) += data.strength(own);
    }
  }
}

void TreeSolver::share_among_copies(
  const TreeProblem & problem, Solution & solution, TreeSolverData & data) const noexcept
{
  // λ_i ∝ 1/weight_i², and what of row i others can replace follows from what they can replace of
  // all copies together.
  for (int c = set_.size() - 1; c >= 0; --c)  // copies come after the one they copy
  {
    const int part = data.part[idx(c)];
    for (int i = 0; part >= 0 && i < set_[c].row_count(); ++i)
    {
      const Eigen::Index row = set_.row_offset(c) + i;
      const Eigen::Index from = set_.row_offset(part) + i;
      const Eigen::Index first = position_of_[idx(static_cast<int>(from))];
      const double scale = problem.row_scale(row);
      const double together = solution.redundancy(from) * solution.redundancy(from);
      const double lone = scale * scale * (1.0 - together) / data.strength(first);
      solution.multipliers(row) =
        solution.multipliers(from) * problem.multiplier_compliance(row) / data.compliance(first);
      solution.redundancy(row) = std::sqrt(std::max(0.0, 1.0 - lone));
    }
  }
}

void TreeSolver::load_rows(const TreeProblem & problem, TreeSolverData & data) const noexcept
{
  const TreeData & tree_data = static_cast<const TreeData &>(problem.system_data);
  data.carry.bottomRows(place_count_ - hinge_place_count_).setZero();
  data.effect.col(0).head(hinge_place_count_).setZero();
  data.dropped_count = 0;
  data.drops_real_rows = false;
  for (std::size_t k = 0; k < row_at_.size(); ++k)
  {
    const Eigen::Index row = row_at_[k];
    const Eigen::Index at = static_cast<Eigen::Index>(k);
    data.left(at) = problem.bias(row);
    data.diagonal(at) = 0.0;
    data.factor(at, at) = 0.0;
    // Rows that are switched off, and copies, stay out.
    const int c = constraint_at_[k];
    const bool takes_part = data.part[idx(c)] == c && problem.active[idx(c)];
    data.inverse_pivot(at) = takes_part ? 1.0 : 0.0;
    for (const Below & b : below_[k])
    {
      data.factor(b.position, at) = 0.0;
    }
  }
  for (std::size_t i = 0; i < frame_terms_.size(); ++i)
  {
    const FrameTerms & terms = frame_terms_[i];
    if (data.part[idx(terms.constraint)] != terms.constraint)
    {
      continue;
    }
    const FrameRowForces & forces = data.forces[i];
    const auto add = [&](int body, const std::vector<int> & places, double sign)
    {
      if (body < 0)
      {
        return;
      }
      const Eigen::Vector3d r = forces.point - tree_data.motions[idx(body)].position;
      if (is_hinge_[idx(body)])
      {
        const Screw S = screw(idx(body), tree_data, r);
        for (std::size_t k = 0; k < places.size(); ++k)
        {
          data.effect(places[k], 0) += sign * S.power(forces.force[k], forces.torque[k]);
        }
        return;
      }
      for (std::size_t k = 0; k < places.size(); ++k)
      {
        auto K = data.carry.row(places[k]);
        K.head<3>() += sign * forces.force[k];
        K.tail<3>() += sign * (forces.torque[k] + r.cross(forces.force[k]));
      }
    };
    add(terms.body_a, terms.places_a, 1.0);
    add(terms.body_b, terms.places_b, -1.0);
  }
}

void TreeSolver::couple(std::size_t body, int speeds, TreeSolverData & data) const noexcept
{
  // L_kj += s_kᵀ D⁻¹ s_j, lower triangle.
  const Eigen::Index stride = data.factor.rows();
  const Eigen::Index next = data.effect.rows();
  for (int later = run_begin_[body]; later < run_begin_[body + 1]; ++later)
  {
    const Run & a = runs_[idx(later)];
    if (data.part[idx(a.constraint)] != a.constraint)
    {
      continue;
    }
    const double * share = data.share.data() + a.place;
    for (int earlier = run_begin_[body]; earlier <= later; ++earlier)
    {
      const Run & b = runs_[idx(earlier)];
      if (data.part[idx(b.constraint)] != b.constraint)
      {
        continue;
      }
      const double * effect = data.effect.data() + b.place;
      double * out = data.factor.data() + a.position + stride * b.position;
      for (int j = 0; j < b.count; ++j, out += stride)
      {
        const int first = earlier == later ? j : 0;
        for (int k = 0; k < speeds; ++k)
        {
          const double s = effect[j + k * next];
          const double * D_s = share + k * next;
          for (int i = first; i < a.count; ++i)
          {
            out[i] += s * D_s[i];
          }
        }
      }
    }
    for (int i = 0; i < a.count; ++i)
    {
      for (int k = 0; k < speeds; ++k)
      {
        data.diagonal(a.position + i) += data.effect(a.place + i, k) * share[i + k * next];
      }
    }
  }
}

bool TreeSolver::reduce_hinge(
  std::size_t i, const TreeProblem & problem, TreeSolverData & data) const noexcept
{
  const TreeBody & body = tree_.bodies[i];
  TreeSolverData::Body & b = data.bodies[i];
  if (!(b.D > kSmallestInertia * b.scale))
  {
    return false;
  }
  const double inverse = 1.0 / b.D;
  const double free = b.joint_force * inverse;
  b.inverse_D = inverse;
  for (int run = run_begin_[i]; run < run_begin_[i + 1]; ++run)
  {
    const Run & rows = runs_[idx(run)];
    if (data.part[idx(rows.constraint)] != rows.constraint)
    {
      continue;
    }
    double * effect = &data.effect(rows.place, 0);
    double * share = &data.share(rows.place, 0);
    double * left = data.left.data() + rows.position;
    for (int k = 0; k < rows.count; ++k)
    {
      if (rows.dense_row >= 0)
      {
        effect[k] += problem.rows.jacobian(rows.dense_row + k, body.u);
      }
      share[k] = effect[k] * inverse;
      left[k] -= effect[k] * free;
    }
  }
  couple(i, 1, data);
  return true;
}

bool TreeSolver::reduce_simple(
  std::size_t i, const TreeData & tree_data, const TreeProblem & problem,
  TreeSolverData & data) const noexcept
{
  const TreeBody & body = tree_.bodies[i];
  TreeSolverData::Body & b = data.bodies[i];
  const bool turns = body.kind == JointKind::kRevolute;
  const Eigen::Vector3d z = tree_data.motions[i].rotation.col(2);
  // U = I S, D = Sᵀ U.
  double D = 0.0;
  double scale = 0.0;
  double u = data.joint_force(body.u);
  if (turns)
  {
    b.U_f.noalias() = b.H.lazyProduct(z);
    b.U_n = b.J * z;
    D = z.dot(b.U_n) + tree_.armature(body.u);
    scale = b.J.trace();
    u -= z.dot(b.n);
  }
  else
  {
    b.U_f = b.M * z;
    b.U_n.noalias() = b.H.transpose().lazyProduct(z);
    D = z.dot(b.U_f) + tree_.armature(body.u);
    scale = b.M.trace();
    u -= z.dot(b.f);
  }
  if (!(D > kSmallestInertia * scale))
  {
    return false;
  }
  const double inverse = 1.0 / D;
  const double free = u * inverse;
  b.inverse_D = inverse;
  b.joint_force = u;

  const Eigen::Vector3d & r = tree_data.motions[i].arm;
  const bool on_hinge = body.parent >= 0 && is_hinge_[idx(body.parent)];
  Screw S{Eigen::Vector3d::Zero(), Eigen::Vector3d::Zero()};  // of that hinge
  double U_S = 0.0;
  if (on_hinge)
  {
    S = screw(idx(body.parent), tree_data, r);
    U_S = S.power(b.U_f, b.U_n);
  }
  const Eigen::Index stride = data.carry.rows();
  for (int run = run_begin_[i]; run < run_begin_[i + 1]; ++run)
  {
    const Run & rows = runs_[idx(run)];
    if (data.part[idx(rows.constraint)] != rows.constraint)
    {
      continue;
    }
    const double * K = data.carry.data() + rows.place;
    const double * along = turns ? K + 3 * stride : K;  // what the joint feels
    double * effect = &data.effect(rows.place, 0);
    double * share = &data.share(rows.place, 0);
    double * left = data.left.data() + rows.position;
    double * up = data.carry.data() + rows.target;
    const auto pass = [&](int k)
    {
      double s = z(0) * along[k] + z(1) * along[k + stride] + z(2) * along[k + 2 * stride];
      if (rows.dense_row >= 0)
      {
        s += problem.rows.jacobian(rows.dense_row + k, body.u);
      }
      effect[k] = s;
      share[k] = s * inverse;
      left[k] -= s * free;
    };
    const auto hand_up = [&](int k)
    {
      const double f0 = K[k] - share[k] * b.U_f(0);
      const double f1 = K[k + stride] - share[k] * b.U_f(1);
      const double f2 = K[k + 2 * stride] - share[k] * b.U_f(2);
      up[k] += f0;
      up[k + stride] += f1;
      up[k + 2 * stride] += f2;
      up[k + 3 * stride] += K[k + 3 * stride] - share[k] * b.U_n(0) + r(1) * f2 - r(2) * f1;
      up[k + 4 * stride] += K[k + 4 * stride] - share[k] * b.U_n(1) + r(2) * f0 - r(0) * f2;
      up[k + 5 * stride] += K[k + 5 * stride] - share[k] * b.U_n(2) + r(0) * f1 - r(1) * f0;
    };
    for (int k = 0; k < rows.count; ++k)
    {
      pass(k);
    }
    if (rows.target < 0)
    {
      continue;
    }
    if (on_hinge)
    {
      double * felt = &data.effect(rows.target, 0);
      for (int k = 0; k < rows.count; ++k)
      {
        const Eigen::Vector3d K_f(K[k], K[k + stride], K[k + 2 * stride]);
        const Eigen::Vector3d K_n(K[k + 3 * stride], K[k + 4 * stride], K[k + 5 * stride]);
        felt[k] += S.power(K_f, K_n) - U_S * share[k];
      }
      continue;
    }
    for (int k = 0; k < rows.count; ++k)
    {
      hand_up(k);
    }
  }
  couple(i, 1, data);
  if (on_hinge)
  {
    TreeSolverData::Body & hinge = data.bodies[idx(body.parent)];
    const Eigen::Vector3d & v = S.linear;
    const Eigen::Vector3d & w = S.angular;
    hinge.D += v.dot(b.M * v + 2.0 * b.H.lazyProduct(w)) + w.dot(b.J * w) - U_S * U_S * inverse;
    hinge.scale += v.squaredNorm() * b.M.trace() + w.squaredNorm() * b.J.trace();
    hinge.joint_force -= S.power(b.f, b.n) + U_S * free;
  }
  else if (body.parent >= 0)
  {
    const Eigen::Vector3d V_f = inverse * b.U_f;
    const Eigen::Vector3d V_n = inverse * b.U_n;
    Symmetric3 M = b.M;
    Symmetric3 J = b.J;
    M.add_square(b.U_f, -V_f);
    J.add_square(b.U_n, -V_n);
    const Eigen::Matrix3d H = b.H - b.U_f.lazyProduct(V_n.transpose());
    hand_over(M, H, J, b.f + free * b.U_f, b.n + free * b.U_n, r, data.bodies[idx(body.parent)]);
  }
  return true;
}

bool TreeSolver::reduce_joint(
  std::size_t i, const TreeData & tree_data, const TreeProblem & problem,
  TreeSolverData & data) const noexcept
{
  const TreeBody & body = tree_.bodies[i];
  TreeSolverData::Body & b = data.bodies[i];
  TreeSolverData::Joint & joint = data.joints[idx(joint_of_body_[i])];
  const Eigen::Matrix3d & R = tree_data.motions[i].rotation;
  const int nu = body.nu;
  joint.S.setZero();
  if (body.kind == JointKind::kPlanar)
  {
    joint.S.col(0).head<3>() = R.col(0);
    joint.S.col(1).head<3>() = R.col(1);
    joint.S.col(2).tail<3>() = R.col(2);
  }
  else if (body.kind == JointKind::kBall)
  {
    joint.S.bottomLeftCorner<3, 3>() = R;
  }
  else if (body.kind == JointKind::kTranslation)
  {
    joint.S.topLeftCorner<3, 3>() = R;
  }
  else
  {
    joint.S.topLeftCorner<3, 3>() = R;
    joint.S.bottomRightCorner<3, 3>() = R;
  }
  Eigen::Matrix<double, 6, 6> inertia;
  inertia << b.M.full(), b.H, b.H.transpose(), b.J.full();
  Eigen::Matrix<double, 6, 1> force;
  force << b.f, b.n;
  joint.U.noalias() = inertia.lazyProduct(joint.S);
  joint.D.noalias() = joint.S.transpose().lazyProduct(joint.U);
  for (int k = 0; k < nu; ++k)
  {
    joint.D(k, k) += tree_.armature(body.u + k);
    joint.free(k) = data.joint_force(body.u + k) - joint.S.col(k).dot(force);
  }
  if (!factor_small(joint.D, nu))
  {
    return false;
  }
  const Eigen::Matrix<double, 6, 1> wanted = joint.free;
  solve_small(joint.D, nu, joint.free);

  const Eigen::Vector3d & r = tree_data.motions[i].arm;
  const bool on_hinge = body.parent >= 0 && is_hinge_[idx(body.parent)];
  Eigen::Matrix<double, 6, 1> S = Eigen::Matrix<double, 6, 1>::Zero();  // of that hinge
  if (on_hinge)
  {
    const Screw at_origin = screw(idx(body.parent), tree_data, r);
    S << at_origin.linear, at_origin.angular;
  }
  for (int run = run_begin_[i]; run < run_begin_[i + 1]; ++run)
  {
    const Run & rows = runs_[idx(run)];
    if (data.part[idx(rows.constraint)] != rows.constraint)
    {
      continue;
    }
    for (int row = 0; row < rows.count; ++row)
    {
      const Eigen::Matrix<double, 6, 1> K = data.carry.row(rows.place + row).transpose();
      Eigen::Matrix<double, 6, 1> share;
      for (int k = 0; k < nu; ++k)
      {
        share(k) = joint.S.col(k).dot(K);
        if (rows.dense_row >= 0)
        {
          share(k) += problem.rows.jacobian(rows.dense_row + row, body.u + k);
        }
        data.effect(rows.place + row, k) = share(k);
      }
      solve_small(joint.D, nu, share);
      Eigen::Matrix<double, 6, 1> up = K;
      for (int k = 0; k < nu; ++k)
      {
        data.share(rows.place + row, k) = share(k);
        data.left(rows.position + row) -= share(k) * wanted(k);
        up -= share(k) * joint.U.col(k);
      }
      if (on_hinge)
      {
        data.effect(rows.target + row, 0) += S.dot(up);
      }
      else if (rows.target >= 0)
      {
        const Eigen::Vector3d f = up.head<3>();
        up.tail<3>() += r.cross(f);
        data.carry.row(rows.target + row) += up.transpose();
      }
    }
  }
  couple(i, nu, data);
  if (body.parent >= 0)
  {
    for (int k = 0; k < nu; ++k)
    {
      force += joint.free(k) * joint.U.col(k);
    }
    // I − U D⁻¹ Uᵀ = I − Y Yᵀ with Y = U G⁻ᵀ, D = G Gᵀ.
    Eigen::Matrix<double, 6, 6> Y = joint.U;
    for (int k = 0; k < nu; ++k)
    {
      for (int j = 0; j < k; ++j)
      {
        Y.col(k) -= joint.D(k, j) * Y.col(j);
      }
      Y.col(k) *= joint.D(k, k);
      inertia.noalias() -= Y.col(k).lazyProduct(Y.col(k).transpose());
    }
    if (on_hinge)
    {
      TreeSolverData::Body & hinge = data.bodies[idx(body.parent)];
      hinge.D += S.dot(inertia.lazyProduct(S));
      hinge.scale +=
        S.head<3>().squaredNorm() * b.M.trace() + S.tail<3>().squaredNorm() * b.J.trace();
      hinge.joint_force -= S.dot(force);
      return true;
    }
    hand_over(
      symmetric(inertia.topLeftCorner<3, 3>()), inertia.topRightCorner<3, 3>(),
      symmetric(inertia.bottomRightCorner<3, 3>()), force.head<3>(), force.tail<3>(), r,
      data.bodies[idx(body.parent)]);
  }
  return true;
}

bool TreeSolver::eliminate(
  int first, int last, int body, bool strict, TreeSolverData & data) const noexcept
{
  for (int k = first; k < last; ++k)
  {
    const std::vector<Below> & below = below_[idx(k)];
    const double pivot = data.factor(k, k);
    const double usual = std::max(data.diagonal(k), data.nominal(k));
    bool out = data.inverse_pivot(k) == 0.0;
    if (!out && !(pivot > (strict ? kRegular : kRedundant) * usual))
    {
      if (!(pivot <= kRedundant * usual))
      {
        return false;
      }
      data.dropped[idx(data.dropped_count++)] = k;
      data.drops_real_rows = data.drops_real_rows || data.diagonal(k) > kRedundant * usual;
      out = true;
    }
    if (out)
    {
      data.inverse_pivot(k) = 0.0;
      for (const Below & b : below)
      {
        data.factor(b.position, k) = 0.0;
      }
      continue;
    }
    const double inverse = 1.0 / pivot;
    data.inverse_pivot(k) = inverse;
    const double left = data.left(k);
    for (std::size_t j = 0; j < below.size(); ++j)
    {
      const int at = below[j].position;
      const double value = data.factor(at, k);
      data.column(static_cast<Eigen::Index>(j)) = value;
      if (value == 0.0)
      {
        continue;  // rows that are out, and directions that do not meet
      }
      const double share = value * inverse;
      data.factor(at, k) = share;
      data.left(at) -= share * left;
      if (below[j].place >= 0)
      {
        data.carry.row(below[j].place) -= share * data.carry.row(elimination_place_[idx(k)]);
      }
      for (std::size_t i = 0; i <= j; ++i)
      {
        data.factor(at, below[i].position) -= share * data.column(static_cast<Eigen::Index>(i));
      }
    }
    if (body >= 0)
    {
      // (E22)
      TreeSolverData::Body & b = data.bodies[idx(body)];
      const auto K = data.carry.row(elimination_place_[idx(k)]);
      const Eigen::Vector3d K_f = K.head<3>();
      const Eigen::Vector3d K_n = K.tail<3>();
      const Eigen::Vector3d V_f = inverse * K_f;
      const Eigen::Vector3d V_n = inverse * K_n;
      b.M.add_square(K_f, V_f);
      b.H.noalias() += K_f.lazyProduct(V_n.transpose());
      b.J.add_square(K_n, V_n);
      b.f -= left * V_f;
      b.n -= left * V_n;
    }
  }
  return true;
}

void TreeSolver::substitute(int first, int last, int body, TreeSolverData & data) const noexcept
{
  for (int k = last - 1; k >= first; --k)
  {
    double value = data.left(k);
    if (body >= 0)
    {
      const TreeSolverData::Body & b = data.bodies[idx(body)];
      const auto K = data.carry.row(elimination_place_[idx(k)]);
      value -= K.head<3>().dot(b.linear) + K.tail<3>().dot(b.angular);
    }
    value *= data.inverse_pivot(k);
    if (data.inverse_pivot(k) != 0.0)
    {
      for (const Below & b : below_[idx(k)])
      {
        value -= data.factor(b.position, k) * data.multipliers(b.position);
      }
    }
    data.multipliers(k) = value;
  }
}

void TreeSolver::move(const TreeData & tree_data, TreeSolverData & data) const noexcept
{
  substitute(elimination_begin_[0], elimination_end_[0], -1, data);
  for (std::size_t i = 0; i < tree_.bodies.size(); ++i)
  {
    const TreeBody & body = tree_.bodies[i];
    TreeSolverData::Body & b = data.bodies[i];
    const BodyMotion & m = tree_data.motions[i];
    if (body.parent >= 0)
    {
      const TreeSolverData::Body & p = data.bodies[idx(body.parent)];
      b.angular = p.angular;
      b.linear = p.linear + p.angular.cross(m.arm);
      b.angular_reach = p.angular_reach;
      b.linear_reach = p.linear_reach + p.angular_reach * m.arm.lpNorm<1>();
    }
    else
    {
      b.angular.setZero();
      b.linear.setZero();
      b.angular_reach = 0.0;
      b.linear_reach = 0.0;
    }
    const int first = run_begin_[i];
    const int last = run_begin_[i + 1];
    if (body.nu == 1)
    {
      double force = b.joint_force;
      if (!is_hinge_[i])
      {
        force -= b.U_f.dot(b.linear) + b.U_n.dot(b.angular);
      }
      for (int run = first; run < last; ++run)
      {
        const Run & rows = runs_[idx(run)];
        if (data.part[idx(rows.constraint)] != rows.constraint)
        {
          continue;
        }
        for (int k = 0; k < rows.count; ++k)
        {
          force += data.effect(rows.place + k, 0) * data.multipliers(rows.position + k);
        }
      }
      const double acceleration = force * b.inverse_D;
      data.acceleration(body.u) = acceleration;
      const bool turns = body.kind == JointKind::kRevolute;
      (turns ? b.angular : b.linear) += acceleration * m.rotation.col(2);
      (turns ? b.angular_reach : b.linear_reach) += std::abs(acceleration);
    }
    else
    {
      const TreeSolverData::Joint & joint = data.joints[idx(joint_of_body_[i])];
      Eigen::Matrix<double, 6, 1> x;
      for (int k = 0; k < body.nu; ++k)
      {
        x(k) = -joint.U.col(k).head<3>().dot(b.linear) - joint.U.col(k).tail<3>().dot(b.angular);
      }
      solve_small(joint.D, body.nu, x);
      for (int k = 0; k < body.nu; ++k)
      {
        double acceleration = joint.free(k) + x(k);
        for (int run = first; run < last; ++run)
        {
          const Run & rows = runs_[idx(run)];
          if (data.part[idx(rows.constraint)] != rows.constraint)
          {
            continue;
          }
          acceleration += data.share.col(k)
                            .segment(rows.place, rows.count)
                            .dot(data.multipliers.segment(rows.position, rows.count));
        }
        data.acceleration(body.u + k) = acceleration;
        b.linear += acceleration * joint.S.col(k).head<3>();
        b.angular += acceleration * joint.S.col(k).tail<3>();
        b.linear_reach += std::abs(acceleration);
        b.angular_reach += std::abs(acceleration);
      }
    }
    substitute(elimination_begin_[i + 1], elimination_end_[i + 1], static_cast<int>(i), data);
  }
}

bool TreeSolver::split(TreeSolverData & data) const noexcept
{
  // A dropped row is a combination of those before it: Aᵀ z = 0 with z = 1 there, and the others
  // from the factor. Of all λ + Z y the one with the least ‖W λ‖ is taken.
  const Eigen::Index d = data.dropped_count;
  const Eigen::Index m = static_cast<Eigen::Index>(row_at_.size());
  auto Z = data.null_space.leftCols(d);
  Z.setZero();
  for (Eigen::Index c = 0; c < d; ++c)
  {
    const int k = data.dropped[idx(static_cast<int>(c))];
    Z(k, c) = 1.0;
    for (int j = k - 1; j >= 0; --j)
    {
      if (data.inverse_pivot(j) == 0.0)
      {
        continue;
      }
      double sum = 0.0;
      for (const Below & b : below_[idx(j)])
      {
        sum -= data.factor(b.position, j) * Z(b.position, c);
      }
      Z(j, c) = sum;
    }
  }
  data.gram_right.head(d).setZero();
  data.gram.topLeftCorner(d, d).setZero();
  data.gram_scaled.topLeftCorner(d, d).setZero();
  for (Eigen::Index k = 0; k < m; ++k)
  {
    const double weight = 1.0 / data.compliance(k);
    const double size = 1.0 / data.strength(k);
    for (Eigen::Index j = 0; j < d; ++j)
    {
      const double z = Z(k, j);
      if (z == 0.0)
      {
        continue;
      }
      data.gram_right(j) += weight * z * data.multipliers(k);
      for (Eigen::Index i = j; i < d; ++i)
      {
        const double product = z * Z(k, i);
        data.gram(i, j) += weight * product;
        data.gram_scaled(i, j) += size * product;
      }
    }
  }
  if (!factor_small(data.gram, d) || !factor_small(data.gram_scaled, d))
  {
    return false;
  }
  solve_small(data.gram, d, data.gram_right);
  for (Eigen::Index j = 0; j < d; ++j)
  {
    data.multipliers -= data.gram_right(j) * Z.col(j);
  }
  return true;
}

bool TreeSolver::judge(
  const TreeProblem & problem, TreeSolverData & data, double & inconsistency) const noexcept
{
  const TreeData & tree_data = static_cast<const TreeData &>(problem.system_data);
  double missed = 0.0;
  double size = 0.0;
  const auto add = [&](Eigen::Index row, double got, double terms)
  {
    const double scale = problem.row_scale(row);
    const double miss = scale * (got - problem.bias(row));
    const double own = scale * (std::abs(problem.bias(row)) + terms);
    missed += miss * miss;
    size += own * own;
  };
  for (std::size_t i = 0; i < frame_terms_.size(); ++i)
  {
    const FrameTerms & terms = frame_terms_[i];
    if (!problem.active[idx(terms.constraint)])
    {
      continue;
    }
    const FrameRowForces & forces = data.forces[i];
    Eigen::Vector3d linear = Eigen::Vector3d::Zero();
    Eigen::Vector3d angular = Eigen::Vector3d::Zero();
    double linear_reach = 0.0;
    double angular_reach = 0.0;
    const auto side = [&](int body, double sign)
    {
      if (body >= 0)
      {
        const TreeSolverData::Body & b = data.bodies[idx(body)];
        const Eigen::Vector3d r = forces.point - tree_data.motions[idx(body)].position;
        linear += sign * (b.linear + b.angular.cross(r));
        angular += sign * b.angular;
        linear_reach += b.linear_reach + b.angular_reach * r.lpNorm<1>();
        angular_reach += b.angular_reach;
      }
    };
    side(terms.body_a, 1.0);
    side(terms.body_b, -1.0);
    const Eigen::Index first = set_.row_offset(terms.constraint);
    for (std::size_t k = 0; k < terms.places_a.size(); ++k)
    {
      add(
        first + static_cast<Eigen::Index>(k),
        forces.force[k].dot(linear) + forces.torque[k].dot(angular),
        forces.force[k].lpNorm<1>() * linear_reach + forces.torque[k].lpNorm<1>() * angular_reach);
    }
  }
  for (const int c : dense_constraints_)
  {
    if (!problem.active[idx(c)])
    {
      continue;
    }
    for (Eigen::Index row = set_.row_offset(c); row < set_.row_offset(c) + set_[c].row_count();
         ++row)
    {
      double got = 0.0;
      double terms = 0.0;
      const auto element = [&](Eigen::Index u)
      {
        const double term = problem.rows.jacobian(row, u) * data.acceleration(u);
        got += term;
        terms += std::abs(term);
      };
      const std::vector<int> & support = set_[c].speed_support();
      for (const int u : support)
      {
        element(u);
      }
      for (Eigen::Index u = 0; support.empty() && u < data.acceleration.size(); ++u)
      {
        element(u);
      }
      add(row, got, terms);
    }
  }
  inconsistency = size > 0.0 ? std::sqrt(missed / size) : 0.0;
  return inconsistency <= kLargestMiss;
}

void TreeSolver::forces(
  const TreeProblem & problem, ConstraintScratch & scratch, TreeSolverData & data,
  Solution & solution) const noexcept
{
  const TreeData & tree_data = static_cast<const TreeData &>(problem.system_data);
  for (std::size_t i = 0; i < tree_.bodies.size(); ++i)
  {
    data.bodies[i].f.setZero();
    data.bodies[i].n.setZero();
  }
  for (std::size_t i = 0; i < frame_terms_.size(); ++i)
  {
    const FrameTerms & terms = frame_terms_[i];
    const FrameRowForces & forces = data.forces[i];
    const Eigen::Index first = set_.row_offset(terms.constraint);
    Eigen::Vector3d force = Eigen::Vector3d::Zero();
    Eigen::Vector3d torque = Eigen::Vector3d::Zero();
    for (std::size_t k = 0; k < terms.places_a.size(); ++k)
    {
      const double lambda = solution.multipliers(first + static_cast<Eigen::Index>(k));
      force += lambda * forces.force[k];
      torque += lambda * forces.torque[k];
    }
    if (terms.body_a >= 0)
    {
      TreeSolverData::Body & b = data.bodies[idx(terms.body_a)];
      b.f += force;
      b.n += torque + (forces.point - tree_data.motions[idx(terms.body_a)].position).cross(force);
    }
    if (terms.body_b >= 0)
    {
      TreeSolverData::Body & b = data.bodies[idx(terms.body_b)];
      b.f -= force;
      b.n -= torque + (forces.point - tree_data.motions[idx(terms.body_b)].position).cross(force);
    }
    WrenchPair & pair = solution.wrenches[idx(set_.wrench_offset(terms.constraint))];
    pair.on_a.point = forces.wrench_point;
    pair.on_a.force = force;
    pair.on_a.torque = torque + (forces.point - forces.wrench_point).cross(force);
    pair.on_b.point = pair.on_a.point;
    pair.on_b.force = -pair.on_a.force;
    pair.on_b.torque = -pair.on_a.torque;
  }
  Eigen::VectorXd & out = solution.constraint_force;
  for (std::size_t i = tree_.bodies.size(); i-- > 0;)
  {
    const TreeSolverData::Body & b = data.bodies[i];
    tree_.project(i, tree_data.motions[i], b.f, b.n, [&](int u, double value) { out(u) = value; });
    const int parent = tree_.bodies[i].parent;
    if (parent >= 0)
    {
      TreeSolverData::Body & p = data.bodies[idx(parent)];
      p.f += b.f;
      p.n += b.n + tree_data.motions[i].arm.cross(b.f);
    }
  }
  for (const int c : dense_constraints_)
  {
    const Eigen::Index first = set_.row_offset(c);
    const Eigen::Index count = set_[c].row_count();
    if (problem.active[idx(c)])
    {
      for (Eigen::Index row = first; row < first + count; ++row)
      {
        const std::vector<int> & support = set_[c].speed_support();
        for (const int u : support)
        {
          out(u) += solution.multipliers(row) * problem.rows.jacobian(row, u);
        }
        for (Eigen::Index u = 0; support.empty() && u < out.size(); ++u)
        {
          out(u) += solution.multipliers(row) * problem.rows.jacobian(row, u);
        }
      }
    }
    if (!set_[c].wrench_bodies().empty())
    {
      set_[c].wrenches(
        problem.system_data, scratch, solution.multipliers.segment(first, count),
        solution.wrenches.data() + set_.wrench_offset(c));
    }
  }
}

bool TreeSolver::reduce(
  const TreeProblem & problem, bool strict, TreeSolverData & data) const noexcept
{
  const TreeData & tree_data = static_cast<const TreeData &>(problem.system_data);
  for (std::size_t i = tree_.bodies.size(); i-- > 0;)
  {
    const int body = static_cast<int>(i);
    if (!eliminate(elimination_begin_[i + 1], elimination_end_[i + 1], body, strict, data))
    {
      return false;
    }
    const bool regular = is_hinge_[i]              ? reduce_hinge(i, problem, data)
                         : tree_.bodies[i].nu == 1 ? reduce_simple(i, tree_data, problem, data)
                                                   : reduce_joint(i, tree_data, problem, data);
    if (!regular)
    {
      return false;
    }
  }
  return eliminate(elimination_begin_[0], elimination_end_[0], -1, strict, data);
}

void TreeSolver::measure(const TreeProblem & problem, TreeSolverData & data) const noexcept
  CD_NONBLOCKING
{
  begin(problem, data);
  for (int c = 0; c < set_.size(); ++c)
  {
    data.part[idx(c)] = c;  // carried even where switched off
  }
  load_rows(problem, data);
  if (!reduce(problem, false, data))
  {
    return;
  }
  for (std::size_t k = 0; k < row_at_.size(); ++k)
  {
    const Eigen::Index at = static_cast<Eigen::Index>(k);
    const Eigen::Index row = row_at_[k];
    const double own = problem.row_scale(row) * problem.rows.jacobian.row(row).norm();
    const double usual = data.diagonal(at) * std::max(1.0, kSmallestRow / (own * own));
    data.nominal(at) = std::isfinite(usual) ? std::max(data.nominal(at), usual) : data.nominal(at);
  }
  data.is_measured = true;
}

CD_CLONES bool TreeSolver::solve(
  const TreeProblem & problem, ConstraintScratch & scratch, TreeSolverData & data,
  Solution & solution) const noexcept CD_NONBLOCKING
{
  const TreeData & tree_data = static_cast<const TreeData &>(problem.system_data);
  if (!data.is_measured)
  {
    return false;
  }
  begin(problem, data);
  find_copies(problem, data);
  load_rows(problem, data);
  int active = 0;
  int copied = 0;
  for (const int c : constraint_at_)
  {
    active += data.part[idx(c)] >= 0 ? 1 : 0;
    copied += data.part[idx(c)] >= 0 && data.part[idx(c)] != c ? 1 : 0;
  }
  if (
    !reduce(problem, true, data) || active - copied - data.dropped_count != problem.nominal_rank ||
    (data.drops_real_rows && data.acceleration.size() <= kFewSpeeds))
  {
    return false;
  }
  move(tree_data, data);
  double inconsistency = 0.0;
  if (
    !judge(problem, data, inconsistency) || (data.dropped_count > 0 && !split(data)) ||
    !is_moderate(data.acceleration) || !is_moderate(data.multipliers))
  {
    return false;
  }

  double worst = 1.0;
  solution.acceleration = data.acceleration;
  for (std::size_t k = 0; k < row_at_.size(); ++k)
  {
    const Eigen::Index at = static_cast<Eigen::Index>(k);
    const Eigen::Index row = row_at_[k];
    solution.multipliers(row) = data.multipliers(at);
    worst = std::max(worst, std::max(data.diagonal(at), data.nominal(at)) * data.inverse_pivot(at));
    double redundancy = 0.0;
    if (data.dropped_count > 0)
    {
      const Eigen::Index d = data.dropped_count;
      const double size = 1.0 / std::sqrt(data.strength(at));
      for (Eigen::Index j = 0; j < d; ++j)
      {
        data.gram_right(j) = size * data.null_space(at, j);
      }
      divide_small(data.gram_scaled, d, data.gram_right);
      redundancy = data.gram_right.head(d).norm();
    }
    solution.redundancy(row) = redundancy;
  }
  solution.active_row_count = active;
  if (data.has_copies)
  {
    share_among_copies(problem, solution, data);
  }
  solution.rank = problem.nominal_rank;
  solution.condition = std::sqrt(worst);
  solution.inconsistency = inconsistency;
  solution.along_tree = true;
  forces(problem, scratch, data, solution);
  return true;
}

}  // namespace constrained_dynamics
