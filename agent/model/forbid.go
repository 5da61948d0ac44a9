// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"sync/atomic"
)

var forbidden atomic.Bool

// ForbidRequests makes every model that talks to a provider fail with [ErrRequestsForbidden], in
// the whole process, until restore is called. Call it once in a test binary, so no test spends
// money by mistake:
//
//	func TestMain(m *testing.M) {
//		model.ForbidRequests()
//		os.Exit(m.Run())
//	}
//
// Test doubles (package modeltest) and models that run in the process are not affected.
func ForbidRequests() (restore func()) {
	before := forbidden.Swap(true)
	return func() { forbidden.Store(before) }
}

// CheckRequests returns an error that wraps [ErrRequestsForbidden] while requests are forbidden.
// Adapters must call it before each request to a provider.
func CheckRequests(info Info) error {
	if forbidden.Load() {
		return fmt.Errorf("model: %s %s: %w", info.Provider, info.Name, ErrRequestsForbidden)
	}
	return nil
}
