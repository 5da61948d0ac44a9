// SPDX-License-Identifier: Apache-2.0

// Package genkit has no code, only benchmarks: the work with github.com/firebase/genkit/go.
//
// It validates arguments and outputs against their JSON schemas, and traces every step. It does
// less in these respects: an output that is not valid is an error, the model is not asked again;
// and it has no agent type, so NewAgent is the framework itself with a model and a tool. A
// streaming model joins the deltas itself.
package genkit
