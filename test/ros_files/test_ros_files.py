# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Files that ROS reads, checked as far as a machine without ROS can: manifests, plugin descriptions, YAML,
launch files, URDF and xacro."""

import ast
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from catkin_pkg.package import parse_package

TOP = Path(__file__).resolve().parents[2]
PACKAGES = {
    "config": "constrained_dynamics_config",
    "constrained_dynamics_core": "constrained_dynamics_core",
    "constrained_dynamics_msgs": "constrained_dynamics_msgs",
    "constrained_dynamics_ros": "constrained_dynamics_ros",
    "controllers": "constrained_dynamics_controllers",
    "launch": "constrained_dynamics_bringup",
}
FOLDERS = list(PACKAGES)


def files(*patterns):
    """Files of the packages, as parameters of a test; none: one that says so."""
    found = sorted(path for folder in FOLDERS for pattern in patterns for path in (TOP / folder).rglob(pattern))
    found = [path for path in found if path.parent.name != "hostile"]  # broken on purpose
    return pytest.mark.parametrize("path", found, ids=[str(path.relative_to(TOP)) for path in found])


@pytest.mark.parametrize("folder", PACKAGES)
def test_manifest_when_read_expect_name_license_and_no_warning(folder):
    warnings = []
    package = parse_package(str(TOP / folder / "package.xml"), warnings=warnings)
    package.validate(warnings=warnings)
    assert warnings == []
    assert package.name == PACKAGES[folder]
    assert package.licenses == ["Apache-2.0"]
    assert package.package_format == 3


def test_versions_when_compared_expect_one():
    versions = {parse_package(str(TOP / folder / "package.xml")).version for folder in PACKAGES}
    for folder in ("config", "constrained_dynamics_core"):
        versions.add(re.search(r"^project\(\w+ VERSION ([0-9.]+)", cmake_of(folder), re.MULTILINE)[1])
    assert len(versions) == 1, versions


def dependencies(package):
    kinds = ("build_depends", "build_export_depends", "buildtool_depends", "buildtool_export_depends", "exec_depends")
    return {item.name for kind in kinds for item in getattr(package, kind)}


def test_arrows_when_followed_expect_one_way():
    """bringup → controllers → ros → msgs, core → config."""
    order = [
        "constrained_dynamics_config",
        "constrained_dynamics_msgs",
        "constrained_dynamics_core",
        "constrained_dynamics_ros",
        "constrained_dynamics_controllers",
        "constrained_dynamics_bringup",
    ]
    for folder, name in PACKAGES.items():
        used = dependencies(parse_package(str(TOP / folder / "package.xml"))) & set(order)
        assert used <= set(order[: order.index(name)]), (name, used)


@pytest.mark.parametrize("folder", PACKAGES)
def test_cmake_when_it_finds_packages_expect_them_in_the_manifest(folder):
    """What CMake asks for by name is what rosdep installs."""
    text = cmake_of(folder)
    package = parse_package(str(TOP / folder / "package.xml"))
    if "find_package(ament_cmake " not in text:
        pytest.skip("no package of ament")
    tests = {item.name for item in package.test_depends}
    found = set(re.findall(r"^\s*find_package\((\w[\w-]*) ", text, re.MULTILINE))
    for path in (TOP / folder / "test").glob("CMakeLists.txt"):
        found |= set(re.findall(r"^\s*find_package\((\w[\w-]*) ", path.read_text(), re.MULTILINE))
    groups = {"Threads", "Eigen3", "Boost", "Python3"}
    assert found - groups <= dependencies(package) | tests, found - dependencies(package) - tests


@pytest.mark.parametrize("folder", PACKAGES)
def test_package_when_copied_alone_expect_nothing_read_from_its_neighbours(folder):
    """A package is released and built from its own folder."""
    others = "|".join(sorted(set(PACKAGES) - {folder}) + ["setup", "test/[a-z]"])
    aside = re.compile(rf"(?:\$\{{PROJECT_SOURCE_DIR\}}/\.\.|(?:top|top_dir|repository)\}})/(?:{others})\b")
    for path in [*(TOP / folder).rglob("CMakeLists.txt"), *(TOP / folder).rglob("*.cmake")]:
        # The one place that looks beside the core, and does without where there is nothing.
        if path.name != "FindConfig.cmake":
            assert aside.findall(path.read_text()) == [], path


def cmake_of(folder):
    path = TOP / folder / "CMakeLists.txt"
    return path.read_text() if path.exists() else ""


def test_messages_when_collected_expect_every_file():
    text = (TOP / "constrained_dynamics_msgs" / "CMakeLists.txt").read_text()
    folder = TOP / "constrained_dynamics_msgs"
    (patterns,) = re.findall(r"file\(GLOB interfaces .*?((?:\s(?:msg|srv)/\S+)+)\)", text)
    listed = {str(path.relative_to(folder)) for pattern in patterns.split() for path in folder.glob(pattern)}
    there = {str(path.relative_to(folder)) for kind in ("msg", "srv") for path in folder.glob(f"{kind}/*")}
    assert listed == there


@files("*.xml", "*.urdf", "*.xacro", "*.sdf")
def test_xml_when_parsed_expect_well_formed(path):
    ElementTree.parse(path)


@pytest.mark.parametrize("folder", ["constrained_dynamics_ros", "controllers"])
def test_plugins_when_described_expect_classes_that_are_exported(folder):
    descriptions = [path for path in (TOP / folder).glob("*.xml") if path.name != "package.xml"]
    cmake = cmake_of(folder)
    sources = "\n".join(path.read_text() for path in (TOP / folder / "src").rglob("*.cpp"))
    for description in descriptions:
        name = description.name.replace(PACKAGES[folder], "${PROJECT_NAME}")
        assert description.name in cmake or name in cmake, f"CMakeLists.txt does not export {description.name}"
        root = ElementTree.parse(description).getroot()
        libraries = [root] if root.tag == "library" else root.findall("library")
        assert libraries
        for library in libraries:
            # The package's own library goes by ${PROJECT_NAME}.
            target = r"\$\{PROJECT_NAME\}" if library.get("path") == PACKAGES[folder] else library.get("path")
            assert re.search(rf"add_library\(\s*{target}\s", cmake), library.get("path")
            for item in library.findall("class"):
                assert item.get("name").startswith(PACKAGES[folder] + "/")
                assert item.findtext("description", "").strip()
                # The last part of the type, and its base, in a PLUGINLIB_EXPORT_CLASS.
                exported = re.findall(r"PLUGINLIB_EXPORT_CLASS\(\s*([\w:]+),\s*([\w:]+)\s*\)", sources)
                assert (item.get("type"), item.get("base_class_type")) in exported, exported


class UniqueKeys(yaml.SafeLoader):
    """A key that is there twice is a mistake that YAML keeps quiet about."""


def _mapping(loader, node, deep=False):
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    twice = {key for key in keys if keys.count(key) > 1}
    if twice:
        raise yaml.constructor.ConstructorError(None, None, f"keys twice: {twice}", node.start_mark)
    return yaml.SafeLoader.construct_mapping(loader, node, deep)


UniqueKeys.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


@files("*.yaml", "*.yml", "*.rviz")
def test_yaml_when_parsed_expect_a_map_without_repeated_keys(path):
    assert isinstance(yaml.load(path.read_text(), UniqueKeys), dict)


@files("*.launch.py")
def test_launch_file_when_parsed_expect_its_entry_point(path):
    functions = {node.name for node in ast.parse(path.read_text(), str(path)).body if isinstance(node, ast.FunctionDef)}
    assert "generate_launch_description" in functions


@files("*.py")
def test_python_when_parsed_expect_no_error(path):
    ast.parse(path.read_text(), str(path))


def test_parameters_when_generated_expect_a_description_of_each():
    found = sorted(path for folder in FOLDERS for path in (TOP / folder).rglob("src/**/*_parameters.yaml"))
    assert found
    for path in found:
        for name, block in yaml.safe_load(path.read_text()).items():
            check_descriptions(block, name, path)


def check_descriptions(block, name, path):
    for key, value in block.items():
        if isinstance(value, dict) and "type" in value and isinstance(value["type"], str):
            assert value.get("description", "").strip(), f"{path.name}: {name}.{key} has no description"
            assert '"' not in value["description"], f"{path.name}: {name}.{key}: generated C++ breaks on quotes"
        elif isinstance(value, dict):
            check_descriptions(value, f"{name}.{key}", path)
