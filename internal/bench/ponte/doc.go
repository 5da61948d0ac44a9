// SPDX-License-Identifier: Apache-2.0

// Package ponte has no code, only benchmarks: the work as a user of Ponte does it, through its public API.
//
// Beyond what the work asks for, Ponte does the following in every run: it checks arguments for unknown and repeated fields, gives
// ids to the run and the conversation and a time to every message, keeps the budgets of requests and retries, and turns panics into
// errors.
package ponte
