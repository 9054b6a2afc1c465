// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tinyxml2.h>

#include "model/robot_xml.hpp"
#include "model/xml_reader.hpp"

namespace constrained_dynamics
{
namespace
{

using tinyxml2::XMLElement;

constexpr double kPi = 3.14159265358979323846;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Versions of the format, 1.kOldest to 1.kNewest, and the one with frames and `relative_to`.
constexpr int kOldest = 4;
constexpr int kNewest = 12;
constexpr int kFrameSemantics = 7;
/// SDF before 1.9 writes limits of this size where there is none.
constexpr double kNoLimit = 1e16;
/// As many names as a message lists.
constexpr std::size_t kListed = 10;
/// More `<frame>` elements than any robot has, few enough for untrusted documents.
constexpr int kMaxFrames = 1000;

const std::string kModel = "__model__";

/// A pose as the document states it: in a frame of that name; empty: the default of its owner.
struct StatedPose
{
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  std::string relative_to;
};

/// A link, joint or frame: whatever has a name and a pose in the model.
struct Entity
{
  std::string label;  ///< "link 'arm'", for messages
  std::string name;
  std::string reference;                                ///< its pose is in this frame
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();  ///< in the reference
  std::string attached;  ///< moves with this one; empty: it is a link
  bool visited = false;
  bool resolved = false;
  Eigen::Isometry3d X_M = Eigen::Isometry3d::Identity();  ///< in the model, all joints at 0
};

struct SdfJoint
{
  const XMLElement * element = nullptr;
  std::string type;
  std::string parent;  ///< as stated; then the link that it is attached to, or "world"
  std::string child;   ///< as stated; then the link that it is attached to
  TreeNode node;       ///< without link and parent
  Eigen::Isometry3d X_JL = Eigen::Isometry3d::Identity();  ///< the child link in the joint frame
};

/// The one model of an SDF document.
class SdfReader
{
public:
  SdfReader(const std::string & who, const SizeLimits & limits) : xml_(who), limits_(limits) {}

  RobotTree read(const std::string & text)
  {
    tinyxml2::XMLDocument document;
    const XMLElement & root = xml_.parse(text, document);
    if (std::string(root.Name()) != "sdf")
    {
      xml_.fail(std::string("the root element is <") + root.Name() + ">; SDF needs <sdf>");
    }
    read_version(root);
    const XMLElement & model = the_model(root);
    xml_.name(model, "name", "model");
    refuse_parts(model);
    count(model, "link", limits_.links);
    count(model, "joint", limits_.links);
    count(model, "frame", kMaxFrames);
    read_links(model);
    for_each(model, "frame", [this](const XMLElement & e) { read_frame(e); });
    for_each(model, "joint", [this](const XMLElement & e) { read_joint(e); });
    read_model(model);
    for (Entity & entity : entities_)
    {
      pose_in_model(entity);
    }
    for (auto & [name, joint] : joints_)
    {
      resolve_joint(joint);
    }
    check_mimics();
    build_tree();
    add_frames();
    return std::move(tree_);
  }

private:
  template <typename Function>
  static void for_each(const XMLElement & parent, const char * name, Function function)
  {
    for (const XMLElement * e = parent.FirstChildElement(name); e; e = e->NextSiblingElement(name))
    {
      function(*e);
    }
  }

  static std::string list(const std::vector<std::string> & names)
  {
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kListed); ++i)
    {
      text += (i > 0 ? ", '" : "'") + names[i] + "'";
    }
    return text + (names.size() > kListed ? ", …" : "");
  }

  // ---- the document ---------------------------------------------------------------------------

  void read_version(const XMLElement & root)
  {
    const std::string version = xml_.name(root, "version", "the document");
    for (int minor = kOldest; minor <= kNewest; ++minor)
    {
      if (version == "1." + std::to_string(minor))
      {
        minor_ = minor;
        return;
      }
    }
    xml_.fail(
      "the version of SDF is '" + version + "'; allowed are 1." + std::to_string(kOldest) +
      " to 1." + std::to_string(kNewest));
  }

  const XMLElement & the_model(const XMLElement & root)
  {
    std::vector<const XMLElement *> models;
    std::vector<std::string> includes;
    const auto collect = [&](const XMLElement & parent)
    {
      for_each(parent, "model", [&](const XMLElement & e) { models.push_back(&e); });
      for_each(
        parent, "include",
        [&](const XMLElement & e)
        {
          const XMLElement * uri = xml_.child(e, "uri", "<include>");
          includes.push_back(uri ? xml_.content(*uri, "<include>") : "");
        });
    };
    collect(root);
    for_each(
      root, "world",
      [&](const XMLElement & world)
      {
        collect(world);
        read_world(world);
      });
    if (models.empty())
    {
      xml_.fail(
        includes.empty() ? "there is no <model>; one is needed"
                         : "there is no <model>, and <include> is not followed: " + list(includes) +
                             "; give the document of the model itself");
    }
    if (models.size() > 1)
    {
      std::vector<std::string> names;
      for (const XMLElement * model : models)
      {
        names.push_back(xml_.text(*model, "name").value_or(""));
      }
      xml_.fail(
        "there are " + std::to_string(models.size()) + " models, " + list(names) +
        "; one is allowed, give each a document of its own");
    }
    if (!includes.empty())
    {
      tree_.warnings.push_back("<include> beside the model is not read: " + list(includes));
    }
    return *models.front();
  }

  void read_world(const XMLElement & world)
  {
    if (const XMLElement * joint = world.FirstChildElement("joint"))
    {
      xml_.fail(
        "joint '" + xml_.text(*joint, "name").value_or("") +
        "' belongs to the <world>; joints are allowed in the <model>");
    }
    const XMLElement * gravity = xml_.child(world, "gravity", "<world>");
    // SDF's own value is 9.8.
    if (gravity && !vector3(*gravity, "<world>").isApprox(Eigen::Vector3d(0, 0, -9.81), 2e-3))
    {
      tree_.warnings.push_back("<gravity> of the world is not read; the scene's gravity holds");
    }
  }

  void refuse_parts(const XMLElement & model) const
  {
    if (const XMLElement * nested = model.FirstChildElement("model"))
    {
      xml_.fail(
        "model '" + xml_.text(*nested, "name").value_or("") + "' is nested in model '" +
        xml_.text(model, "name").value_or("") +
        "', which is not supported; put its links and joints into the outer one");
    }
    if (const XMLElement * include = model.FirstChildElement("include"))
    {
      const XMLElement * uri = xml_.child(*include, "uri", "<include>");
      xml_.fail(
        "<include> of '" + (uri ? xml_.content(*uri, "<include>") : "") +
        "' is not followed; put its links and joints into the model");
    }
  }

  void count(const XMLElement & model, const char * what, int allowed) const
  {
    int total = 0;
    for_each(model, what, [&total](const XMLElement &) { ++total; });
    if (total > allowed)
    {
      xml_.fail(
        "there are " + std::to_string(total) + " " + what + "s; at most " +
        std::to_string(allowed) + " are allowed");
    }
  }

  // ---- values ---------------------------------------------------------------------------------

  Eigen::Vector3d vector3(const XMLElement & element, const std::string & where) const
  {
    const std::vector<double> x = xml_.content_numbers(element, where);
    if (x.size() != 3)
    {
      xml_.fail(
        where + ": <" + element.Name() + "> has " + std::to_string(x.size()) +
        " numbers; three are needed");
    }
    return Eigen::Vector3d(x[0], x[1], x[2]);
  }

  double number(
    const XMLElement & parent, const char * name, const std::string & where, double fallback) const
  {
    const XMLElement * element = xml_.child(parent, name, where);
    return element ? xml_.content_number(*element, where) : fallback;
  }

  bool truth(const std::string & value, const std::string & what) const
  {
    static const std::set<std::string> yes = {"true", "True", "TRUE", "1"};
    static const std::set<std::string> no = {"false", "False", "FALSE", "0"};
    if (yes.count(value) == 0 && no.count(value) == 0)
    {
      xml_.fail(what + " is '" + value + "'; allowed are true, false, 1 and 0");
    }
    return yes.count(value) > 0;
  }

  bool truth_of_child(
    const XMLElement & parent, const char * name, const std::string & where, bool fallback) const
  {
    const XMLElement * element = xml_.child(parent, name, where);
    return element ? truth(xml_.content(*element, where), where + ": <" + name + ">") : fallback;
  }

  Eigen::Matrix3d quaternion(const std::vector<double> & x, const std::string & where) const
  {
    const Eigen::Vector4d xyzw(x[3], x[4], x[5], x[6]);
    const double length = xyzw.stableNorm();
    if (!(length > 1e-9) || !std::isfinite(length))
    {
      xml_.fail(
        where + ": the length of the quaternion in <pose> is " + show(length) +
        "; it must be above 0");
    }
    return Eigen::Quaterniond(Eigen::Vector4d(xyzw / length)).toRotationMatrix();
  }

  StatedPose read_pose(const XMLElement & owner, const std::string & where) const
  {
    StatedPose pose;
    const XMLElement * element = xml_.child(owner, "pose", where);
    if (element == nullptr)
    {
      return pose;
    }
    pose.relative_to = xml_.text(*element, "relative_to").value_or("");
    const std::string frame = xml_.text(*element, "frame").value_or("");  // its name before 1.7
    if (!frame.empty() && (minor_ >= kFrameSemantics || !pose.relative_to.empty()))
    {
      xml_.fail(
        where + ": <pose> has the attribute frame=\"" + frame + "\"; allowed is relative_to");
    }
    pose.relative_to += frame;
    const std::string format = xml_.text(*element, "rotation_format").value_or("euler_rpy");
    const bool degrees =
      truth(xml_.text(*element, "degrees").value_or("false"), where + ": degrees of <pose>");
    if (format != "euler_rpy" && (format != "quat_xyzw" || degrees))
    {
      xml_.fail(
        where + ": rotation_format of <pose> is '" + format + "'" +
        (degrees ? " with degrees" : "") +
        "; allowed are euler_rpy and, without degrees, quat_xyzw");
    }
    const std::vector<double> x = xml_.content_numbers(*element, where);
    const std::size_t needed = format == "euler_rpy" ? 6 : 7;
    if (x.empty())
    {
      return pose;
    }
    if (x.size() != needed)
    {
      xml_.fail(
        where + ": <pose> has " + std::to_string(x.size()) + " numbers; " + std::to_string(needed) +
        " are needed");
    }
    const double unit = degrees ? kPi / 180.0 : 1.0;
    Pose plain;
    plain.xyz << x[0], x[1], x[2];
    plain.rpy << x[3] * unit, x[4] * unit, x[5] * unit;
    pose.X = isometry(plain);
    if (needed == 7)
    {
      pose.X.linear() = quaternion(x, where);
    }
    return pose;
  }

  // ---- links, frames and joints ---------------------------------------------------------------

  /// Checks and remembers a name. From 1.7 on, all parts of a model share their names.
  void add_entity(std::map<std::string, std::size_t> & kind, Entity entity)
  {
    const std::string & name = entity.name;
    if (
      name == "world" || (name.size() >= 4 && name.compare(0, 2, "__") == 0 &&
                          name.compare(name.size() - 2, 2, "__") == 0))
    {
      xml_.fail(entity.label + ": SDF reserves this name");
    }
    for (const auto * other : {&links_, &frames_, &joint_entities_})
    {
      const auto found = other->find(name);
      if (found == other->end() || (other != &kind && minor_ < kFrameSemantics))
      {
        continue;
      }
      xml_.fail(
        other == &kind ? entity.label + " is defined twice"
                       : entity.label + " has the same name as " + entities_[found->second].label +
                           "; names of links, joints and frames must differ");
    }
    kind.emplace(name, entities_.size());
    entities_.push_back(std::move(entity));
  }

  void read_links(const XMLElement & model)
  {
    for_each(model, "link", [this](const XMLElement & e) { read_link(e); });
    if (links_.empty())
    {
      xml_.fail("there is no <link>; at least one is needed");
    }
    canonical_ = xml_.text(model, "canonical_link").value_or("");
    canonical_ = canonical_.empty() ? entities_.front().name : canonical_;
    if (links_.count(canonical_) == 0)
    {
      xml_.fail("canonical_link is '" + canonical_ + "', which is no link of the model");
    }
  }

  void read_link(const XMLElement & element)
  {
    Entity entity;
    entity.name = xml_.name(element, "name", "link");
    const std::string where = "link '" + entity.name + "'";
    const StatedPose pose = read_pose(element, where);
    entity.label = where;
    entity.X = pose.X;
    entity.reference = pose.relative_to.empty() ? kModel : pose.relative_to;
    masses_.emplace(entity.name, read_inertial(element, where));
    add_entity(links_, std::move(entity));
    if (!truth_of_child(element, "gravity", where, true))
    {
      tree_.warnings.push_back(where + " states that gravity does not act on it; here it does");
    }
    if (truth_of_child(element, "kinematic", where, false))
    {
      tree_.warnings.push_back(where + " states that it is kinematic, which is not applied");
    }
  }

  MassProperties read_inertial(const XMLElement & link, const std::string & where)
  {
    const XMLElement * inertial = xml_.child(link, "inertial", where);
    const XMLElement * inertia = inertial ? xml_.child(*inertial, "inertia", where) : nullptr;
    const XMLElement * mass_element = inertial ? xml_.child(*inertial, "mass", where) : nullptr;
    if (
      inertial &&
      truth(xml_.text(*inertial, "auto").value_or("false"), where + ": auto of <inertial>"))
    {
      xml_.fail(
        where +
        ": <inertial auto=\"true\"> asks for the inertia of its collision shapes, which "
        "is not computed; give <mass> and <inertia>");
    }
    MassProperties mass;
    mass.mass = xml_.not_negative(
      mass_element ? xml_.content_number(*mass_element, where) : 1.0, where + ": the mass");
    Eigen::Matrix3d I = Eigen::Matrix3d::Identity();
    static const std::vector<std::pair<const char *, std::pair<int, int>>> entries = {
      {"ixx", {0, 0}}, {"iyy", {1, 1}}, {"izz", {2, 2}},
      {"ixy", {0, 1}}, {"ixz", {0, 2}}, {"iyz", {1, 2}}};
    bool complete = mass_element && inertia;
    for (const auto & [name, place] : entries)
    {
      const auto [row, column] = place;
      // Products that are not stated are 0 and nothing to speak of.
      complete = complete && (row != column || inertia->FirstChildElement(name));
      I(row, column) = inertia ? number(*inertia, name, where, I(row, column)) : I(row, column);
      I(column, row) = I(row, column);
    }
    if (!complete)
    {
      tree_.warnings.push_back(
        where +
        (inertial ? " does not state all of its mass and moments of inertia"
                  : " states no <inertial>") +
        "; SDF's values are taken for what is missing: 1 kg, 1 kg m²");
    }
    const StatedPose pose = inertial ? read_pose(*inertial, where) : StatedPose();
    if (!pose.relative_to.empty())
    {
      xml_.fail(
        where + ": <pose> of <inertial> is relative to '" + pose.relative_to +
        "'; only the link itself is allowed");
    }
    if (inertial && inertial->FirstChildElement("fluid_added_mass"))
    {
      tree_.warnings.push_back(where + " states <fluid_added_mass>, which is not applied");
    }
    mass.com = pose.X.translation();
    mass.inertia = pose.X.linear() * I * pose.X.linear().transpose();
    return mass;
  }

  void read_frame(const XMLElement & element)
  {
    Entity entity;
    entity.name = xml_.name(element, "name", "frame");
    entity.label = "frame '" + entity.name + "'";
    const StatedPose pose = read_pose(element, entity.label);
    entity.X = pose.X;
    entity.attached = xml_.text(element, "attached_to").value_or("");
    entity.attached = entity.attached.empty() ? kModel : entity.attached;
    entity.reference = pose.relative_to.empty() ? entity.attached : pose.relative_to;
    frame_order_.push_back(entity.name);
    add_entity(frames_, std::move(entity));
  }

  JointKind kind_of(const std::string & type, const std::string & where) const
  {
    static const std::map<std::string, JointKind> kinds = {
      {"revolute", JointKind::kRevolute},
      {"continuous", JointKind::kRevolute},
      {"prismatic", JointKind::kPrismatic},
      {"fixed", JointKind::kFixed},
      {"ball", JointKind::kBall}};
    const auto found = kinds.find(type);
    if (found == kinds.end())
    {
      xml_.fail(
        where + ": its type is '" + type +
        "'; allowed are revolute, continuous, prismatic, fixed and ball");
    }
    return found->second;
  }

  std::string read_end(const XMLElement & joint, const char * end, const std::string & where) const
  {
    const XMLElement * element = xml_.child(joint, end, where);
    const std::string name = element ? xml_.content(*element, where) : "";
    if (name.empty())
    {
      xml_.fail(where + " needs <" + end + ">, the name of a link or frame");
    }
    return name;
  }

  void read_joint(const XMLElement & element)
  {
    SdfJoint joint;
    Entity entity;
    joint.element = &element;
    joint.node.joint = entity.name = xml_.name(element, "name", "joint");
    const std::string where = entity.label = "joint '" + entity.name + "'";
    joint.type = xml_.name(element, "type", where);
    joint.node.kind = kind_of(joint.type, where);
    joint.parent = read_end(element, "parent", where);
    joint.child = read_end(element, "child", where);
    if (joint.child == "world")
    {
      xml_.fail(where + ": its child is 'world', which only a parent may be; exchange the two");
    }
    const StatedPose pose = read_pose(element, where);
    entity.X = pose.X;
    entity.reference = pose.relative_to.empty() ? joint.child : pose.relative_to;
    entity.attached = joint.child;
    add_entity(joint_entities_, std::move(entity));
    joints_.emplace(joint.node.joint, std::move(joint));
  }

  void read_model(const XMLElement & model)
  {
    const StatedPose pose = read_pose(model, "the model");
    if (!pose.relative_to.empty() && pose.relative_to != "world")
    {
      xml_.fail(
        "<pose> of the model is relative to '" + pose.relative_to + "'; only 'world' is allowed");
    }
    tree_.placement = pose.X;
    const std::string placed = xml_.text(model, "placement_frame").value_or("");
    if (!placed.empty())
    {
      tree_.placement = pose.X * pose_in_model(placed, "placement_frame of the model").inverse();
    }
    static_ = truth_of_child(model, "static", "the model", false);
    if (static_)
    {
      tree_.grounded = "the model is <static>";
      tree_.warnings.push_back("the model is <static>: all of its joints are fixed");
    }
  }

  // ---- where things are -----------------------------------------------------------------------

  /// The link, frame or joint of that name. Before 1.7 they may share a name: links come first.
  Entity & find_entity(const std::string & name, const std::string & where)
  {
    for (const auto * kind : {&links_, &frames_, &joint_entities_})
    {
      const auto found = kind->find(name);
      if (found != kind->end())
      {
        return entities_[found->second];
      }
    }
    xml_.fail(
      where + ": '" + name + "' is not defined; allowed are links, joints and frames of the model" +
      (name.find("::") != std::string::npos ? " (nested models are not supported)" : "") + " and " +
      kModel);
  }

  /// The pose of a named thing in the model at zero joint positions. Chains of references may be as
  /// long as the document: no recursion.
  Eigen::Isometry3d pose_in_model(const std::string & name, const std::string & where)
  {
    if (name == kModel)
    {
      return Eigen::Isometry3d::Identity();
    }
    return pose_in_model(find_entity(name, where));
  }

  Eigen::Isometry3d pose_in_model(Entity & first)
  {
    std::vector<Entity *> chain;
    Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
    for (Entity * next = &first; next != nullptr;)
    {
      if (next->resolved)
      {
        X = next->X_M;
        break;
      }
      if (next->visited)
      {
        xml_.fail(
          next->label + ": its <pose> refers, by way of '" + next->reference +
          "', to itself; a chain of relative_to must end at the model");
      }
      next->visited = true;
      chain.push_back(next);
      next = next->reference == kModel ? nullptr : &find_entity(next->reference, next->label);
    }
    for (auto link = chain.rbegin(); link != chain.rend(); ++link)
    {
      X = finite(X * (*link)->X, (*link)->label);
      (*link)->X_M = X;
      (*link)->resolved = true;
    }
    return X;
  }

  /// `b` in `a` at zero joint positions; without rounding where the document states it directly.
  Eigen::Isometry3d relative_pose(Entity & a, Entity & b)
  {
    const Eigen::Isometry3d X_Ma = pose_in_model(a);
    const Eigen::Isometry3d X_Mb = pose_in_model(b);
    if (&entity_or(b.reference, b) == &a)
    {
      return b.X;
    }
    if (&entity_or(a.reference, a) == &b)
    {
      return a.X.inverse();
    }
    return finite(X_Ma.inverse() * X_Mb, b.label);
  }

  /// Finite numbers may overflow when poses are multiplied.
  Eigen::Isometry3d finite(const Eigen::Isometry3d & X, const std::string & where) const
  {
    if (!X.matrix().allFinite())
    {
      xml_.fail(where + ": its <pose> in the model is not finite");
    }
    return X;
  }

  Entity & entity_or(const std::string & name, Entity & fallback)
  {
    return name == kModel ? fallback : find_entity(name, fallback.label);
  }

  /// The link that a named thing moves with.
  std::string link_of(const std::string & name, const std::string & where)
  {
    std::string at = name;
    for (std::size_t step = 0; step <= entities_.size(); ++step)
    {
      if (at == kModel)
      {
        return canonical_;
      }
      const Entity & found = find_entity(at, where);
      if (found.attached.empty())
      {
        return found.name;
      }
      at = found.attached;
    }
    xml_.fail(
      where + ": '" + name + "' is attached, by way of others, to itself; it must be to a link");
  }

  Entity & link_entity(const std::string & name) { return entities_[links_.at(name)]; }

  // ---- joints, once the poses are known -------------------------------------------------------

  void resolve_joint(SdfJoint & joint)
  {
    TreeNode & node = joint.node;
    const std::string where = "joint '" + node.joint + "'";
    Entity & frame = entities_[joint_entities_.at(node.joint)];
    joint.child = link_of(joint.child, where);
    Entity & child = link_entity(joint.child);
    const auto holder = holders_.emplace(joint.child, node.joint);
    if (!holder.second)
    {
      xml_.fail(
        "link '" + joint.child + "' is the child of joints '" + holder.first->second + "' and '" +
        node.joint +
        "'; a link has one parent here: keep one of the joints and close the loop by a constraint");
    }
    const bool in_world = joint.parent == "world";
    joint.parent = in_world ? joint.parent : link_of(joint.parent, where);
    if (joint.parent == joint.child)
    {
      xml_.fail(where + ": its parent and its child are the same link '" + joint.child + "'");
    }
    if (in_world && tree_.grounded.empty())
    {
      tree_.grounded = where + " holds link '" + joint.child + "' to the world";
    }
    read_axis(*joint.element, where, joint.type, frame, node);
    if (static_)
    {
      node.kind = JointKind::kFixed;
    }
    Entity & moved = node.kind == JointKind::kFixed ? child : frame;
    node.placement =
      in_world ? pose_in_model(moved) : relative_pose(link_entity(joint.parent), moved);
    joint.X_JL = node.kind == JointKind::kFixed ? joint.X_JL : relative_pose(frame, child);
  }

  void read_axis(
    const XMLElement & element, const std::string & where, const std::string & type, Entity & frame,
    TreeNode & node)
  {
    const XMLElement * axis = xml_.child(element, "axis", where);
    if (!is_simple(node.kind))
    {
      JointProperties unused;
      if (axis && read_dynamics(*axis, where, unused) && node.kind == JointKind::kBall)
      {
        tree_.warnings.push_back(
          where + " states <dynamics> of an axis, which a ball joint has not; not applied");
      }
      return;
    }
    if (axis == nullptr)
    {
      xml_.fail(where + " needs <axis> because it is " + type);
    }
    if (element.FirstChildElement("axis2"))
    {
      tree_.warnings.push_back(where + " has one axis; <axis2> is not read");
    }
    node.axis = read_direction(*axis, where, frame);
    read_limits(*axis, where, type, node.properties.limits);
    read_dynamics(*axis, where, node.properties);
    read_mimic(*axis, where, node);
  }

  /// The unit vector of an axis in the joint frame.
  Eigen::Vector3d read_direction(const XMLElement & axis, const std::string & where, Entity & frame)
  {
    const XMLElement * xyz = xml_.child(axis, "xyz", where);
    if (xyz == nullptr)
    {
      tree_.warnings.push_back(where + " states no <xyz> of its axis; SDF's is taken: 0 0 1");
    }
    const Eigen::Vector3d value =
      xml_.unit(xyz ? vector3(*xyz, where) : Eigen::Vector3d(Eigen::Vector3d::UnitZ()), where);
    std::string expressed_in = xyz ? xml_.text(*xyz, "expressed_in").value_or("") : "";
    // In 1.4 axes are always in the model's frame; in 1.5 and 1.6 the flag says so.
    const XMLElement * flag = axis.FirstChildElement("use_parent_model_frame");
    const bool in_model = truth_of_child(axis, "use_parent_model_frame", where, minor_ == kOldest);
    if (flag && (minor_ >= kFrameSemantics || !expressed_in.empty()))
    {
      xml_.fail(
        where +
        ": <use_parent_model_frame> is allowed before 1.7 and without expressed_in; "
        "write <xyz expressed_in=\"__model__\">");
    }
    if (expressed_in.empty() && in_model)
    {
      expressed_in = kModel;
    }
    if (expressed_in.empty() || expressed_in == frame.name)
    {
      return value;
    }
    const Eigen::Matrix3d R_ME = pose_in_model(expressed_in, where).linear();
    const Eigen::Matrix3d R_MJ = pose_in_model(frame).linear();
    return xml_.unit(R_MJ.transpose() * (R_ME * value), where);
  }

  /// A limit: infinite as a word, by its size, or where it is not stated.
  double read_limit(
    const XMLElement & limit, const char * name, const std::string & where, double fallback) const
  {
    static const std::set<std::string> words = {"inf", "+inf", "-inf"};
    const XMLElement * element = xml_.child(limit, name, where);
    if (element == nullptr)
    {
      return fallback;
    }
    const std::string text = xml_.content(*element, where);
    const double value = words.count(text) > 0 ? (text[0] == '-' ? -kInfinity : kInfinity)
                                               : xml_.content_number(*element, where);
    return std::abs(value) >= kNoLimit ? std::copysign(kInfinity, value) : value;
  }

  void read_limits(
    const XMLElement & axis, const std::string & where, const std::string & type,
    RigidBodySystem::Limits & limits) const
  {
    const XMLElement * limit = xml_.child(axis, "limit", where);
    if (limit == nullptr)
    {
      return;
    }
    const double lower = read_limit(*limit, "lower", where, -kInfinity);
    const double upper = read_limit(*limit, "upper", where, kInfinity);
    if (!(lower <= upper) || !(lower < kInfinity) || !(upper > -kInfinity))
    {
      xml_.fail(
        where + ": its lower limit " + show(lower) + " is above its upper limit " + show(upper) +
        ", or they leave nothing between them");
    }
    if (type != "continuous")
    {
      limits.lower = lower;
      limits.upper = upper;
    }
    // A negative value means none.
    const double velocity = read_limit(*limit, "velocity", where, kInfinity);
    const double effort = read_limit(*limit, "effort", where, kInfinity);
    limits.velocity = velocity >= 0.0 ? velocity : kInfinity;
    limits.effort = effort >= 0.0 ? effort : kInfinity;
  }

  /// @return whether anything but 0 is stated.
  bool read_dynamics(
    const XMLElement & axis, const std::string & where, JointProperties & properties)
  {
    const XMLElement * dynamics = xml_.child(axis, "dynamics", where);
    if (dynamics == nullptr)
    {
      return false;
    }
    const auto value = [&](const char * name, const std::string & what)
    { return xml_.not_negative(number(*dynamics, name, where, 0.0), where + ": its " + what); };
    properties.damping = value("damping", "damping");
    properties.stiffness = value("spring_stiffness", "spring stiffness");
    properties.rest = number(*dynamics, "spring_reference", where, 0.0);
    const double friction = value("friction", "friction");
    properties.friction = friction;
    if (friction > 0.0)
    {
      tree_.warnings.push_back(
        where + " states a dry friction of " + show(friction) + ", which is not applied");
    }
    return properties.damping > 0.0 || properties.stiffness > 0.0 || friction > 0.0;
  }

  /// q = multiplier · (source − reference) + offset
  void read_mimic(const XMLElement & axis, const std::string & where, TreeNode & node)
  {
    const XMLElement * mimic = xml_.child(axis, "mimic", where);
    if (mimic == nullptr || static_)
    {
      return;
    }
    const std::string source = xml_.name(*mimic, "joint", where);
    if (const std::string of = xml_.text(*mimic, "axis").value_or("axis"); of != "axis")
    {
      xml_.fail(where + ": it mimics '" + of + "' of '" + source + "'; only 'axis' is allowed");
    }
    const XMLElement * multiplier = xml_.child(*mimic, "multiplier", where);
    if (multiplier == nullptr)
    {
      xml_.fail(where + ": <mimic> needs <multiplier>, a number");
    }
    const double factor = xml_.content_number(*multiplier, where);
    const double offset =
      number(*mimic, "offset", where, 0.0) - factor * number(*mimic, "reference", where, 0.0);
    if (!std::isfinite(offset))
    {
      xml_.fail(where + ": multiplier · reference of <mimic> is not finite");
    }
    node.properties.mimics = true;
    tree_.mimics.push_back({node.joint, source, factor, offset});
  }

  void check_mimics() const
  {
    for (const RigidBodySystem::Mimic & mimic : tree_.mimics)
    {
      const auto source = joints_.find(mimic.source);
      if (
        source == joints_.end() || mimic.source == mimic.joint ||
        !is_simple(source->second.node.kind))
      {
        xml_.fail(
          "joint '" + mimic.joint + "': it mimics '" + mimic.source +
          "'; it must be another joint of one degree of freedom");
      }
    }
  }

  // ---- the tree -------------------------------------------------------------------------------

  /// The link that no joint holds; none if joints hold the model to the world.
  std::optional<std::string> free_root(bool world_is_parent) const
  {
    std::vector<std::string> roots;
    for (const auto & [name, index] : links_)
    {
      if (holders_.count(name) == 0)
      {
        roots.push_back(name);
      }
    }
    if (world_is_parent && !roots.empty())
    {
      xml_.fail(
        "link '" + roots[0] +
        "' is no joint's child, while another link is held to the world; one root is allowed");
    }
    if (!world_is_parent && roots.empty())
    {
      xml_.fail("every link is the child of a joint: the joints form a loop, and there is no root");
    }
    if (roots.size() > 1)
    {
      xml_.fail(
        "links '" + roots[0] + "' and '" + roots[1] +
        "' are no joint's child; one root is allowed");
    }
    return roots.empty() ? std::nullopt : std::optional<std::string>(roots[0]);
  }

  /// Depth first; siblings in the order of their joints' names, as with URDF.
  void build_tree()
  {
    struct Open
    {
      const SdfJoint * joint;
      int parent;
      int depth;
    };
    std::map<std::string, std::vector<const SdfJoint *>> children;
    for (const auto & [name, joint] : joints_)
    {
      children[joint.parent].push_back(&joint);
    }
    std::vector<Open> open;
    const auto open_children = [&](const std::string & link, int index, int depth)
    {
      const std::vector<const SdfJoint *> & below = children[link];
      for (auto joint = below.rbegin(); joint != below.rend(); ++joint)
      {
        open.push_back({*joint, index, depth});
      }
    };
    const std::optional<std::string> root = free_root(!children["world"].empty());
    if (root)
    {
      open.push_back({nullptr, -1, 1});
    }
    open_children("world", -1, 1);
    while (!open.empty())
    {
      const Open next = open.back();
      open.pop_back();
      const std::string link = next.joint ? next.joint->child : *root;
      if (next.depth > limits_.depth)
      {
        xml_.fail(
          "link '" + link + "' is more than " + std::to_string(limits_.depth) +
          " links deep; that many are allowed");
      }
      open_children(link, add_link(next.joint, link, next.parent), next.depth + 1);
    }
    check_all_reached();
  }

  /// The nodes of a link and of the joint that holds it. @return the link's node.
  int add_link(const SdfJoint * joint, const std::string & link, int parent)
  {
    TreeNode node;
    node.parent = parent;
    node.placement = joint ? joint->X_JL : pose_in_model(link_entity(link));
    if (joint && joint->X_JL.matrix() == Eigen::Matrix4d::Identity())
    {
      node = joint->node;
      node.parent = parent;
    }
    else if (joint)
    {
      // The joint frame is not the link's: an inner node moves, the link is fixed to it.
      TreeNode inner = joint->node;
      inner.parent = parent;
      node.parent = static_cast<int>(tree_.nodes.size());
      tree_.nodes.push_back(std::move(inner));
    }
    node.link = link;
    node.mass = masses_.at(link);
    const int index = static_cast<int>(tree_.nodes.size());
    node_of_link_[link] = index;
    tree_.nodes.push_back(std::move(node));
    return index;
  }

  void check_all_reached() const
  {
    for (const auto & [name, index] : links_)
    {
      if (node_of_link_.count(name) == 0)
      {
        xml_.fail(
          "link '" + name + "' is not connected to the root: it is part of a loop of joints");
      }
    }
  }

  void add_frames()
  {
    for (const std::string & name : frame_order_)
    {
      Entity & frame = entities_[frames_.at(name)];
      const std::string link = link_of(frame.attached, frame.label);
      tree_.frames.push_back(
        {frame.name, node_of_link_.at(link), relative_pose(link_entity(link), frame)});
    }
  }

  XmlReader xml_;
  SizeLimits limits_;
  int minor_ = kNewest;
  bool static_ = false;
  std::string canonical_;
  std::vector<Entity> entities_;
  std::map<std::string, std::size_t> links_;
  std::map<std::string, std::size_t> frames_;
  std::map<std::string, std::size_t> joint_entities_;
  std::vector<std::string> frame_order_;
  std::map<std::string, MassProperties> masses_;
  std::map<std::string, SdfJoint> joints_;
  std::map<std::string, std::string> holders_;  ///< child link → joint
  std::map<std::string, int> node_of_link_;
  RobotTree tree_;
};

}  // namespace

RobotTree read_sdf(const std::string & text, const std::string & who, const SizeLimits & limits)
{
  return SdfReader(who, limits).read(text);
}

}  // namespace constrained_dynamics
