// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

var (
	mcpNodeServers   = sync.OnceValues(func() (string, error) { return nodePackages("mcp", "mcp") })
	mcpPythonServers = sync.OnceValues(func() (string, error) { return pythonPackages("mcp-python", "mcp-requirements.txt") })
)

func mcpScript(t testing.TB, server string) string {
	return filepath.Join(installed(t, mcpNodeServers), "node_modules", "@modelcontextprotocol", server, "dist", "index.js")
}

// mcpConnect connects to a server in one of the protocol's versions.
func mcpConnect(t *testing.T, transport mcptoolset.Transport, version string) *mcptoolset.Server {
	t.Helper()
	s, err := mcptoolset.New(mcptoolset.Config{
		Name: "s", Transport: transport, ProtocolVersion: version, Unprefixed: true, Sampling: mcptoolset.SamplingAllow,
		ConnectTimeout: patience, Wait: patience,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// mcpCall calls a tool in a run with a person and a model.
func mcpCall(t *testing.T, s *mcptoolset.Server, host toolset.Host, tool, args string) toolset.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run := &toolset.RunContext[struct{}]{Host: host}
	run.Call.Approved, run.RunID = true, "run"
	set := mcptoolset.Tools(s, mcptoolset.Options[struct{}]{Resources: true, Prompts: true})
	res, err := toolsettest.Call(ctx, set, run, tool, args)
	if err != nil || res.Outcome != model.OutcomeSuccess {
		t.Fatalf("%s %s: %v %+v; %v", tool, args, err, res, s.Status().Err)
	}
	return res
}

func mcpNames(t *testing.T, s *mcptoolset.Server) []string {
	t.Helper()
	run := &toolset.RunContext[struct{}]{}
	in, err := mcptoolset.Tools(s, mcptoolset.Options[struct{}]{}).Open(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	l, err := in.Tools(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range l.Tools {
		names = append(names, tool.Def.Name)
	}
	return names
}

// mcpVersions are the oldest and the newest version that the SDK speaks.
var mcpVersions = []string{"2024-11-05", ""}

func TestMCPServerEverything(t *testing.T) {
	script := mcpScript(t, "server-everything")
	t.Setenv("OPENAI_API_KEY", "sk-model-key")
	for _, c := range []struct {
		name string
		open func(t *testing.T) mcptoolset.Transport
	}{
		{"stdio", func(*testing.T) mcptoolset.Transport {
			return mcptoolset.Command{Path: "node", Args: []string{script, "stdio"}}
		}},
		{"streamableHttp", func(t *testing.T) mcptoolset.Transport {
			return mcptoolset.HTTP{URL: mcpListen(t, script, "streamableHttp") + "/mcp"}
		}},
		{"sse", func(t *testing.T) mcptoolset.Transport {
			return mcptoolset.SSE{URL: mcpListen(t, script, "sse") + "/sse"}
		}},
	} {
		for _, version := range mcpVersions {
			if c.name == "sse" && version == "" {
				continue // the newest version has no such transport
			}
			t.Run(c.name+"/"+version, func(t *testing.T) { mcpEverything(t, mcpConnect(t, c.open(t), version)) })
		}
	}
}

// mcpListen starts the server on a port of its own.
func mcpListen(t *testing.T, script, transport string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	_, port, _ := net.SplitHostPort(address)
	cmd := exec.Command("node", script, transport)
	cmd.Env = append(os.Environ(), "PORT="+port, "OPENAI_API_KEY=")
	if err := startGroup(t, cmd); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return "http://" + address
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func mcpEverything(t *testing.T, s *mcptoolset.Server) {
	host := &toolsettest.Host{
		Asker: toolset.AskerFuncs{OnAnswer: func(_ context.Context, q toolset.Question) (toolset.Reply, error) {
			if !strings.HasPrefix(q.Message, `The MCP server "s" asks:`) {
				return toolset.Reply{}, fmt.Errorf("message %q", q.Message)
			}
			return toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`{"name":"Ada Lovelace"}`)}, nil
		}},
		Model: model.Func(model.Info{}, func(ctx context.Context, r *model.Request, sink model.Sink) (*model.Message, error) {
			return modeltest.Script(modeltest.SayText("sampled answer")).Generate(ctx, r, sink)
		}),
	}
	names := mcpNames(t, s)
	for _, c := range []struct{ tool, args, want string }{
		{"echo", `{"message":"hello"}`, "hello"},
		{"get-sum", `{"a":2,"b":3}`, "5"},
		{"get-annotated-message", `{"messageType":"error","includeImage":true}`, "Error"},
		{"get-structured-content", `{"location":"Chicago"}`, "temperature"},
		{"get-tiny-image", `{}`, "image/png"},
		{"get-resource-links", `{"count":2}`, "[resource "},
		{"get-resource-reference", `{"resourceType":"Text","resourceId":1}`, "[resource "},
		{"trigger-long-running-operation", `{"duration":0.2,"steps":2}`, "completed"},
		{"trigger-elicitation-request", `{}`, "Ada Lovelace"},
		{"trigger-sampling-request", `{"prompt":"2+2?","maxTokens":20}`, "sampled answer"},
		{"get-env", `{}`, "PATH"},
	} {
		if !slices.Contains(names, c.tool) {
			t.Errorf("no tool %s among %v", c.tool, names)
			continue
		}
		res := mcpCall(t, s, host, c.tool, c.args)
		if !strings.Contains(res.Text, c.want) {
			t.Errorf("%s: %q lacks %q", c.tool, res.Text, c.want)
		}
		if strings.Contains(res.Text, "sk-model-key") {
			t.Errorf("%s: the model's key is passed on", c.tool)
		}
	}
	progress := slices.ContainsFunc(host.Events(), func(v any) bool { p, ok := v.(mcptoolset.Progress); return ok && p.Total == 2 })
	if !progress {
		t.Errorf("no progress: %v", host.Events())
	}
	resources := mcpCall(t, s, host, "list_resources", `{}`).Text
	uri, _, _ := strings.Cut(strings.TrimPrefix(resources, "- "), " ")
	if res := mcpCall(t, s, host, "read_resource", fmt.Sprintf(`{"uri":%q}`, uri)); res.Text == "" {
		t.Errorf("resource %s is empty", uri)
	}
	if prompts := mcpCall(t, s, host, "list_prompts", `{}`).Text; !strings.Contains(prompts, "simple-prompt") {
		t.Errorf("prompts: %s", prompts)
	}
	if res := mcpCall(t, s, host, "get_prompt", `{"name":"simple-prompt"}`); !strings.Contains(res.Text, "[user]") {
		t.Errorf("prompt: %s", res.Text)
	}
}

func TestMCPServerFilesystem(t *testing.T) {
	script := mcpScript(t, "server-filesystem")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("alpha"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, version := range mcpVersions {
		s := mcpConnect(t, mcptoolset.Command{Path: "node", Args: []string{script, dir}}, version)
		res := mcpCall(t, s, nil, "read_text_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, "a.txt")))
		if !strings.Contains(res.Text, "alpha") {
			t.Errorf("%q", res.Text)
		}
	}
}

func TestMCPServerMemory(t *testing.T) {
	script := mcpScript(t, "server-memory")
	for _, version := range mcpVersions {
		command := mcptoolset.Command{Path: "node", Args: []string{script}, Env: []string{"MEMORY_FILE_PATH=" + filepath.Join(t.TempDir(), "memory.jsonl")}}
		s := mcpConnect(t, command, version)
		mcpCall(t, s, nil, "create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["wrote the first program"]}]}`)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		s = mcpConnect(t, command, version)
		if res := mcpCall(t, s, nil, "search_nodes", `{"query":"program"}`); !strings.Contains(res.Text, "Ada") {
			t.Errorf("%q", res.Text)
		}
	}
}

func TestMCPServersOnPython(t *testing.T) {
	deepTier(t)
	interpreter := filepath.Join(installed(t, mcpPythonServers), "bin", "python")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprint(w, "what is on the page")
	}))
	defer web.Close()
	for _, version := range mcpVersions {
		s := mcpConnect(t, mcptoolset.Command{Path: interpreter, Args: []string{"-m", "mcp_server_time", "--local-timezone", "UTC"}}, version)
		if res := mcpCall(t, s, nil, "get_current_time", `{"timezone":"Europe/Oslo"}`); !strings.Contains(res.Text, "Europe/Oslo") {
			t.Errorf("%q", res.Text)
		}
		s = mcpConnect(t, mcptoolset.Command{Path: interpreter, Args: []string{"-m", "mcp_server_fetch", "--allow-private-ips"}}, version)
		if res := mcpCall(t, s, nil, "fetch", fmt.Sprintf(`{"url":%q}`, web.URL+"/page")); !strings.Contains(res.Text, "what is on the page") {
			t.Errorf("%q", res.Text)
		}
	}
}
