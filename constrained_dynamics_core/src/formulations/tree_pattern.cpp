// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "formulations/tree_pattern.hpp"

#include <algorithm>
#include <set>

namespace constrained_dynamics
{

namespace
{

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
/// The place of a row on a body; −1: the world.
int place_at(const std::map<std::pair<int, int>, int> & place_of, int body, int position)
{
  return body < 0 ? -1 : place_of.at({body, position});
}

}  // namespace

TreePattern::TreePattern(const ConstraintSet & constraints, const KinematicTree & tree)
: set_(constraints), tree_(tree)
{
  for (const TreeBody & body : tree_.bodies)
  {
    joint_of_body_.push_back(body.nu == 1 ? -1 : joint_count_++);
  }
  // The joints that each constraint passes, and the body above all of them.
  std::vector<int> top;
  Paths paths;
  for (int c = 0; c < set_.size(); ++c)
  {
    int above = 0;
    const std::vector<int> ends = find_ends(c, above);
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
  PlaceOf place_of;
  Paths passing;
  find_places(top, paths, place_of, passing);
  find_runs(passing, place_of);
  find_fill(top, passing, place_of);
}

std::vector<int> TreePattern::find_ends(int c, int & above)
{
  std::vector<int> ends;
  if (const FrameConstraint * frames = set_[c].as_frame_constraint())
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
  return ends;
}

void TreePattern::order_rows(const std::vector<int> & top, const Paths & paths)
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

void TreePattern::find_places(
  const std::vector<int> & top, const Paths & paths, PlaceOf & place_of, Paths & passing)
{
  const int body_count = static_cast<int>(tree_.bodies.size());
  const int row_count = static_cast<int>(row_at_.size());
  passing.resize(idx(body_count));
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
}

void TreePattern::find_runs(const Paths & passing, const PlaceOf & place_of)
{
  const int body_count = static_cast<int>(tree_.bodies.size());
  const int row_count = static_cast<int>(row_at_.size());
  for (int body = 0; body < body_count; ++body)
  {
    run_begin_.push_back(static_cast<int>(runs_.size()));
    for (const int k : passing[idx(body)])
    {
      const bool dense = contains(dense_constraints_, constraint_at_[idx(k)]);
      const Run next{
        constraint_at_[idx(k)],
        place_at(place_of, body, k),
        1,
        k,
        place_at(place_of, tree_.bodies[idx(body)].parent, k),
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
      terms.places_a.push_back(place_at(place_of, terms.body_a, k));
      terms.places_b.push_back(place_at(place_of, terms.body_b, k));
    }
  }
}

void TreePattern::find_fill(
  const std::vector<int> & top, const Paths & passing, const PlaceOf & place_of)
{
  const int row_count = static_cast<int>(row_at_.size());
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
      below_[idx(k)].push_back({*i, place_at(place_of, above, *i)});
      pattern[idx(*i)].insert(std::next(i), later.end());  // fill
    }
  }
}

}  // namespace constrained_dynamics
