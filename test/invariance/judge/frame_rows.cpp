// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "frame_rows.hpp"

#include <algorithm>

namespace invariance
{
namespace
{

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// One row in terms of the motion of A in B, in axes of B: φ̇ (or ψ) = c_v · v + c_ω · ω + α.
struct Coefficients
{
  std::string label;
  int level = 0;
  bool rotational = false;
  Real position = 0;  ///< φ
  MovingTriple linear = still(zero3());
  MovingTriple angular = still(zero3());
  Moving drift;  ///< α: what time alone changes
  Real angular_size = 0;
  RealTriple contact = zero3();  ///< from A's origin to the point where the force acts
  Real turning = 1;  ///< how fast the coefficients change, in units of the frames' own motion
};

/// Motion of A in B, and what is needed for rows of it.
class Pair
{
public:
  Pair(const Robots & robots, const std::string & frame_a, const std::string & frame_b)
  : n_(robots.size()), a_(robots.frame(frame_a)), b_(robots.frame(frame_b))
  {
    d_ = a_.position - b_.position;
    position = transposed_times(b_.rotation, d_);
    rotation = transpose(b_.rotation) * a_.rotation;
    velocity = transposed_times(b_.rotation, a_.velocity - b_.velocity - cross(b_.omega, d_));
  }

  MovingTriple position;    ///< p
  MovingRotation rotation;  ///< R
  MovingTriple velocity;    ///< v
  /// |v| and |ω| as they could be.
  Real velocity_size() const
  {
    return a_.velocity_size + b_.velocity_size + b_.omega_size * distance_size();
  }
  Real omega_size() const { return a_.omega_size + b_.omega_size; }

  Row row(const std::string & constraint, const Coefficients & c, const Vector & u) const
  {
    Row out;
    out.name = constraint + "/" + c.label;
    out.constraint = constraint;
    out.level = c.level;
    out.rotational = c.rotational;
    out.position = c.position;
    std::vector<Moving> entries(at(n_));
    out.a.resize(at(n_));
    out.a_size.resize(at(n_));
    const MovingTriple f = b_.rotation * c.linear;
    const MovingTriple g = b_.rotation * c.angular;
    const MovingTriple g_b = g + cross(d_, f);
    const Real f_size = norm(value(f));
    const Real g_size = std::max(c.angular_size, norm(value(g)));
    for (std::size_t k = 0; k < a_.columns.size(); ++k)
    {
      const std::size_t j = at(a_.columns[k]);
      entries[j] = entries[j] + dot(f, a_.linear[k]) + dot(g, a_.angular[k]);
      out.a_size[j] += f_size * a_.linear_size[k] + g_size * a_.angular_size[k];
    }
    for (std::size_t k = 0; k < b_.columns.size(); ++k)
    {
      const std::size_t j = at(b_.columns[k]);
      entries[j] = entries[j] - dot(f, b_.linear[k]) - dot(g_b, b_.angular[k]);
      out.a_size[j] += f_size * (b_.linear_size[k] + norm(value(d_)) * b_.angular_size[k]) +
                       g_size * b_.angular_size[k];
    }
    // λ f at A's origin with the torque λ g, about the point where the force acts.
    const RealTriple arm = value(b_.rotation) * c.contact;
    out.has_wrench = true;
    out.wrench = {
      value(a_.position) + arm, value(f), value(g) - cross(arm, value(f)),
      g_size + norm(arm) * f_size};
    // φ̇ along the motion with constant u: its rate is φ̈ at u̇ = 0.
    Moving speed = c.drift;
    for (int j = 0; j < n_; ++j)
    {
      out.a[at(j)] = entries[at(j)].value;
      speed = speed + entries[at(j)] * Moving(u[at(j)]);
    }
    out.velocity = speed.value;
    out.b = -speed.rate;
    const Real v = velocity_size();
    const Real w = omega_size();
    out.b_size =
      f_size * (a_.acceleration_size + b_.acceleration_size + b_.alpha_size * distance_size() +
                (2 * b_.omega_size + c.turning * w) * v) +
      g_size * (a_.alpha_size + b_.alpha_size + (1 + c.turning) * w * w) + abs(c.drift.rate);
    return out;
  }

private:
  /// Way between the two origins along the bodies.
  Real distance_size() const { return a_.reach + b_.reach; }

  int n_;
  FrameMotion a_;
  FrameMotion b_;
  MovingTriple d_;
};

/// The unit quaternion (η, ε) of a rotation, η ≥ 0.
struct Quaternion
{
  Moving eta;
  MovingTriple epsilon;
};

Quaternion quaternion_of(const MovingRotation & r)
{
  // 4 times the square of each component; the largest one is the one to divide by.
  const Moving one(1);
  const std::array<Moving, 4> four_squares = {
    one + r[0][0] + r[1][1] + r[2][2], one + r[0][0] - r[1][1] - r[2][2],
    one - r[0][0] + r[1][1] - r[2][2], one - r[0][0] - r[1][1] + r[2][2]};
  int largest = 0;
  for (int i = 1; i < 4; ++i)
  {
    if (four_squares[at(i)].value > four_squares[at(largest)].value)
    {
      largest = i;
    }
  }
  const Moving twice = sqrt(four_squares[at(largest)]);  // 2 |component|
  const Moving scale = one / (twice + twice);            // 1 / (4 |component|)
  // r[j][i] is the element in row i of column j.
  const MovingTriple skew = {{r[1][2] - r[2][1], r[2][0] - r[0][2], r[0][1] - r[1][0]}};
  Quaternion out;
  if (largest == 0)
  {
    out.eta = twice / Moving(2);
    out.epsilon = scale * skew;
    return out;
  }
  const int k = largest - 1;
  out.eta = scale * skew[k];
  for (int i = 0; i < 3; ++i)
  {
    out.epsilon[i] = i == k ? twice / Moving(2) : scale * (r[i][k] + r[k][i]);
  }
  if (out.eta.value < 0)
  {
    out.eta = -out.eta;
    out.epsilon = Moving(-1) * out.epsilon;
  }
  return out;
}

void add_coincidence(const YAML::Node & item, const Pair & pair, std::vector<Coefficients> & out)
{
  const std::vector<std::string> names = {"x", "y", "z", "rx", "ry", "rz"};
  const std::vector<std::string> chosen =
    item["rows"] ? item["rows"].as<std::vector<std::string>>() : names;
  std::array<bool, 3> turns = {false, false, false};
  int rotations = 0;
  for (const std::string & label : chosen)
  {
    if (std::find(names.begin(), names.end(), label) == names.end())
    {
      throw std::invalid_argument("row '" + label + "' of a frame_coincidence");
    }
    if (label.size() == 2)
    {
      turns[at(label[1] - 'x')] = true;
      ++rotations;
    }
  }
  for (const std::string & label : chosen)
  {
    Coefficients c;
    c.label = label;
    if (label.size() == 1)
    {
      const int axis = label[0] - 'x';
      c.position = pair.position[axis].value;
      c.linear = still(unit3(axis));
      out.push_back(c);
      continue;
    }
    const int axis = label[1] - 'x';
    const MovingTriple e = still(unit3(axis));
    c.rotational = true;
    c.angular_size = 1;
    if (rotations == 2)
    {
      const int free = !turns[0] ? 0 : !turns[1] ? 1 : 2;
      const MovingTriple e_k = still(unit3(free));
      const MovingTriple a = pair.rotation[free];
      const MovingTriple s = cross(e_k, a);
      const Moving w = Moving(1) + dot(e_k, a);
      if (!(w.value > 0))
      {
        throw Unsupported("axes of a frame_coincidence that are opposite");
      }
      const Moving stretch = sqrt(Moving(2) / w);
      c.position = (s[axis] * stretch).value;
      // φ̇ = ṡ √(2/w) − ½ s √(2/w) ẇ/w with ȧ = ω × a, so that ẇ = −ω · s.
      c.angular = stretch * cross(a, cross(e, e_k)) + (s[axis] * stretch / (w + w)) * s;
    }
    else
    {
      const Quaternion r = quaternion_of(pair.rotation);
      c.position = 2 * r.epsilon[axis].value;
      c.angular = r.eta * e + cross(r.epsilon, e);  // φ̇ = η ω + ω × ε
    }
    out.push_back(c);
  }
}

/// Two directions across n, right-handed with it; the first one nearest to the axis that follows
/// the axis nearest to n.
std::array<RealTriple, 2> across(const RealTriple & n)
{
  int nearest = 0;
  for (int i = 1; i < 3; ++i)
  {
    if (abs(n[i]) > abs(n[nearest]))
    {
      nearest = i;
    }
  }
  const RealTriple axis = unit3((nearest + 1) % 3);
  RealTriple first = axis - dot(axis, n) * n;
  first = Real(1 / norm(first)) * first;
  return {first, cross(n, first)};
}

RealTriple unit(const RealTriple & a) { return Real(1 / norm(a)) * a; }

void add_rolling(
  const YAML::Node & item, const Document & document, const Pair & pair,
  std::vector<Coefficients> & out)
{
  const RealTriple normal = unit(document.triple(item, "normal", unit3(2)));
  const MovingTriple n = still(normal);
  MovingTriple rho;
  std::array<MovingTriple, 2> directions;
  Moving height;
  Real turning = 1;
  if (item["axis"])
  {
    const Moving r(document.number(item["radius"]));
    const MovingTriple k = pair.rotation * still(unit(document.triple(item["axis"])));
    const MovingTriple side = cross(k, n);
    const Moving sigma = norm(side);
    if (!(sigma.value > Real("1e-8")))
    {
      throw Unsupported("a rolling disk that lies flat");
    }
    const MovingTriple heading = (Moving(1) / sigma) * side;
    rho = (-r) * cross(heading, k);
    directions = {heading, cross(n, heading)};
    height = dot(n, pair.position) - r * sigma;
    turning = 1 / sigma.value;
  }
  else if (item["semi_axes"])
  {
    const RealTriple s = document.triple(item["semi_axes"]);
    const MovingTriple mu = Moving(-1) * transposed_times(pair.rotation, n);
    MovingTriple stretched;
    MovingTriple twice;
    for (int i = 0; i < 3; ++i)
    {
      stretched[i] = Moving(s[i]) * mu[i];
      twice[i] = Moving(s[i]) * stretched[i];
    }
    const Moving epsilon = norm(stretched);
    rho = pair.rotation * ((Moving(1) / epsilon) * twice);
    height = dot(n, pair.position) - epsilon;
    const std::array<RealTriple, 2> fixed = across(normal);
    directions = {still(fixed[0]), still(fixed[1])};
    const Real largest = std::max({s[0], s[1], s[2]});
    turning = 1 + largest * largest / (epsilon.value * epsilon.value);
  }
  else
  {
    const Moving r(document.number(item["radius"]));
    rho = (-r) * n;
    height = dot(n, pair.position) - r;
    const std::array<RealTriple, 2> fixed = across(normal);
    directions = {still(fixed[0]), still(fixed[1])};
  }
  const auto add = [&](const char * label, int level, const MovingTriple & e)
  {
    Coefficients c;
    c.label = label;
    c.level = level;
    c.linear = e;
    c.angular = cross(rho, e);
    c.angular_size = norm(value(rho));
    c.contact = value(rho);
    c.turning = turning;
    if (level == 0)
    {
      c.position = height.value;
    }
    out.push_back(c);
  };
  if (document.truth(item, "keep_contact", true))
  {
    add("normal", 0, n);
  }
  add("along", 1, directions[0]);
  add("lateral", 1, directions[1]);
}

void add_prescribed(
  const YAML::Node & item, const Document & document, const Pair & pair, const Real & time,
  std::vector<Coefficients> & out)
{
  for (const auto & entry : item["motion"])
  {
    Coefficients c;
    c.label = entry.first.as<std::string>();
    const int axis = c.label[0] - 'x';
    const Jet f = evaluate(
      parse_formula(entry.second.as<std::string>()), document.names, {"t"}, {{time, abs(time)}});
    c.linear = still(unit3(axis));
    c.position = pair.position[axis].value - f.value;
    c.drift = Moving(-f.gradient[0], -f.hessian(0, 0));
    out.push_back(c);
  }
}

}  // namespace

bool add_frame_rows(
  const YAML::Node & item, const std::string & name, const std::string & type,
  const Document & document, const Robots & robots, const Real & time, std::vector<Row> & rows)
{
  const std::vector<std::string> types = {"frame_coincidence", "point_on_plane", "point_on_line",
                                          "distance",          "knife_edge",     "rolling",
                                          "prescribed_motion"};
  if (std::find(types.begin(), types.end(), type) == types.end() || !item["frame_a"])
  {
    return false;
  }
  const Pair pair(robots, item["frame_a"].as<std::string>(), text_of(item, "frame_b", "world"));
  std::vector<Coefficients> made;
  const auto require = [&](std::vector<std::string> keys)
  {
    keys.insert(keys.end(), {"name", "type", "active", "frame_a", "frame_b"});
    require_known(item, type, keys);
  };
  Coefficients c;
  if (type == "frame_coincidence")
  {
    require({"rows"});
    add_coincidence(item, pair, made);
  }
  else if (type == "point_on_plane")
  {
    require({"normal", "offset"});
    const RealTriple n = unit(document.triple(item["normal"]));
    c.label = "normal";
    c.linear = still(n);
    c.position = dot(n, value(pair.position)) - document.number(item, "offset", 0);
    made.push_back(c);
  }
  else if (type == "point_on_line")
  {
    require({"direction"});
    const std::array<RealTriple, 2> normals = across(unit(document.triple(item["direction"])));
    for (int i = 0; i < 2; ++i)
    {
      c.label = i == 0 ? "normal_1" : "normal_2";
      c.linear = still(normals[at(i)]);
      c.position = dot(normals[at(i)], value(pair.position));
      made.push_back(c);
    }
  }
  else if (type == "distance")
  {
    require({"length"});
    const Real length = document.number(item["length"]);
    const Moving now = norm(pair.position);
    if (!(now.value > length * Real("1e-12")))
    {
      throw Unsupported("a distance between points that coincide");
    }
    c.label = "distance";
    c.linear = (Moving(1) / now) * pair.position;
    c.position = now.value - length;
    // ė is as large as v/ℓ, which may exceed ω.
    const Real w = pair.omega_size();
    c.turning = w > 0 ? Real(1 + pair.velocity_size() / (w * now.value)) : Real(1);
    made.push_back(c);
  }
  else if (type == "knife_edge")
  {
    require({"axis"});
    c.label = "lateral";
    c.level = 1;
    c.linear = pair.rotation * still(unit(document.triple(item["axis"])));
    made.push_back(c);
  }
  else if (type == "rolling")
  {
    require({"radius", "normal", "axis", "semi_axes", "keep_contact"});
    add_rolling(item, document, pair, made);
  }
  else
  {
    require({"motion"});
    add_prescribed(item, document, pair, time, made);
  }
  for (const Coefficients & coefficients : made)
  {
    rows.push_back(pair.row(name, coefficients, robots.speed_values()));
  }
  return true;
}

}  // namespace invariance
