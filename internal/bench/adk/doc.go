// SPDX-License-Identifier: Apache-2.0

// Package adk has no code, only benchmarks: the work with google.golang.org/adk.
//
// It validates arguments against their JSON schema. It does more in two respects: every run belongs
// to a session in memory, which is created before the run and deleted after it, and runs are
// traced. It does less in these respects: an output's schema is only passed on to the model, and
// the user decodes the text; nothing asks again. A streaming model joins the deltas itself.
package adk
