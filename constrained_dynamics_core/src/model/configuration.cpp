// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <cmath>

#include "model/robot_model.hpp"

namespace constrained_dynamics
{

void to_model_configuration(
  const std::vector<ConfigurationPart> & parts, const ConstVectorRef & q,
  VectorRef out) noexcept CD_NONBLOCKING
{
  for (const ConfigurationPart & part : parts)
  {
    const Eigen::Index nq = coordinates_of(part.kind);
    if (part.unbounded)
    {
      out(part.model) = std::cos(q(part.own));
      out(part.model + 1) = std::sin(q(part.own));
    }
    else if (is_simple(part.kind))
    {
      out(part.model) = q(part.own);
    }
    else if (part.kind == JointKind::kPlanar)
    {
      const double angle = q(part.own + 2);
      out.segment<4>(part.model) << q(part.own), q(part.own + 1), std::cos(angle), std::sin(angle);
    }
    else
    {
      out.segment(part.model, nq) = q.segment(part.own, nq);
      if (has_quaternion(part.kind))
      {
        out.segment<4>(part.model + nq - 4) /= out.segment<4>(part.model + nq - 4).stableNorm();
      }
    }
  }
}

void from_model_configuration(
  const std::vector<ConfigurationPart> & parts, const ConstVectorRef & configuration,
  VectorRef out) noexcept CD_NONBLOCKING
{
  const ConstVectorRef & x = configuration;
  for (const ConfigurationPart & part : parts)
  {
    const Eigen::Index nq = coordinates_of(part.kind);
    if (part.unbounded)
    {
      out(part.own) = std::atan2(x(part.model + 1), x(part.model));
    }
    else if (part.kind == JointKind::kPlanar)
    {
      out(part.own) = x(part.model);
      out(part.own + 1) = x(part.model + 1);
      out(part.own + 2) = std::atan2(x(part.model + 3), x(part.model + 2));
    }
    else
    {
      out.segment(part.own, nq) = x.segment(part.model, nq);
    }
  }
}

}  // namespace constrained_dynamics
