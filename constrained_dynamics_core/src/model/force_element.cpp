// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/model/force_element.hpp"

#include <cmath>
#include <stdexcept>

#include "constrained_dynamics/model/spring.hpp"
#include "names.hpp"

namespace constrained_dynamics
{

ForceElement::ForceElement(
  std::string name, std::string type, std::string frame_a, std::string frame_b, int scratch_size)
: name_(std::move(name)),
  type_(std::move(type)),
  frame_a_(std::move(frame_a)),
  frame_b_(std::move(frame_b)),
  scratch_size_(scratch_size)
{
  if (name_.empty())
  {
    throw std::invalid_argument("a force element has no name");
  }
}

ForceElement::~ForceElement() = default;

Status ForceElement::evaluate(
  const RelativeMotion & motion, double * scratch, ElementWrench & wrench,
  ForceElementState & state) const noexcept CD_NONBLOCKING
{
  const Status status = do_evaluate(motion, scratch, wrench, state);
  if (status != Status::kOk)
  {
    return status;
  }
  const bool is_finite = wrench.force.allFinite() && wrench.torque.allFinite() &&
                         std::isfinite(state.effort) && std::isfinite(state.energy);
  return is_finite ? Status::kOk : Status::kNonFiniteResult;
}

std::string force_element_title(const std::string & name) { return "force element '" + name + "'"; }

/// A new type of force element is one line in this list.
const std::vector<ForceElementDescription> & force_element_descriptions()
{
  static const std::vector<ForceElementDescription> all = {
    Spring::description(),
    TorsionSpring::description(),
  };
  return all;
}

const ForceElementDescription & force_element_description(const std::string & type)
{
  const std::vector<ForceElementDescription> & all = force_element_descriptions();
  std::vector<std::string> types;
  for (const ForceElementDescription & description : all)
  {
    types.push_back(description.type);
  }
  return all[static_cast<std::size_t>(index_of_name("type of force element", type, types))];
}

std::shared_ptr<const ForceElement> make_force_element(
  const std::string & type, const std::string & name, KeyValues keys,
  const std::vector<std::pair<std::string, double>> & parameters)
{
  const ForceElementDescription & description = force_element_description(type);
  keys.complete(description.keys);
  return description.make({name, keys, parameters});
}

}  // namespace constrained_dynamics
