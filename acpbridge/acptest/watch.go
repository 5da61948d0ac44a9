// SPDX-License-Identifier: Apache-2.0

package acptest

import (
	"fmt"
	"path"
	"regexp"
	"slices"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// watcher looks for what an agent must not do.
type watcher struct {
	calls      map[acp.ToolCallID]acp.ToolCallStatus // announced
	violations []string
}

// Violations returns what the agent did against the protocol: a tool call announced twice, not
// announced before it is updated or asked about, or updated after its end; a status that goes back;
// a call of something that the client did not announce; a path that is not absolute; a terminal
// used or released after its release.
func (c *Client) Violations() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.watch.violations)
}

func (c *Client) violated(format string, args ...any) {
	c.watch.violations = append(c.watch.violations, fmt.Sprintf(format, args...))
}

func (c *Client) checkAnnounced(method string, params any) {
	can := &c.capabilities
	announced := true
	switch method {
	case acp.MethodCreateElicitation:
		announced = c.canElicit(params.(*acp.CreateElicitationRequest))
	case acp.MethodReadTextFile:
		announced = can.FS.ReadTextFile
	case acp.MethodWriteTextFile:
		announced = can.FS.WriteTextFile
	case acp.MethodCreateTerminal, acp.MethodTerminalOutput, acp.MethodWaitForTerminalExit, acp.MethodKillTerminal, acp.MethodReleaseTerminal:
		announced = can.Terminal
	}
	if !announced {
		c.violated("%s: the client did not announce that it can do this", method)
	}
}

var windowsAbsolute = regexp.MustCompile(`^([A-Za-z]:[\\/]|\\\\)`)

func (c *Client) checkPath(method, name string) {
	if !path.IsAbs(name) && !windowsAbsolute.MatchString(name) {
		c.violated("%s: the path %q is not absolute", method, name)
	}
}

func (c *Client) checkPermission(req *acp.RequestPermissionRequest) {
	id := req.ToolCall.ToolCallID
	if status, ok := c.watch.calls[id]; !ok {
		c.violated("permission for tool call %q, which has not been announced", id)
	} else if final(status) {
		c.violated("permission for tool call %q, which has ended", id)
	}
	seen := map[acp.PermissionOptionID]bool{}
	for _, o := range req.Options {
		if seen[o.OptionID] {
			c.violated("permission for tool call %q: option %q twice", id, o.OptionID)
		}
		seen[o.OptionID] = true
	}
	if len(req.Options) == 0 {
		c.violated("permission for tool call %q without options", id)
	}
}

func (c *Client) checkUpdate(u *acp.SessionUpdate) {
	switch {
	case u.ToolCall != nil:
		id := u.ToolCall.ToolCallID
		if _, ok := c.watch.calls[id]; ok {
			c.violated("tool call %q announced twice", id)
		}
		c.watch.calls[id] = u.ToolCall.Status
		if u.ToolCall.Title == "" {
			c.violated("tool call %q has no title", id)
		}
	case u.ToolCallUpdate != nil:
		id, status := u.ToolCallUpdate.ToolCallID, u.ToolCallUpdate.Status
		before, ok := c.watch.calls[id]
		switch {
		case !ok:
			c.violated("update of tool call %q, which has not been announced", id)
			return
		case final(before):
			c.violated("update of tool call %q, which has ended", id)
		case status != "" && rank(status) < rank(before):
			c.violated("status of tool call %q went from %s to %s", id, before, status)
		}
		if status != "" {
			c.watch.calls[id] = status
		}
	}
}

func final(s acp.ToolCallStatus) bool { return rank(s) == 2 }

func rank(s acp.ToolCallStatus) int {
	switch s {
	case "", acp.ToolCallStatusPending:
		return 0
	case acp.ToolCallStatusInProgress:
		return 1
	}
	return 2
}
