// SPDX-License-Identifier: Apache-2.0

// Package conformance tests that implementations of [model.Model] keep its contract.
//
// [Run] covers responses and streams, sinks, contexts, errors, faults on the wire, and what is sent or reported as an
// error, rule by rule. The author of an implementation provides a [Harness], which plays each [Scenario] with a fake
// provider and skips what that provider cannot do:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, conformance.Harness{
//			Provider: true,
//			New: func(t testing.TB, s conformance.Scenario) model.Model {
//				server := httptest.NewServer(fake(s)) // answers in the provider's protocol
//				t.Cleanup(server.Close)
//				return newModel(server.URL)
//			},
//		})
//	}
//
// Known failures are listed in [Harness.Known]. They are still run, and a known failure that passes is an error. The
// results tell how each case ended. The adapters of this module store them in files, from which docs/models.md has its
// table.
package conformance
