// SPDX-License-Identifier: Apache-2.0

// Package work says once what the benchmarks do, so that every framework does the same: the inputs, the checks of the
// results, and how it is measured. A framework's own module fills in a [Peer], or an [ACP], with its own calls and passes it to
// [Benchmark] or [BenchmarkACP].
//
// The package is a module of its own that needs nothing but the standard library: it changes nobody's dependencies.
package work
