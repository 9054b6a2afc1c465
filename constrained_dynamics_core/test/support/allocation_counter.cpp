// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "support/allocation_counter.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
  __has_feature(realtime_sanitizer)
#define CD_SANITIZED 1
#endif
#endif

namespace
{
thread_local long count = 0;
thread_local long locks = 0;
}  // namespace

#ifndef CD_SANITIZED
// The functions of glibc beneath malloc and friends; those of this program come before the C
// library's for all libraries that it loads.
extern "C"
{
  void * __libc_malloc(std::size_t size);
  void * __libc_calloc(std::size_t number, std::size_t size);
  void * __libc_realloc(void * pointer, std::size_t size);
  void * __libc_memalign(std::size_t alignment, std::size_t size);

  void * malloc(std::size_t size)
  {
    ++count;
    return __libc_malloc(size);
  }
  void * calloc(std::size_t number, std::size_t size)
  {
    ++count;
    return __libc_calloc(number, size);
  }
  void * realloc(void * pointer, std::size_t size)
  {
    ++count;
    return __libc_realloc(pointer, size);
  }
  void * aligned_alloc(std::size_t alignment, std::size_t size)
  {
    ++count;
    return __libc_memalign(alignment, size);
  }
  void * memalign(std::size_t alignment, std::size_t size)
  {
    ++count;
    return __libc_memalign(alignment, size);
  }
  int posix_memalign(void ** out, std::size_t alignment, std::size_t size)
  {
    ++count;
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
  }

  int pthread_mutex_lock(pthread_mutex_t * mutex)
  {
    static const auto next =
      reinterpret_cast<int (*)(pthread_mutex_t *)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    ++locks;
    return next(mutex);
  }
  int pthread_rwlock_rdlock(pthread_rwlock_t * lock)
  {
    static const auto next =
      reinterpret_cast<int (*)(pthread_rwlock_t *)>(dlsym(RTLD_NEXT, "pthread_rwlock_rdlock"));
    ++locks;
    return next(lock);
  }
  int pthread_rwlock_wrlock(pthread_rwlock_t * lock)
  {
    static const auto next =
      reinterpret_cast<int (*)(pthread_rwlock_t *)>(dlsym(RTLD_NEXT, "pthread_rwlock_wrlock"));
    ++locks;
    return next(lock);
  }
}
#endif

namespace constrained_dynamics::test
{

long allocation_count() { return count; }

long lock_count() { return locks; }

bool counts_allocations()
{
#ifdef CD_SANITIZED
  return false;
#else
  return true;
#endif
}

}  // namespace constrained_dynamics::test
