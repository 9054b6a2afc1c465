#pragma once

namespace constrained_dynamics::test
{

/// Calls of malloc, calloc, realloc and the aligned kinds (operator new ends there) by this thread
/// since it started. Always 0 under a sanitizer, which has allocators of its own.
long allocation_count();

/// Whether allocation_count() counts in this build.
bool counts_allocations();

}  // namespace constrained_dynamics::test
