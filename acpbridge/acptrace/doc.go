// SPDX-License-Identifier: Apache-2.0

// Package acptrace joins the traces of editors and agents. The W3C trace context of a request travels in its _meta, as traceparent and
// tracestate: what an agent does for a prompt becomes a part of the editor's trace, and what it asks of the editor, such as reading a file,
// a part of the agent's.
//
//	config := acpbridge.Config[Deps, string]{Host: host.Config[Deps, string]{Agent: a}}
//	acptrace.Install(&config.Conn)
//	otelagent.Install(otelagent.Config{})
//	err := acpbridge.Serve(ctx, config)
//
// [Install] works for either side, and for acpclient.Config.Conn too. Spans are made by package otelagent, or by whoever else makes some.
// Baggage is not carried: it may hold what the other side should not have.
package acptrace
