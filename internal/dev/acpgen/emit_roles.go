// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// roleDocs are the contracts of the two interfaces.
var roleDocs = map[string]string{
	"Agent": `Agent is the agent's side of the protocol. Whoever writes an agent implements it, embedding [UnimplementedAgent];
[*ClientConn] implements it too, by calling the peer.

A handler is called on the lane of its session: see the package comment for what may run at the same time. A request's
ctx ends when the request is cancelled, when the connection ends, and once the answer has been sent. An error becomes
the answer as [ToError] says. Parameters are the handler's to keep.`,
	"Client": `Client is the client's side of the protocol: an editor, or whatever stands in for one. Whoever writes a client implements
it, embedding [UnimplementedClient]; [*AgentConn] implements it too, by calling the peer; a test can implement it with no
connection at all.

The rules for handlers are those of [Agent]. An agent calls only what the client announced in initialize.`,
}

func emitRoles(p *printer, roles []role) {
	p.p("// Names of the methods on the wire.")
	p.p("const (")
	for _, r := range roles {
		for _, m := range r.methods {
			p.p("Method%s = %q", m.name, m.wire)
		}
	}
	p.p("MethodCancelRequest = \"$/cancel_request\"")
	p.p(")\n")
	for _, r := range roles {
		emitInterface(p, r)
		emitUnimplemented(p, r)
		emitStubs(p, r)
		emitDispatch(p, r)
	}
}

func signature(m method) string {
	if m.result == "" {
		return m.name + "(ctx context.Context, params *" + m.params + ") error"
	}
	return m.name + "(ctx context.Context, params *" + m.params + ") (*" + m.result + ", error)"
}

func emitInterface(p *printer, r role) {
	p.p("// %s", strings.ReplaceAll(roleDocs[r.name], "\n", "\n// "))
	p.p("type %s interface {", r.name)
	for _, m := range r.methods {
		what := "request"
		if m.result == "" {
			what = "notification"
		}
		p.p("// %s handles the %s %s.", m.name, what, m.wire)
		p.p("%s", signature(m))
	}
	p.p("}\n")
}

func emitUnimplemented(p *printer, r role) {
	p.p("// Unimplemented%s answers every request with [ErrMethodNotFound] and ignores every notification. Embed it, so that an", r.name)
	p.p("// implementation of [%s] goes on compiling as the protocol grows.", r.name)
	p.p("type Unimplemented%s struct{}\n", r.name)
	p.p("var _ %s = Unimplemented%s{}\n", r.name, r.name)
	for _, m := range r.methods {
		p.p("// %s implements [%s].", m.name, r.name)
		sig := strings.Replace(strings.Replace(signature(m), "ctx context", "context", 1), "params *", "*", 1)
		if m.result == "" {
			p.p("func (Unimplemented%s) %s { return nil }\n", r.name, sig)
			continue
		}
		p.p("func (Unimplemented%s) %s { return nil, methodNotFound(Method%s) }\n", r.name, sig, m.name)
	}
}

func emitStubs(p *printer, r role) {
	p.p("var _ %s = (*%s)(nil)\n", r.name, r.peer)
	for _, m := range r.methods {
		if m.result == "" {
			p.p("// %s sends the notification %s to the peer.", m.name, m.wire)
			p.p("func (c *%s) %s {", r.peer, signature(m))
			encode := "message"
			if m.wire == "session/update" {
				encode = "update" // has a fast path
			}
			p.p("e := beginNotification(Method%s)\ne.%s(params)\nreturn c.notify(ctx, Method%s, e)\n}\n", m.name, encode, m.name)
			continue
		}
		p.p("// %s calls %s on the peer.", m.name, m.wire)
		p.p("func (c *%s) %s {", r.peer, signature(m))
		p.p("return call[%s](ctx, &c.conn, Method%s, params)\n}\n", m.result, m.name)
	}
}

// emitDispatch writes the function that calls the handler of a message.
func emitDispatch(p *printer, r role) {
	lower := strings.ToLower(r.name)
	p.p("// serve%s calls the handler of the request; ok is false if the role has no such request.", r.name)
	p.p("func serve%s(ctx context.Context, %s %s, method string, params json.RawMessage) (result message, ok bool, err error) {",
		r.name, lower, r.name)
	p.p("switch method {")
	for _, m := range r.methods {
		if m.result == "" {
			continue
		}
		f := "serve"
		if m.optional {
			f = "serveOptional"
		}
		p.p("case Method%s:\nresult, err = %s(ctx, params, %s.%s)", m.name, f, lower, m.name)
	}
	p.p("default:\nreturn nil, false, nil\n}\nreturn result, true, err\n}\n")

	p.p("// notify%s calls the handler of the notification; ok is false if the role has no such notification.", r.name)
	p.p("func notify%s(ctx context.Context, %s %s, method string, params json.RawMessage) (ok bool, err error) {", r.name, lower, r.name)
	p.p("switch method {")
	for _, m := range r.methods {
		if m.result == "" {
			p.p("case Method%s:\nreturn true, notice(ctx, params, %s.%s)", m.name, lower, m.name)
		}
	}
	p.p("}\nreturn false, nil\n}\n")
}
