// SPDX-License-Identifier: Apache-2.0

// Package floor measures the work without a framework: the smallest loop that one would still put
// into production. Tools have typed dependencies and typed arguments, which a general JSON-schema
// library checks, as it does the output; tools of one response run in parallel; an output that is
// not valid goes back to the model. It has no events but text, no hooks, no limits but the number
// of turns, no ids and no times, and it trusts the model's data wherever the schema is silent.
//
// All ratios of the benchmarks are to this package.
package floor
