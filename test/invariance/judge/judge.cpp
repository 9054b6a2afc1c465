// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "judge.hpp"

#include <algorithm>
#include <limits>
#include <random>

#include "system.hpp"

namespace invariance
{
namespace
{

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// 1e3 ε: what data may be off by, relative to what they could be.
const Real & data_tolerance()
{
  static const Real tolerance = 1000 * Real(std::numeric_limits<double>::epsilon());
  return tolerance;
}

/// Q u̇ = h + Bᵀ μ, C u̇ = d with independent rows B. B is C without the columns of driven speeds,
/// which no constraint force accelerates; mostly there are none and B = C.
struct Problem
{
  Matrix inertia;
  Vector force;
  Matrix acting;  ///< B
  Matrix rows;    ///< C
  Vector bias;
};

struct Answer
{
  Vector acceleration;
  Vector row_forces;  ///< μ
  Vector constraint_force;
};

/// [Q −Bᵀ; C 0] [u̇; μ] = [h; d].
/// @return false where that matrix is singular.
bool solve(const Problem & problem, Answer & out)
{
  const int n = problem.inertia.rows;
  const int r = problem.rows.rows;
  Matrix m(n + r, n + r);
  Vector x(at(n + r));
  for (int i = 0; i < n; ++i)
  {
    x[at(i)] = problem.force[at(i)];
    for (int j = 0; j < n; ++j)
    {
      m(i, j) = problem.inertia(i, j);
    }
  }
  for (int k = 0; k < r; ++k)
  {
    x[at(n + k)] = problem.bias[at(k)];
    for (int j = 0; j < n; ++j)
    {
      m(n + k, j) = problem.rows(k, j);
      m(j, n + k) = -problem.acting(k, j);
    }
  }
  if (!solve(m, x))
  {
    return false;
  }
  out.acceleration.assign(x.begin(), x.begin() + n);
  out.row_forces.assign(x.begin() + n, x.end());
  out.constraint_force = transposed_times(problem.acting, out.row_forces);
  return true;
}

std::vector<double> rounded(const Vector & x)
{
  std::vector<double> out;
  for (const Real & element : x)
  {
    out.push_back(element.convert_to<double>());
  }
  return out;
}

/// Rows, terms and their sizes at a state.
struct Evaluation
{
  std::vector<Row> rows;
  Terms terms;
  Vector scale;   ///< 1/size of each row
  Matrix scaled;  ///< diag(1/size) A, without the columns of driven speeds
  std::vector<bool> driven;
  RowSvd svd;
  Real reference;  ///< what singular values are relative to
};

/// What the derivative of a row with respect to all speeds could be. Driven ones count, although
/// the row does not change them: in c ḋ − c ḋ + 1e-16 ẏ with a driven d, data within 1e3 ε leave
/// 2e-13 c ḋ, and the row says nothing about ẏ.
Real size_of(const Row & row) { return norm(row.a_size); }

/// Rows alone; `terms` stays empty.
Evaluation rows_at(const Document & document, const System & system, const State & state)
{
  Evaluation out;
  out.rows = make_rows(document, system, state.time);
  const int m = static_cast<int>(out.rows.size());
  const int n = system.size();
  out.scaled = Matrix(m, n);
  out.driven = system.driven;
  out.driven.resize(at(n));
  for (int i = 0; i < m; ++i)
  {
    const Row & row = out.rows[at(i)];
    const Real size = size_of(row);
    out.scale.push_back(size > 0 ? Real(1 / size) : Real(1));
    for (int j = 0; j < n; ++j)
    {
      out.scaled(i, j) = out.driven[at(j)] ? Real(0) : Real(out.scale[at(i)] * row.a[at(j)]);
    }
  }
  out.svd = row_svd(out.scaled);
  out.reference = m > 0 ? std::max<Real>(out.svd.singular_values[0], 1) : Real(1);
  return out;
}

Evaluation evaluate_at(const Document & document, const System & system, const State & state)
{
  Evaluation out = rows_at(document, system, state);
  out.terms = system.terms();
  return out;
}

int count_above(const Evaluation & e, const Real & tolerance)
{
  int rank = 0;
  for (const Real & sigma : e.svd.singular_values)
  {
    rank += sigma > tolerance * e.reference ? 1 : 0;
  }
  return std::min(rank, e.scaled.cols);
}

/// The first `rank` directions of the rows, as independent rows.
Problem reduced(const Evaluation & e, int rank)
{
  const int m = e.scaled.rows;
  const int n = e.scaled.cols;
  Problem out{e.terms.inertia, e.terms.force, Matrix(rank, n), Matrix(rank, n), Vector(at(rank))};
  for (int k = 0; k < rank; ++k)
  {
    for (int j = 0; j < n; ++j)
    {
      out.acting(k, j) = e.svd.rotated(k, j);
      out.rows(k, j) = e.svd.rotated(k, j);
      for (int i = 0; i < m && e.driven[at(j)]; ++i)
      {
        out.rows(k, j) += e.svd.left(k, i) * e.scale[at(i)] * e.rows[at(i)].a[at(j)];
      }
    }
    for (int i = 0; i < m; ++i)
    {
      out.bias[at(k)] += e.svd.left(k, i) * e.scale[at(i)] * e.rows[at(i)].b;
    }
  }
  return out;
}

/// q ← q + C step.
void move(const System & system, const Vector & step, State & state)
{
  for (std::size_t i = 0; i < state.q.size(); ++i)
  {
    state.q[i] += dot(system.variable(system.coordinates[i]).row, step);
  }
}

/// Uniform in [−1, 1]; std::uniform_real_distribution differs between libraries.
double uniform(std::mt19937_64 & random)
{
  return static_cast<double>(random() >> 11) / 4503599627370496.0 - 1.0;
}

/// Moves a state to one close by that meets the position rows: Newton's method with the directions
/// of rows that are certain.
/// @return false where none is found within `limit` of each coordinate.
bool move_to_manifold(const Document & document, const Real & limit, State & state)
{
  const State start = state;
  for (int iteration = 0; iteration < 20; ++iteration)
  {
    const std::unique_ptr<System> system = make_system(document, state);
    const Evaluation e = rows_at(document, *system, state);
    const int m = e.scaled.rows;
    Real violation = 0;
    for (int i = 0; i < m; ++i)
    {
      violation = std::max<Real>(violation, e.scale[at(i)] * abs(e.rows[at(i)].position));
    }
    if (violation < Real("1e-25"))
    {
      return true;
    }
    Vector step(at(system->size()));
    for (int k = 0; k < count_above(e, Real("1e-6")); ++k)
    {
      Real missing = 0;
      for (int i = 0; i < m; ++i)
      {
        missing -= e.svd.left(k, i) * e.scale[at(i)] * e.rows[at(i)].position;
      }
      const Real & sigma = e.svd.singular_values[at(k)];
      for (int j = 0; j < system->size(); ++j)
      {
        step[at(j)] += e.svd.rotated(k, j) * missing / (sigma * sigma);
      }
    }
    move(*system, step, state);
    for (std::size_t i = 0; i < state.q.size(); ++i)
    {
      if (abs(state.q[i] - start.q[i]) > limit)
      {
        return false;
      }
    }
  }
  return false;
}

/// The largest rank at some states on the manifold around a given one, which move with any speeds;
/// −1 where none is found, as at a point that rows touch alone: there nothing tells a singular
/// position from a regular one.
int rank_around(
  const Document & document, const State & state, const Evaluation & e, const Real & singular,
  std::mt19937_64 & random)
{
  int rank = count_above(e, singular);
  bool is_alone = true;
  const std::unique_ptr<System> system = make_system(document, state);
  const int n = system->size();
  for (int sample = 0; sample < 2; ++sample)
  {
    State other = state;
    Vector step(at(n));
    for (int j = 0; j < n; ++j)
    {
      step[at(j)] = Real(uniform(random)) / 20;
      other.u[at(j)] += uniform(random);
    }
    // Along the manifold, as far as it is known here.
    for (int k = 0; k < count_above(e, singular); ++k)
    {
      const Real & sigma = e.svd.singular_values[at(k)];
      Real along = 0;
      for (int j = 0; j < n; ++j)
      {
        along += e.svd.rotated(k, j) * step[at(j)];
      }
      for (int j = 0; j < n; ++j)
      {
        step[at(j)] -= e.svd.rotated(k, j) * along / (sigma * sigma);
      }
    }
    move(*system, step, other);
    if (move_to_manifold(document, 1, other))
    {
      const std::unique_ptr<System> there = make_system(document, other);
      rank = std::max(rank, count_above(rows_at(document, *there, other), singular));
      is_alone = false;
    }
  }
  return is_alone ? -1 : rank;
}

/// The multipliers with the least Σ (λ/weight)² that exert Bᵀ μ. With W = diag(weight) they are W²
/// times a combination of the columns of A: λ = W² S⁻¹ U_rᵀ y
/// with (U_r S⁻¹ W² S⁻¹ U_rᵀ) y = μ.
Vector multipliers_of(
  const Evaluation & e, int rank, const Vector & row_forces, const Vector & weight)
{
  const int m = e.scaled.rows;
  Matrix normal(rank, rank);
  for (int i = 0; i < m; ++i)
  {
    const Real stretch = weight[at(i)] / e.scale[at(i)];
    for (int k = 0; k < rank; ++k)
    {
      const Real entry = stretch * stretch * e.svd.left(k, i);
      for (int l = 0; l < rank; ++l)
      {
        normal(k, l) += entry * e.svd.left(l, i);
      }
    }
  }
  Vector y = row_forces;
  if (!solve(normal, y))
  {
    throw Unsupported("multipliers whose least norm cannot be found");
  }
  Vector lambda(at(m));
  for (int i = 0; i < m; ++i)
  {
    for (int k = 0; k < rank; ++k)
    {
      lambda[at(i)] += weight[at(i)] * weight[at(i)] / e.scale[at(i)] * e.svd.left(k, i) * y[at(k)];
    }
  }
  return lambda;
}

/// Collects by how much answers may differ from the exact one.
class Spread
{
public:
  explicit Spread(Vector centre) : centre_(std::move(centre)), largest_(centre_.size()) {}
  void add(const Vector & other)
  {
    for (std::size_t i = 0; i < centre_.size(); ++i)
    {
      largest_[i] = std::max<Real>(largest_[i], abs(other[i] - centre_[i]));
    }
  }
  /// factor · largest change + 1e3 ε of the value.
  Vector tolerance(const Real & factor) const
  {
    Vector out;
    for (std::size_t i = 0; i < centre_.size(); ++i)
    {
      out.push_back(factor * largest_[i] + data_tolerance() * abs(centre_[i]));
    }
    return out;
  }

private:
  Vector centre_;
  Vector largest_;
};

/// The same problem with all data changed at random by up to 1e3 ε of what they could be.
Problem perturbed(const Evaluation & e, const Problem & exact, std::mt19937_64 & random)
{
  const auto noise = [&] { return Real(data_tolerance() * uniform(random)); };
  Problem out = exact;
  const int n = exact.inertia.rows;
  const int m = e.scaled.rows;
  for (int i = 0; i < n; ++i)
  {
    out.force[at(i)] += noise() * e.terms.force_size[at(i)];
    for (int j = 0; j <= i; ++j)
    {
      const Real change = noise();
      out.inertia(i, j) += change * e.terms.inertia_size(i, j);
      if (i != j)
      {
        out.inertia(j, i) += change * e.terms.inertia_size(j, i);
      }
    }
  }
  for (int i = 0; i < m; ++i)
  {
    const Row & row = e.rows[at(i)];
    const Real bias_change = noise() * row.b_size * e.scale[at(i)];
    for (int k = 0; k < exact.rows.rows; ++k)
    {
      out.bias[at(k)] += e.svd.left(k, i) * bias_change;
    }
    for (int j = 0; j < n; ++j)
    {
      if (row.a_size[at(j)] == 0)
      {
        continue;
      }
      const Real change = noise() * row.a_size[at(j)] * e.scale[at(i)];
      for (int k = 0; k < exact.rows.rows; ++k)
      {
        out.rows(k, j) += e.svd.left(k, i) * change;
        if (!e.driven[at(j)])
        {
          out.acting(k, j) += e.svd.left(k, i) * change;
        }
      }
    }
  }
  return out;
}

/// Nothing is known better than 1e3 ε of the whole motion, measured by the inertia: ‖u̇‖_Q of u̇ and
/// ‖Q u̇‖_Q⁻¹, which is the same number, of forces. The motion without constraints counts as well:
/// what they leave of it is a difference of forces. The terms do not depend on units or axes.
void add_whole(
  const Evaluation & e, const Vector & acceleration, const Vector & free, Vector & on_acceleration,
  Vector & on_force)
{
  const auto size = [&](const Vector & x) { return sqrt(abs(dot(x, e.terms.inertia * x))); };
  const Real whole = data_tolerance() * (size(acceleration) + size(free));
  for (int i = 0; i < e.terms.inertia.rows; ++i)
  {
    const Real root = sqrt(abs(e.terms.inertia(i, i)));
    if (root > 0 && !e.driven[at(i)])
    {
      on_acceleration[at(i)] += whole / root;
      on_force[at(i)] += whole * root;
    }
  }
}

/// What the constraints exert, from the multipliers of their rows.
std::vector<Wrench> wrenches_of(
  const std::vector<Row> & rows, const Vector & multipliers, const Vector & tolerance)
{
  std::vector<Wrench> out;
  for (std::size_t i = 0; i < rows.size(); ++i)
  {
    const Row & row = rows[i];
    if (!row.has_wrench)
    {
      continue;
    }
    if (out.empty() || out.back().constraint != row.constraint)
    {
      out.push_back({});
      out.back().constraint = row.constraint;
    }
    Wrench & wrench = out.back();
    for (int k = 0; k < 3; ++k)
    {
      wrench.point[at(k)] = row.wrench.point[k].convert_to<double>();
      wrench.force[at(k)] += Real(multipliers[i] * row.wrench.force[k]).convert_to<double>();
      wrench.torque[at(k)] += Real(multipliers[i] * row.wrench.torque[k]).convert_to<double>();
    }
    // The unit wrenches themselves are known to 1e3 ε; torques also by the place of their point.
    const Real known = tolerance[i] + data_tolerance() * abs(multipliers[i]);
    const Real force = norm(row.wrench.force);
    wrench.force_tolerance += Real(known * force).convert_to<double>();
    const Real place = data_tolerance() * abs(multipliers[i]) * force * norm(row.wrench.point);
    wrench.torque_tolerance += Real(known * row.wrench.torque_size + place).convert_to<double>();
  }
  return out;
}

/// How far the worst row is missed, relative to what it could be made of. What data within 1e3 ε
/// explain is no contradiction.
double contradiction(const Evaluation & e, const Vector & acceleration, const Vector & free)
{
  Real bias_size = 0;
  for (std::size_t i = 0; i < e.rows.size(); ++i)
  {
    bias_size += e.scale[i] * e.rows[i].b_size;
  }
  const Real stretch = e.rows.empty() ? Real(0) : e.svd.singular_values[0];
  const Real rounding =
    data_tolerance() * (bias_size + stretch * (norm(acceleration) + norm(free)));
  Real worst = 0;
  for (std::size_t i = 0; i < e.rows.size(); ++i)
  {
    const Row & row = e.rows[i];
    const Real missed = abs(dot(row.a, acceleration) - row.b);
    if (e.scale[i] * missed > rounding)
    {
      Real own = row.b_size;
      for (std::size_t j = 0; j < acceleration.size(); ++j)
      {
        own += row.a_size[j] * abs(acceleration[j]);
      }
      worst = std::max<Real>(worst, missed / own);
    }
  }
  return worst.convert_to<double>();
}

void fill_verdict(const Document & document, State state, Verdict & verdict)
{
  std::unique_ptr<System> system = make_system(document, state);
  Evaluation e = evaluate_at(document, *system, state);
  const Real singular = document.number(document.options, "singular_tolerance", Real(1e-8));
  int rank = count_above(e, data_tolerance());

  // Small directions may be rows that are redundant on the manifold, seen from a state that is off
  // it by rounding: then a state that is as good as the given one has fewer directions.
  std::vector<Problem> others;
  if (rank > count_above(e, Real("1e-4")))
  {
    State close = state;
    if (move_to_manifold(document, Real("1e-6"), close))
    {
      std::unique_ptr<System> there = make_system(document, close);
      Evaluation on_manifold = evaluate_at(document, *there, close);
      const int rank_there = count_above(on_manifold, data_tolerance());
      if (rank_there < rank)
      {
        others.push_back(reduced(e, rank_there));
        rank = rank_there;
        e = std::move(on_manifold);
        system = std::move(there);
        state = close;
      }
    }
  }

  Vector weight;
  const Real length = document.number(document.options, "characteristic_length", 1);
  for (const Row & row : e.rows)
  {
    verdict.rows.push_back(row.name);
    verdict.sizes.push_back(size_of(row).convert_to<double>());
    weight.push_back(row.rotational ? length : Real(1));
  }
  for (const Real & sigma : e.svd.singular_values)
  {
    verdict.singular_values.push_back(Real(sigma / e.reference).convert_to<double>());
  }
  verdict.rank_exact = rank;
  verdict.rank_regular = std::min(rank, count_above(e, singular));
  verdict.rank_nominal = verdict.rank_regular;
  std::mt19937_64 random(20260714);
  if (verdict.rank_regular < std::min(e.scaled.rows, e.scaled.cols))
  {
    verdict.rank_nominal = rank_around(document, state, e, singular, random);
  }

  const Problem exact = reduced(e, rank);
  Answer answer;
  if (!solve(exact, answer))
  {
    throw Unsupported("an inertia that is singular along the motions that the rows leave free");
  }
  const Vector multipliers = multipliers_of(e, rank, answer.row_forces, weight);

  // Tolerances. The data are changed at random eight times and the problem is solved again, in 50
  // digits, so that nothing but the change of the data is seen. Random changes are smaller than the
  // worst ones by about the root of their number, hence the factor 3. Not blind: a result that
  // amplifies changes of its data by κ gets 1e3 ε κ and no more. Not pedantic: rounding in double
  // precision is some ten ε, not a thousand.
  Spread acceleration_spread(answer.acceleration);
  Spread force_spread(answer.constraint_force);
  Spread multiplier_spread(multipliers);
  for (int sample = 0; sample < 8; ++sample)
  {
    others.push_back(perturbed(e, exact, random));
  }
  for (const Problem & other : others)
  {
    Answer changed;
    if (!solve(other, changed))
    {
      throw Unsupported("an inertia that is singular for data within the tolerance");
    }
    acceleration_spread.add(changed.acceleration);
    force_spread.add(changed.constraint_force);
    multiplier_spread.add(multipliers_of(e, rank, changed.row_forces, weight));
  }
  const Real factor = 3;
  Vector acceleration_tolerance = acceleration_spread.tolerance(factor);
  Vector force_tolerance = force_spread.tolerance(factor);
  Answer free;
  if (!solve(reduced(e, 0), free))
  {
    free.acceleration = answer.acceleration;  // there is none without the constraints
  }
  add_whole(e, answer.acceleration, free.acceleration, acceleration_tolerance, force_tolerance);

  // Of multipliers in their weighted norm: the split of redundant rows is known no better.
  Vector multiplier_tolerance = multiplier_spread.tolerance(factor);
  Real most = 0;
  for (std::size_t i = 0; i < weight.size(); ++i)
  {
    most = std::max<Real>(
      most,
      multiplier_tolerance[i] / weight[i] + data_tolerance() * abs(multipliers[i]) / weight[i]);
  }
  for (std::size_t i = 0; i < weight.size(); ++i)
  {
    multiplier_tolerance[i] = most * weight[i];
  }

  verdict.inconsistency = contradiction(e, answer.acceleration, free.acceleration);
  verdict.acceleration = rounded(answer.acceleration);
  verdict.constraint_force = rounded(answer.constraint_force);
  verdict.acceleration_tolerance = rounded(acceleration_tolerance);
  verdict.force_tolerance = rounded(force_tolerance);
  verdict.multipliers = rounded(multipliers);
  verdict.multiplier_tolerance = rounded(multiplier_tolerance);
  verdict.wrenches = wrenches_of(e.rows, multipliers, multiplier_tolerance);
  verdict.power = dot(answer.constraint_force, state.u).convert_to<double>();
  verdict.supported = true;
}

}  // namespace

Verdict judge(const std::string & scenario_file, const Given & given)
{
  Verdict verdict;
  try
  {
    const Document document(scenario_file);
    State state;
    state.time = given.time;
    state.q.assign(given.q.begin(), given.q.end());
    state.u.assign(given.u.begin(), given.u.end());
    state.inputs.assign(given.inputs.begin(), given.inputs.end());
    fill_verdict(document, state, verdict);
  }
  catch (const Unsupported & reason)
  {
    verdict = Verdict();
    verdict.unsupported = reason.what();
  }
  return verdict;
}

}  // namespace invariance
