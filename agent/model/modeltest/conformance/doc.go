// SPDX-License-Identifier: Apache-2.0

// Package conformance tests implementations of [model.Model] against the contract of that interface.
//
// [Run] covers answers and streams, sinks, contexts, errors, faults on the wire, and what is sent or refused, one rule after
// the other. The author of an implementation provides a [Harness], which plays each [Scenario] with a fake provider and skips
// what that provider cannot do:
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
// Failures that are known are listed in [Harness.Known]. They still run, and a known failure that passes is an error. The
// results report how each case ended. The adapters of this module keep them in files, and docs/models.md shows them as a table.
package conformance
