// SPDX-License-Identifier: Apache-2.0

//go:build unix

package chat_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app/chat"
)

// script is what a person enters. A line with CODE is entered when a new question is shown, with its code.
type script struct {
	lines []string
	out   *paper
	asked int
}

var codes = regexp.MustCompile(`a number and (\w{5}), such as`)

func (s *script) Read(p []byte) (int, error) {
	if len(s.lines) == 0 {
		return 0, io.EOF
	}
	line := s.lines[0] + "\n"
	if strings.Contains(line, "CODE") {
		var all [][]string
		for begin := time.Now(); len(all) <= s.asked && time.Since(begin) < 20*time.Second; time.Sleep(time.Millisecond) {
			all = codes.FindAllStringSubmatch(s.out.String(), -1)
		}
		if len(all) > s.asked {
			s.asked = len(all)
			line = strings.ReplaceAll(line, "CODE", all[s.asked-1][1])
		}
	}
	s.lines = s.lines[1:]
	return copy(p, line), nil
}

// inProcess connects to an agent of the tests in this process.
func inProcess(ctx context.Context, c acpclient.Config) (*acpclient.Client, error) {
	agentIn, clientOut := acp.Pipe()
	clientIn, agentOut := acp.Pipe()
	conn := acp.NewAgentConn(agentIn, agentOut, func(c *acp.AgentConn) acp.Agent { return &fakeAgent{client: c} }, nil)
	go func() { _ = conn.Serve(context.WithoutCancel(ctx)) }()
	return acpclient.Connect(ctx, clientIn, clientOut, c)
}

// What a person sees of whole conversations, and what programs see of them.
func TestConversationsOfPeople(t *testing.T) {
	var b strings.Builder
	when := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC).Local().Format("2006-01-02 15:04")
	for _, c := range []struct {
		name  string
		lines []string
		with  func(*chat.Config)
	}{
		{"nothing", nil, nil},
		{"words", []string{"say one", "", " ", "say two; say three"}, nil},
		{"without a person", []string{"say one", "", "permission a", "say two"}, func(c *chat.Config) { c.Person = false }},
		{"a question that is answered", []string{"permission a; say done", "1 CODE", "permission b", "2 CODE", "permission c", "3 CODE", "say bye"}, nil},
		{"answers that are none", []string{"permission a; say done", "4 CODE", "yes", "0 CODE", "1", "2 CODE", "say bye"}, nil},
		{"a question at the end", []string{"permission a; say done"}, nil},
		{"all is allowed", []string{"permission a; say done"}, func(c *chat.Config) { c.AllowAll = true }},
		{"one prompt, refused", []string{"3 CODE"}, func(c *chat.Config) { c.Prompt = "permission a; say done" }},
		{"one prompt, allowed", []string{"1 CODE"}, func(c *chat.Config) { c.Prompt = "permission a; say done" }},
		{"a form", []string{"say first; form; say done", "1 CODE", "oslo", "Oslo", "yes", "say bye"}, nil},
		{"a form that is declined", []string{"form; say done", "2 CODE", "say bye"}, nil},
		{"a form that is left", []string{"form; say done", "1 CODE", "Oslo"}, nil},
		{"an address", []string{"visit; say done", "1 CODE", "visit", "2 CODE"}, nil},
		{"reasons to stop", []string{"stop refusal", "stop max_tokens", "stop max_turn_requests", "stop odd", "stop cancelled", "error broken", "say bye"}, nil},
		{"reasons to stop, without a person", []string{"stop refusal", "say bye", "error broken"}, func(c *chat.Config) { c.Person = false }},
		{"one prompt that is cancelled", nil, func(c *chat.Config) { c.Prompt = "stop cancelled" }},
		{"one prompt that is not done", nil, func(c *chat.Config) { c.Prompt = "stop max_tokens" }},
		{"one prompt that fails", nil, func(c *chat.Config) { c.Prompt = "error broken" }},
		{"sessions", []string{"/sessions 1", "/sessions", "/sessions 0", "/sessions 2", "/sessions x", "/sessions 1", "say on", "/new x", "/new", "/new ", "/new\t", " /new", "/sessions 1", "/unknown"}, nil},
		{"a session that goes on", []string{"say on"}, func(c *chat.Config) { c.Resume = "old" }},
		{"the last session", []string{"say on"}, func(c *chat.Config) { c.Continue = true }},
		{"a file that is written", []string{"write new.txt; read new.txt", "1 CODE"}, nil},
		{"events", []string{"say one", "permission a", "stop refusal", "error broken", "/sessions", "form", "visit", "write new.txt"}, func(c *chat.Config) { c.JSON = true }},
		{"events, all allowed", nil, func(c *chat.Config) {
			c.JSON, c.AllowAll, c.Prompt = true, true, "permission a; write new.txt; say done"
		}},
		{"events of one that fails", nil, func(c *chat.Config) { c.JSON, c.Prompt = true, "error broken" }},
		{"events of one that is cancelled", nil, func(c *chat.Config) { c.JSON, c.Prompt = true, "stop cancelled" }},
		{"colours", []string{"say one", "permission a", "3 CODE", "stop refusal"}, func(c *chat.Config) { c.Color = true }},
		{"another name", nil, func(c *chat.Config) { c.Program, c.Prompt = "desk", "error broken" }},
		{"what the agent cannot do", nil, func(c *chat.Config) { c.Prompt = "odd" }},
	} {
		p := newPerson(t)
		p.In, p.Connect = &script{lines: c.lines, out: &p.out}, inProcess
		if c.with != nil {
			c.with(&p.Config)
		}
		code := p.start(t)()
		fmt.Fprintf(&b, "=== %s: %d\n", c.name, code)
		for _, one := range [][2]string{{"> ", p.out.String()}, {"! ", p.errors.String()}} {
			for _, m := range codes.FindAllStringSubmatch(one[1], -1) {
				one[1] = strings.ReplaceAll(one[1], m[1], "CODE")
			}
			one[1] = strings.NewReplacer(when, "WHEN", p.Dir, "DIR", "\x1b", "⟨ESC⟩").Replace(one[1])
			for l := range strings.Lines(one[1]) {
				if strings.HasPrefix(l, `{"type":"change"`) {
					continue // they come in one piece or in several
				}
				b.WriteString(strings.TrimRight(one[0]+l, " \n") + "\n")
			}
		}
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/people.txt", []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile("testdata/people.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "go test -update writes it anew")
}
