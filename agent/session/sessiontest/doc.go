// SPDX-License-Identifier: Apache-2.0

// Package sessiontest checks implementations of [session.Store], in the manner of testing/slogtest.
package sessiontest
