// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#if defined(__has_feature)
#if __has_feature(realtime_sanitizer)
#include <sanitizer/rtsan_interface.h>
#define CD_REALTIME_SANITIZED 1
#endif
#endif

namespace constrained_dynamics::test
{

/// While it lives, the real-time sanitizer lets this thread pass; nothing in other builds. For
/// tests whose user functions break the real-time rule on purpose: an exception costs an
/// allocation.
class RealtimeExemption
{
public:
#ifdef CD_REALTIME_SANITIZED
  RealtimeExemption() { __rtsan_disable(); }
  ~RealtimeExemption() { __rtsan_enable(); }
#else
  RealtimeExemption() {}
  ~RealtimeExemption() {}
#endif
  RealtimeExemption(const RealtimeExemption &) = delete;
  RealtimeExemption & operator=(const RealtimeExemption &) = delete;
};

}  // namespace constrained_dynamics::test
