# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

# The front door. `make` alone lists the targets; each does the set-up, configuring and building that it needs.

# Compilers and tests at a time: one per processor, but no more than memory allows at 1.5 GB each.
JOBS ?= $(shell awk -v n="$$(nproc)" '/^MemAvailable/ { m = int($$2 / 1500000) } \
          END { if (m < 1) m = 1; print (m < n ? m : n) }' /proc/meminfo)

preset := release
venv := .venv
build := build/$(preset)
sanitizers := asan-ubsan tsan rtsan
# Where CI is set, warnings are errors. A build folder keeps that setting, so nothing is compiled twice.
werror := $(if $(CI),-DCD_WERROR=ON)
cxx_files = $(wildcard $(shell git ls-files --cached --others --exclude-standard "*.cpp" "*.hpp"))
lint_tools := .venv-lint/bin

demo_scenario := config/scenarios/panda_cutter.yaml
demo_plot := constrained_dynamics_core/examples/plot_run.py
demo_out := out/demo
# BENCH=quick: small sizes, few repetitions.
BENCH ?= full
# What clang-tidy looks at in `make lint`, and for how long [s] (0: until it is done).
TIDY ?= changed
TIDY_SECONDS ?= 0

# $(call configure,preset): configures build/<preset>. A folder that was configured in another place (the
# repository was moved or copied) is made anew.
define configure
@if [ -f build/$(1)/CMakeCache.txt ] && \
  ! grep -qxF 'CMAKE_HOME_DIRECTORY:INTERNAL=$(CURDIR)/setup' build/$(1)/CMakeCache.txt; \
  then rm -rf build/$(1); fi
@echo "== configure: $(1)"
@mkdir -p build && touch build/COLCON_IGNORE && \
  cmake -S setup --preset $(1) $(werror) >build/$(1).log 2>&1 || { cat build/$(1).log >&2; exit 1; }
@grep -E '^-- (Pinocchio|Robots)|Warning' build/$(1).log
endef

# The Python package of the build folder, importable in the virtual environment.
define link_python
@for folder in $(venv)/lib/python3*/site-packages; do \
  echo '$(CURDIR)/$(build)/python' >$$folder/constrained_dynamics.pth; done
endef

.PHONY: help setup test demo gallery docs campaign bench $(sanitizers) build format lint clean
.NOTPARALLEL:

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Variables:"
	@echo "  JOBS=number             compilers and tests at a time (now $(JOBS))"
	@echo "  CI=1                    warnings are errors"
	@echo "  BENCH=full|quick        sizes and repetitions of make bench"
	@echo "  TIDY=changed|all|none   what clang-tidy looks at in make lint"

test: build ## build and run all tests
	@setup/run_tests.sh $(build) -j $(JOBS)

demo: setup ## run a robot with its constraint forces: table, CSV, plot and an animated page
	@for file in $(demo_scenario) $(demo_plot); do \
	  [ -f $$file ] || { echo "make demo: $$file is missing" >&2; exit 1; }; done
	$(call configure,$(preset))
	@echo "== build: cdyn and the Python package ($(JOBS) at a time)"
	@cmake --build $(build) --parallel $(JOBS) --target cdyn constrained_dynamics_python
	$(link_python)
	@mkdir -p $(demo_out)
	@echo "== run: $(demo_scenario)"
	@$(build)/bin/cdyn run $(demo_scenario) --csv $(demo_out)/panda_cutter.csv
	@MPLBACKEND=Agg MPLCONFIGDIR=$(CURDIR)/build/matplotlib \
	  $(venv)/bin/python -B $(demo_plot) $(demo_out)/panda_cutter.csv $(demo_out)/panda_cutter.png
	@$(venv)/bin/python -B -m constrained_dynamics.page $(demo_scenario) -o $(demo_out)/panda_cutter.html
	@echo "== written: $(demo_out)/panda_cutter.csv $(demo_out)/panda_cutter.png"
	@echo "== open in a browser: $(demo_out)/panda_cutter.html"
	@if [ -f .venv-ros/set-up-complete ]; then \
	  echo "== ROS 2: scenario_host, live" && cmake --build $(build) --parallel $(JOBS) --target ros_messages && \
	  setup/with_ros.sh $(build) python -m constrained_dynamics_ros.show $(demo_scenario); \
	  else echo "== ROS 2: left out (no .venv-ros; setup/setup.sh says why)"; fi

campaign: build ## run the long tests, with their large counts
	@setup/run_tests.sh $(build) -j $(JOBS) -C Campaign -L campaign

bench: ## time the library and its peers on the same systems: out/bench/bench.json and table.md
	@case "$(BENCH)" in full | quick) ;; *) \
	  echo "make bench: BENCH is '$(BENCH)'; allowed are full (the default) and quick" >&2; exit 1 ;; esac
	@setup/setup.sh --bench
	$(call configure,bench)
	@echo "== build: cd_bench, cd_servo_bench, cd_step_bench ($(JOBS) at a time)"
	@cmake --build build/bench --parallel $(JOBS) --target cd_bench cd_servo_bench cd_step_bench
	@echo "== run: $(BENCH)"
	@.venv/bin/python -B constrained_dynamics_core/bench/run_bench.py build/bench/bin/cd_bench out/bench \
	  $(if $(filter quick,$(BENCH)),--quick)
	@echo "== run: a whole servo cycle"
	@.venv/bin/python -B constrained_dynamics_core/bench/run_servo_bench.py build/bench/bin/cd_servo_bench out/bench \
	  --tsid .venv-tsid/bin/python $(if $(filter quick,$(BENCH)),--quick)
	@echo "== run: steps of batches and of contacts"
	@.venv/bin/python -B constrained_dynamics_core/bench/run_step_bench.py build/bench/bin/cd_step_bench out/bench \
	  $(if $(filter quick,$(BENCH)),--quick)
	@echo "== written: bench.json, table.md, servo.json, servo.md, steps.json and steps.md in out/bench"

gallery: ## build a site of all scenarios and of the figures of the literature: out/gallery
	@CD_SKIP_ROS=1 setup/setup.sh --gallery
	$(call configure,$(preset))
	@echo "== build: the Python package ($(JOBS) at a time)"
	@cmake --build $(build) --parallel $(JOBS) --target constrained_dynamics_python
	$(link_python)
	@echo "== gallery: runs, figures, pages"
	@MPLCONFIGDIR=$(CURDIR)/build/matplotlib \
	  $(venv)/bin/python -B constrained_dynamics_core/gallery/build_gallery.py out/gallery
	@echo "== open in a browser: out/gallery/index.html"

docs: ## build one site of the guides, the equations and the API pages: out/docs
	@CD_SKIP_ROS=1 setup/setup.sh --docs
	$(call configure,$(preset))
	@echo "== build: the Python package ($(JOBS) at a time)"
	@cmake --build $(build) --parallel $(JOBS) --target constrained_dynamics_python
	$(link_python)
	@echo "== docs"
	@$(venv)/bin/python -B constrained_dynamics_core/doc/build_docs.py out/docs --gallery out/gallery
	@echo "== open in a browser: out/docs/index.html"

setup: ## install Debian packages and .venv (other targets call it)
	@setup/setup.sh

build: setup ## build everything that needs no ROS
	$(call configure,$(preset))
	@echo "== build: $(build) ($(JOBS) at a time)"
	@cmake --build $(build) --parallel $(JOBS)
	$(link_python)

asan-ubsan: ## run all tests under the address and undefined-behaviour sanitizers
tsan: ## run all tests under the thread sanitizer
rtsan: ## run all tests under the real-time sanitizer
$(sanitizers):
	@setup/setup.sh --sanitizers
	$(call configure,$@)
	@echo "== build: build/$@ ($(JOBS) at a time)"
	@cmake --build build/$@ --parallel $(JOBS)
	@UBSAN_OPTIONS=print_stacktrace=1 setup/run_tests.sh build/$@ -j $(JOBS)

format: ## format all C++ and Python sources
	@setup/setup.sh --lint
	@$(lint_tools)/clang-format -i $(cxx_files)
	@$(lint_tools)/ruff check --quiet --select I --fix .
	@$(lint_tools)/ruff format --quiet .

# clang-tidy needs the compile commands of a configured build, and so the dependencies.
lint: ## check format, spelling, scripts, documents, structure; clang-tidy
	@case "$(TIDY)" in changed | all | none) ;; *) \
	  echo "make lint: TIDY is '$(TIDY)'; allowed are changed (the default), all and none" >&2; exit 1 ;; esac
	@setup/setup.sh --lint
	$(if $(filter none,$(TIDY)),,@CD_SKIP_ROS=1 setup/setup.sh)
	$(if $(filter none,$(TIDY)),,$(call configure,lint))
	@echo "== lint"
	@$(lint_tools)/python -B setup/lint --tidy $(TIDY) --tidy-seconds $(TIDY_SECONDS) --build build/lint --jobs $(JOBS)

clean: ## remove build/ and out/, but not the virtual environments
	@rm -rf build out
