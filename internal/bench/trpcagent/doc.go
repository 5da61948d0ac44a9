// SPDX-License-Identifier: Apache-2.0

// Package trpcagent has no code, only benchmarks: the work with trpc.group/trpc-go/trpc-agent-go.
//
// It does more in that every run belongs to a session, in memory, which is deleted after it. It
// does less in these respects: arguments are decoded, not validated; an output's schema is only
// passed on to the model, and the user decodes the text; nothing asks again. Tools of one response
// run one after another unless parallel ones are asked for, as they are here; in v1.0.0 the model
// is then sometimes shown fewer results than there were calls. A streaming model joins the deltas
// itself.
package trpcagent
