// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

const webToken = "a token of the tests of the web"

var webPeers = sync.OnceValues(func() (string, error) { return nodePackages("web", "web") })

// webServer serves an agent with the protocols of pages. What is paid is sent to paid.
type webServer struct {
	*httptest.Server
	paid chan string
}

type payment struct {
	To string `json:"to"`
}

func serveWeb(t *testing.T) *webServer {
	t.Helper()
	s := &webServer{paid: make(chan string, 100)}
	gate := make(chan struct{})
	pay := toolset.Func("pay", "Pay.", func(_ context.Context, _ *toolset.RunContext[struct{}], in payment) (string, error) {
		s.paid <- in.To
		return "paid " + in.To, nil
	}, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[struct{}], in payment) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay " + in.To}, nil
	}))
	look := toolset.Func("look", "Look.", func(_ context.Context, run *toolset.RunContext[struct{}], in payment) (string, error) {
		run.Emit(view.Entity{ID: transcript.PlanID, Kind: view.Plan, Steps: []view.Step{{Text: "Look", Status: view.Completed}, {Text: "Pay"}}})
		return "seen " + in.To, nil
	})
	webHelper := agent.Must(agent.New(agent.Config[struct{}, string]{Name: "helper", Model: webModel(gate), Tools: []*toolset.Tool[struct{}]{pay}}))
	a := agent.Must(agent.New(agent.Config[struct{}, string]{
		Model: webModel(gate), Tools: []*toolset.Tool[struct{}]{pay, look, agent.AsTool[struct{}]("delegate", "Delegate.", webHelper, func(struct{}) struct{} { return struct{}{} }), toolset.ExternalTool[struct{}, payment]("choose", "Choose.")},
	}))
	h, err := webbridge.New(webbridge.Config[struct{}, string]{
		Host: host.Config[struct{}, string]{Agent: a, Logger: slog.New(slog.DiscardHandler)},
		Options: webbridge.Options{Token: webToken, Protocols: []webbridge.Protocol{
			webbridge.UIStream(webbridge.UIStreamOptions{Results: []string{"choose"}}), webbridge.AGUI(webbridge.AGUIOptions{Results: []string{"choose"}}),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.HandleFunc("/gate", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case gate <- struct{}{}:
		case <-r.Context().Done():
		}
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = h.Shutdown(ctx)
		s.Close()
	})
	return s
}

// webModel is a model that does what prompts say.
func webModel(gate <-chan struct{}) model.Model {
	info := model.Info{Provider: "web", Name: "web", Media: []string{"image"}}
	return model.Func(info, func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		prompts, n, last := 0, 0, ""
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				switch p.Kind {
				case model.PartUser:
					prompts, n, last = prompts+1, 0, p.Text
				case model.PartToolReturn, model.PartRetry:
					n++
				}
			}
		}
		m, err := webAnswer(last, prompts, n)
		if err != nil {
			return nil, err
		}
		if last != "slow" {
			return m, modeltest.Emit(ctx, m, sink)
		}
		for i, half := range []string{"first half", ", second half"} {
			if i > 0 {
				select {
				case <-gate:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			if err := sink(model.Delta{Kind: model.PartText, Text: half}); err != nil {
				return nil, err
			}
		}
		return m, nil
	})
}

// webAnswer is the answer to a prompt, of so many, after so many results.
func webAnswer(last string, prompts, n int) (*model.Message, error) {
	switch {
	case last == "fail":
		return nil, errors.New("the provider is away")
	case last == "count":
		return model.Response(model.Text(fmt.Sprintf("%d prompts", prompts))), nil
	case last == "slow":
		return model.Response(model.Text("first half, second half")), nil
	case last == "pay" && n == 0:
		return model.Response(model.Thinking("Who is it?"), model.Text("I look."), model.ToolCall("l", "look", `{"to":"Ada"}`)), nil
	case last == "pay" && n == 1:
		return model.Response(model.ToolCall("a", "pay", `{"to":"Ada"}`), model.ToolCall("b", "pay", `{"to":"Bob"}`)), nil
	case last == "delegate" && n == 0:
		return model.Response(model.ToolCall("d", "delegate", `{"prompt":"inner"}`)), nil
	case last == "inner" && n == 0:
		return model.Response(model.ToolCall("i", "pay", `{"to":"Cleo"}`)), nil
	case last == "choose" && n == 0:
		return model.Response(model.ToolCall("c", "choose", `{"to":"one of two"}`)), nil
	case n > 0:
		cited := model.Part{Kind: model.PartCitation, URL: "https://example.com/ada", Name: "Ada"}
		return model.Response(model.Text("All done."), cited, model.Media("image/png", []byte("\x89PNG\r\n\x1a\n"))), nil
	}
	return model.Response(model.Text("You said " + last)), nil
}

// drive runs a program of the directory web against a server, and returns what it prints.
func (s *webServer) drive(t *testing.T, program string, env ...string) map[string]json.RawMessage {
	t.Helper()
	deepTier(t)
	dir := installed(t, webPeers)
	source, err := os.ReadFile(filepath.Join("web", program))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "--input-type=module", "--eval", string(source))
	cmd.Dir = dir
	cmd.Env = cleanEnv(append(env, "HOME="+t.TempDir(), "BASE="+s.URL, "TOKEN="+webToken)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, stderr.Bytes())
	}
	var result map[string]json.RawMessage
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatalf("%s prints: %s\n%s", program, out, stderr.Bytes())
	}
	return result
}

func (s *webServer) mustHavePaid(t *testing.T, want ...string) {
	t.Helper()
	got := []string{}
	for len(s.paid) > 0 {
		got = append(got, <-s.paid)
	}
	if !slices.Equal(got, want) {
		t.Errorf("paid %q, want %q", got, want)
	}
}

func TestUseChat(t *testing.T) {
	s := serveWeb(t)
	t.Logf("%s", s.drive(t, "chat.mjs")["chunks"])
	s.mustHavePaid(t, "Ada", "Dora", "Cleo")
}

func TestHttpAgent(t *testing.T) {
	s := serveWeb(t)
	t.Logf("%s", s.drive(t, "agui.mjs")["events"])
	s.mustHavePaid(t, "Dora", "Cleo")
}

// TestPageOfTheDocs runs the page with useChat that docs/web.md has.
func TestPageOfTheDocs(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "web.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, page, found := strings.Cut(string(data), "```text\n// ChatPage.jsx\n")
	page, _, closed := strings.Cut(page, "```\n")
	if !found || !closed {
		t.Fatal("docs/web.md has no page")
	}
	deepTier(t)
	dir := installed(t, webPeers) // where it finds its packages
	file, err := os.CreateTemp(dir, "page-*.mjs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(file.Name()) })
	_ = file.Close()
	s := serveWeb(t)
	s.drive(t, "page.mjs", "PAGE="+page, "FILE="+file.Name())
	s.mustHavePaid(t, "Ada")
}
