// SPDX-License-Identifier: Apache-2.0

// Package eino has no code, only benchmarks: the work with github.com/cloudwego/eino, once with its ReAct agent and once with its
// Agent Development Kit.
//
// It does less in these respects: arguments are decoded, not validated; an output is decoded by a parser of the framework that the
// user calls, neither validated nor asked for again; streamed text reaches the user in pieces, who joins them.
package eino
