// SPDX-License-Identifier: Apache-2.0

// Package langchaingo has no code, only benchmarks: the work with github.com/tmc/langchaingo and its agent for models that call
// functions.
//
// It does less in these respects: a tool takes one string, whose JSON the benchmark's tool decodes itself; tools have no schema and
// nothing is validated; tools of one response run one after another; an output is decoded by a parser of the framework that the
// user calls, neither validated nor asked for again. A streaming model joins the deltas itself.
package langchaingo
