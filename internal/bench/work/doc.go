// SPDX-License-Identifier: Apache-2.0

// Package work defines the work of the benchmarks once for all frameworks: the inputs, the checks
// of the results, and the measurement. A framework's own module fills in a [Peer], or an [ACP],
// with its own calls and passes it to [Benchmark] or [BenchmarkACP].
//
// The package is a separate module that needs only the standard library, so it does not change the
// dependencies of the frameworks.
package work
