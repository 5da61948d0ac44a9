// SPDX-License-Identifier: Apache-2.0

// Package fleettest has people talk with an agent through pages and editors, while the processes that
// serve them are killed.
package fleettest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

const (
	env   = "PONTE_TEST_FLEET"
	token = "0123456789abcdef"
)

// Child does the work of a process, if this is one. TestMain calls it first, and ends if it returns
// true.
func Child(open func(spec string) (session.Store, error)) bool {
	role, rest, ok := strings.Cut(os.Getenv(env), "|")
	if !ok {
		return false
	}
	marks, spec, _ := strings.Cut(rest, "|")
	err := serve(role, marks, func() (session.Store, error) { return open(spec) })
	fmt.Fprintln(os.Stderr, role, err)
	os.Exit(1)
	return true
}

func serve(role, marks string, open func() (session.Store, error)) error {
	store, err := open()
	for tries := 0; err != nil && tries < 300; tries++ { // the database may be away
		time.Sleep(100 * time.Millisecond)
		store, err = open()
	}
	if err != nil {
		return err
	}
	c := host.Config[deps.ACPDeps, string]{
		Agent: newAgent(marks), Store: store, Attempts: 1000, Logger: slog.New(slog.DiscardHandler),
	}
	if role == "editor" {
		return acpbridge.Serve(context.Background(), acpbridge.Config[deps.ACPDeps, string]{
			Host: c,
		})
	}
	c.Deps = func(context.Context, *host.Session) (deps.ACPDeps, error) { return deps.ACPDeps{}, nil }
	h, err := webbridge.New(webbridge.Config[deps.ACPDeps, string]{
		Host: c, Options: webbridge.Options{
			Token: token, Dirs: []string{filepath.Dir(marks)}, Logger: c.Logger,
		},
	})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = h.Serve(context.Background()) }()
	fmt.Println(l.Addr())
	return http.Serve(l, h)
}

// in has the arguments of the tools.
type in struct {
	To string `json:"to"`
}

// newAgent returns an agent that for a prompt NAME marks NAME-a, which needs an approval, asks a
// question, has another agent mark NAME-b, and says "NAME done".
func newAgent(marks string) *agent.Agent[deps.ACPDeps, string] {
	mark := func(_ context.Context, rc *toolset.RunContext[deps.ACPDeps], in in) (string, error) {
		f, err := os.OpenFile(marks, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		_, err = fmt.Fprintf(f, "%s %s\n", in.To, rc.IdempotencyKey())
		return "marked " + in.To, errors.Join(err, f.Close())
	}
	approve := toolset.Approve(func(
		_ context.Context, _ *toolset.RunContext[deps.ACPDeps], in in,
	) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Mark " + in.To}, nil
	})
	ask := func(ctx context.Context, rc *toolset.RunContext[deps.ACPDeps], _ in) (string, error) {
		schema := json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}}}`)
		r, err := rc.Ask(ctx, toolset.Question{Message: "Whom?", Schema: schema})
		if errors.Is(err, toolset.ErrNobody) {
			return "nobody", nil
		}
		return string(r.Action), err
	}
	inner := agent.Must(agent.New(agent.Config[deps.ACPDeps, string]{
		Name: "helper", Model: steps("mark"), Tools: []*toolset.Tool[deps.ACPDeps]{
			toolset.Func("mark", "Mark.", mark),
		},
	}))
	return agent.Must(agent.New(agent.Config[deps.ACPDeps, string]{
		Name: "fleet", Model: steps("approved", "ask", "help"), Tools: []*toolset.Tool[deps.ACPDeps]{
			toolset.Func("approved", "Mark with an approval.", mark, approve),
			toolset.Func("ask", "Ask.", ask),
			agent.AsTool("help", "Have it marked.", inner, func(d deps.ACPDeps) deps.ACPDeps { return d }),
		},
	}))
}

// steps is a model that calls tools one after the other, and then ends.
func steps(tools ...string) model.Model {
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		name, n := "", 0
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				switch {
				case p.Kind == model.PartUser:
					name, n = p.Text, 0
				case p.Kind == model.PartToolReturn || p.Kind == model.PartRetry:
					n++
				}
			}
		}
		if n >= len(tools) {
			return model.Response(model.Text(name + " done")), nil
		}
		args := map[string]string{"to": name + "-" + tools[n]}
		if tools[n] == "help" {
			args = map[string]string{"prompt": name + "-help"}
		}
		data, err := json.Marshal(args)
		return model.Response(model.ToolCall(fmt.Sprint("c", n), tools[n], string(data))), err
	})
}

// readMarks returns the keys under which each mark was made.
func readMarks(name string) (map[string]map[string]bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	marks := map[string]map[string]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		what, key, ok := strings.Cut(lines.Text(), " ")
		if !ok {
			continue // it was cut off
		}
		if marks[what] == nil {
			marks[what] = map[string]bool{}
		}
		marks[what][key] = true
	}
	return marks, lines.Err()
}
