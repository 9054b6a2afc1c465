// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

namespace constrained_dynamics::test
{

/// Calls of malloc, calloc, realloc and the aligned kinds (operator new ends there) by this thread
/// since it started. Always 0 under a sanitizer, which has allocators of its own.
long allocation_count();

/// Calls of pthread_mutex_lock and pthread_rwlock_rdlock/wrlock (std::mutex and its kin end there)
/// by this thread since it started. Always 0 under a sanitizer.
long lock_count();

/// Whether allocation_count() and lock_count() count in this build.
bool counts_allocations();

}  // namespace constrained_dynamics::test
