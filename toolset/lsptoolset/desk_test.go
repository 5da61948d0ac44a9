// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// desk is a project in memory with a server in this process, and the tools for both. It must be used
// in a bubble.
type desk struct {
	t       *testing.T
	w       *disk
	l       *link
	p       *peer
	session *workspace.Session
	set     toolset.Toolset[*workspace.Session]
	// approved is set if calls are approved before they are made.
	approved bool
	answers  []string // for requests that contain one, the next one
	told     strings.Builder
}

// can is what servers of desks can do.
var can = []string{"hover", "documentFormatting", "definition", "references", "documentSymbol", "workspaceSymbol", "rename", "codeAction", "callHierarchy", "implementation", "typeDefinition"}

func newDesk(t *testing.T, server string, o Options, files map[string]string) *desk {
	t.Helper()
	d := &desk{t: t, w: newDisk(t, files)}
	d.l, d.p = newPeer(t, server, func(method, params string) string {
		request := method + " " + params
		for i := 0; i+1 < len(d.answers); i += 2 {
			if strings.Contains(request, d.answers[i]) {
				return d.answers[i+1]
			}
		}
		return `"result":null`
	})
	abilities := map[string]bool{}
	for _, ability := range can {
		abilities[ability+"Provider"] = true
	}
	text, _ := json.Marshal(abilities)
	_ = json.Unmarshal(text, &d.l.can)
	v := d.l.guest.view
	v.pool.views = map[viewKey]*project{{savedText{}, "/project"}: v}
	v.pool.config.ReadyTimeout = 1
	v.allowed = map[string]bool{server: true}
	d.l.guest.server.Command, d.l.guest.server.Edits = []string{"/bin/sh"}, []string{"edit"}
	d.session = workspace.NewSession(d.w)
	d.set = Tools(v.pool, func(s *workspace.Session) *workspace.Session { return s }, o)
	return d
}

// sha is the sum that identifies a change.
var sha = regexp.MustCompile(`edit [0-9a-f]{64}`)

// call calls a tool, and approves what is asked. It writes down what surfaces are shown, what the
// server hears and what is asked, and answers with the text of the result.
func (d *desk) call(tool, args string, answers ...string) string {
	d.answers = answers
	var host toolsettest.Host
	fmt.Fprintf(&d.told, "\n# %s %s\n", tool, squeezed(args))
	run := &toolset.RunContext[*workspace.Session]{Deps: d.session, Host: &host}
	run.Call.Approved = d.approved
	var res toolset.Result
	var err error
	seen, began := 0, time.Now()
	for range 5 {
		res, err = toolsettest.Call(d.t.Context(), d.set, run, tool, args)
		for _, line := range d.p.heard() {
			if params, ok := strings.CutPrefix(line, "workspace/didChangeWatchedFiles "); ok { // in any order
				var p struct{ Changes []lsp.FileEvent }
				_ = json.Unmarshal([]byte(params), &p)
				slices.SortFunc(p.Changes, func(a, b lsp.FileEvent) int { return strings.Compare(a.URI, b.URI) })
				line = fmt.Sprintf("workspace/didChangeWatchedFiles %v", p.Changes)
			}
			fmt.Fprintf(&d.told, "  heard: %s\n", squeezed(line))
		}
		for _, e := range host.Events()[seen:] {
			shown := e.(view.Change).Entity
			fmt.Fprintf(&d.told, "  shown: %s", squeezed(shown.Title))
			for _, at := range shown.Locations {
				fmt.Fprintf(&d.told, " %s:%d", strings.TrimPrefix(at.Path, "/project/"), at.Line)
			}
			d.told.WriteString("\n")
			seen++
		}
		required, ok := errors.AsType[*toolset.ApprovalRequiredError](err)
		if !ok {
			break
		}
		text, _ := json.Marshal(required.Approval)
		fmt.Fprintf(&d.told, "  asked: %s\n", squeezed(sha.ReplaceAllString(string(text), "edit ⟨sum⟩")))
		run.Call = toolset.Call{Approved: true, Approval: &required.Approval}
	}
	text := res.Text
	if err != nil {
		text = "error: " + err.Error()
	} else if res.Outcome != "" {
		text = string(res.Outcome) + ": " + text
	}
	fmt.Fprintf(&d.told, "%s\n", squeezed(text))
	if took := time.Since(began); took > 0 {
		fmt.Fprintf(&d.told, "  after %v\n", took)
	}
	return text
}

// squeezed shows many equal characters as one with their number: "l×201".
func squeezed(text string) string {
	var b strings.Builder
	all := []rune(text)
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && all[n] == all[i] {
			n++
		}
		if n-i >= 12 {
			fmt.Fprintf(&b, "⟨%c×%d⟩", all[i], n-i)
		} else {
			b.WriteString(string(all[i:n]))
		}
		i = n
	}
	return b.String()
}
