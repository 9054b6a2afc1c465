// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

/// @file
/// What the hot functions tell the compiler.
///
/// CD_CLONES: the compiler makes a second version of a function, with everything it calls inlined,
/// for processors with fused multiply-add; the loader picks one. Only where the compiler can.

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) && \
  !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CD_CLONES __attribute__((flatten, target_clones("fma", "default")))
#else
#define CD_CLONES
#endif
