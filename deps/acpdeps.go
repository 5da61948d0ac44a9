// SPDX-License-Identifier: Apache-2.0

package deps

import (
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/approval"
)

// ACPDeps are the dependencies of an agent that works in an editor. Embed it in your own. The zero value means that there
// is no editor: the tools of acpbridge are not offered then, and the agent runs without them.
type ACPDeps struct {
	// Client is the editor. Call only what [Session.Capabilities] says it can do.
	Client acp.Client
	// Session is the conversation that the run belongs to.
	Session *Session
	// Tracker reports the tool calls of the session.
	Tracker *Tracker
}

// ACP returns d. Embedding ACPDeps promotes it, which makes the outer struct a [Carrier].
func (d ACPDeps) ACP() ACPDeps { return d }

// Carrier is implemented by dependencies that embed [ACPDeps].
type Carrier interface{ ACP() ACPDeps }

var _ Carrier = ACPDeps{}

// Session is what a tool may know of an ACP session. It is not changed once the session's first run has begun.
type Session struct {
	// ID is the session's id on the connection.
	ID acp.SessionID
	// Cwd is the session's working directory on the client's machine: absolute, and of the client's platform.
	Cwd string
	// AdditionalDirectories may be read and written too. They are absolute.
	AdditionalDirectories []string
	// Capabilities is what the client announced in initialize, ClientInfo who it says it is.
	Capabilities acp.ClientCapabilities
	ClientInfo   *acp.Implementation
	// Policy remembers the user's decisions about permissions; nil remembers nothing.
	Policy *approval.Policy
}
