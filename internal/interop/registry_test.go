// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// The versions that acpclient.Open starts are those that were driven.
func TestRegistryPinsWhatIsDriven(t *testing.T) {
	driven := map[string]string{}
	files, err := filepath.Glob("agents/*/package.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, "gemini/package.json") {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var p struct{ Dependencies map[string]string }
		if err := json.Unmarshal(data, &p); err != nil {
			t.Fatal(err)
		}
		for name, version := range p.Dependencies {
			driven[name+"@"+version] = name
		}
	}
	for _, name := range []string{"claude-code", "codex", "gemini", "opencode", "pi"} {
		a, err := acpclient.BuiltinRegistry().Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if p := a.Distribution.NPX.Package; driven[p] == "" {
			t.Errorf("%s is %s, which is not driven", name, p)
		}
	}
	a, err := acpclient.BuiltinRegistry().Find("fast-agent")
	if err != nil {
		t.Fatal(err)
	}
	pins, err := os.ReadFile("python/fast-agent-requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimPrefix(a.Distribution.UVX.Package, "fast-agent-acp==")
	if !strings.Contains(string(pins), "fast-agent-mcp=="+version+"\n") {
		t.Errorf("fast-agent is %s, which is not driven", version)
	}
}

// Real installers install agents of the registry's form, which then answer.
func TestAgentsAreInstalledByNpmAndUv(t *testing.T) {
	deepTier(t)
	uv := filepath.Join(installed(t, uvPeers), "bin")
	t.Setenv("PATH", uv+":"+os.Getenv("PATH"))
	t.Setenv("UV_PYTHON_DOWNLOADS", "never")
	for _, entry := range []string{
		`{"id":"pi-acp","name":"pi","version":"0.0.34","description":"pi","distribution":{"npx":{"package":"pi-acp@0.0.34"}}}`,
		`{"id":"time","name":"No agent","version":"2026.10.19","description":"A small program.","distribution":{"uvx":{"package":"mcp-server-time==2026.10.19"}}}`,
	} {
		all, err := acpclient.ParseRegistry([]byte(entry))
		if err != nil {
			t.Fatal(err)
		}
		a, store := all.Agents()[0], acpclient.AgentStore{Dir: t.TempDir()}
		if err := store.Install(t.Context(), a, nil); err != nil {
			t.Fatal(err)
		}
		command, err := store.Command(a)
		if err != nil {
			t.Fatal(err)
		}
		if a.Distribution.NPX == nil {
			continue
		}
		client, err := acpclient.Start(t.Context(), acpclient.Command{Path: command.Path, Args: command.Args, Env: command.Env}, acpclient.Config{StartTimeout: slow})
		if err != nil {
			t.Fatal(err)
		}
		if client.Agent().ProtocolVersion != acp.Version {
			t.Errorf("%+v", client.Agent())
		}
		_ = client.Close()
	}
}

var uvPeers = sync.OnceValues(func() (string, error) { return pythonPackages("uv", "uv-requirements.txt") })
