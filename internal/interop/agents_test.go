// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
)

// These tests drive agents that others wrote, with package acpclient.

// person answers the questions of an agent, and notes their titles.
type person struct {
	kind acp.PermissionOptionKind

	mu    sync.Mutex
	asked []string
}

func (p *person) answer(_ context.Context, r *acpclient.PermissionRequest) (acp.PermissionOptionID, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r.Approval.Title)
	return r.Option(p.kind), nil
}

// slow is how long a foreign agent may take for anything: some of them load for seconds, and longer on a busy machine.
const slow = 3 * time.Minute

// drive starts an agent, logs in if method says how, sends a prompt, and wants the turn to end by itself.
func drive(t *testing.T, command acpclient.Command, method acp.AuthMethodID, config acpclient.Config, dir, prompt string) *acpclient.Turn {
	t.Helper()
	turn := converse(t, command, method, config, dir, prompt)
	if turn.StopReason != acp.StopReasonEndTurn {
		t.Errorf("the turn ended with %s", turn.StopReason)
	}
	return turn
}

// converse is drive for a turn that may end otherwise.
func converse(t *testing.T, command acpclient.Command, method acp.AuthMethodID, config acpclient.Config, dir, prompt string) *acpclient.Turn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), slow)
	defer cancel()
	config.StartTimeout = slow
	client, err := acpclient.Start(ctx, command, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if method != "" {
		if err := client.Authenticate(ctx, method); err != nil {
			t.Fatal(err)
		}
	}
	session, err := client.NewSession(ctx, acpclient.SessionConfig{Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := session.Say(ctx, prompt)
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Close(ctx); err != nil {
		t.Error(err)
	}
	return turn
}

// calls returns the tool calls of a turn as text.
func calls(turn *acpclient.Turn) string {
	var all []string
	for e := range turn.Snapshot.Of(view.ToolCall) {
		all = append(all, fmt.Sprintf("%s %s", e.Title, e.Status))
	}
	return strings.Join(all, "\n")
}

func TestPydanticAgentIsDriven(t *testing.T) {
	deepTier(t)
	dir := installed(t, pydanticPeers)
	script, err := filepath.Abs(filepath.Join("python", "pydantic_agent.py"))
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[acp.PermissionOptionKind]string{
		acp.PermissionOptionKindAllowOnce:  "add completed\ndelete_file completed",
		acp.PermissionOptionKindRejectOnce: "add completed\ndelete_file failed",
	} {
		p := &person{kind: kind}
		turn := drive(t, acpclient.Command{Path: filepath.Join(dir, "bin", "python"), Args: []string{script}}, "", acpclient.Config{Permission: p.answer}, t.TempDir(), "Use your tools.")
		if got := calls(turn); got != want {
			t.Errorf("%s: the calls are\n%s\nwant\n%s", kind, got, want)
		}
		if len(p.asked) != 1 || p.asked[0] != "delete_file" {
			t.Errorf("asked %q", p.asked)
		}
		if !strings.Contains(turn.Text(), `"add":40`) {
			t.Errorf("it said %q", turn.Text())
		}
		if turn.Usage == nil || turn.Usage.InputTokens == 0 || turn.Usage.OutputTokens == 0 {
			t.Errorf("usage %+v", turn.Usage)
		}
	}
}

var pydanticPeers = sync.OnceValues(func() (string, error) { return pythonPackages("pydantic-acp", "agent-requirements.txt") })
