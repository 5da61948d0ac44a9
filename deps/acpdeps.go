// SPDX-License-Identifier: Apache-2.0

package deps

import (
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// ACPDeps holds the dependencies of an agent that works in an editor. Embed it in your own
// dependencies. The zero value means that there is no editor: the agent then runs without the tools
// of acpbridge.
type ACPDeps struct {
	// Client is the editor. Call only the methods that [Session.Capabilities] announces.
	Client acp.Client
	// Session is the session the run belongs to.
	Session *Session
	// Tracker reports the tool calls of the session.
	Tracker *Tracker
	// Workspace holds the files and commands of the session. acpbridge.Serve sets it, and closes it
	// with the session. If it is nil, as in most unit tests, acpbridge.Toolset makes one for each
	// run and closes it when the run ends. Code that replaces Client must replace Workspace too.
	Workspace *workspace.Session
}

// ACP returns d. A struct that embeds ACPDeps is therefore a [Carrier].
func (d ACPDeps) ACP() ACPDeps { return d }

// Carrier is implemented by dependencies that embed [ACPDeps].
type Carrier interface{ ACP() ACPDeps }

var _ Carrier = ACPDeps{}

// Session describes an ACP session to tools. It does not change once the session's first run has
// started.
type Session struct {
	// ID identifies the session on the connection.
	ID acp.SessionID
	// Cwd is the session's working directory on the client's machine. It is absolute, in the form
	// of the client's platform.
	Cwd string
	// AdditionalDirectories lists further directories that may be read and written. They are
	// absolute.
	AdditionalDirectories []string
	// Capabilities is what the client announced in initialize. ClientInfo is how it identified
	// itself.
	Capabilities acp.ClientCapabilities
	ClientInfo   *acp.Implementation
	// Policy remembers the user's decisions about permissions. If nil, nothing is remembered.
	Policy *approval.Policy
}
