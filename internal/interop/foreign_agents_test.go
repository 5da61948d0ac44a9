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

	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

const touch = "touch made.txt"

// foreigners are the agents, by names for people.
var foreigners = map[string]*foreign{
	"claude-agent-acp": {
		install: agentPackages("claude"), provider: anthropicProvider, prompt: "Make made.txt.", asks: true,
		command: func(t *testing.T, p place) acpclient.Command {
			return p.script("@agentclientprotocol/claude-agent-acp/dist/index.js", nil, "ANTHROPIC_BASE_URL="+p.url, "ANTHROPIC_API_KEY=dummy",
				"CLAUDE_CONFIG_DIR="+filepath.Join(p.home, "claude"), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1")
		},
	},
	"codex-acp": {
		install: agentPackages("codex"), provider: responsesProvider, prompt: "Make made.txt.",
		command: func(t *testing.T, p place) acpclient.Command {
			p.write(t, "codex/config.toml", codexConfig(p.url))
			return p.script("@agentclientprotocol/codex-acp/dist/index.js", nil, "CODEX_HOME="+filepath.Join(p.home, "codex"), "FAKE_KEY=x")
		},
	},
	"codex-acp of Zed": {
		install: agentPackages("codex-zed"), provider: responsesProvider, prompt: "Make made.txt.", asks: true, aborts: true,
		command: func(t *testing.T, p place) acpclient.Command {
			p.write(t, "codex/config.toml", `approval_policy="untrusted"`+"\n"+`sandbox_mode="workspace-write"`+"\n"+codexConfig(p.url))
			return p.script("@zed-industries/codex-acp/bin/codex-acp.js", nil, "CODEX_HOME="+filepath.Join(p.home, "codex"), "FAKE_KEY=x")
		},
	},
	"opencode": {
		install: agentPackages("opencode", "--ignore-scripts=false"), provider: chatProvider, prompt: "Make made.txt.", asks: true,
		command: func(t *testing.T, p place) acpclient.Command {
			config := map[string]any{
				"autoupdate": false, "share": "disabled", "model": "fake/fake-model", "small_model": "fake/fake-model",
				"permission": map[string]any{"bash": "ask", "edit": "ask"},
				"provider": map[string]any{"fake": map[string]any{
					"npm": "@ai-sdk/openai-compatible", "options": map[string]any{"baseURL": p.url + "/v1", "apiKey": "x"},
					"models": map[string]any{"fake-model": map[string]any{"tool_call": true, "limit": map[string]any{"context": 128000, "output": 4096}}},
				}},
			}
			data, _ := json.Marshal(config)
			p.write(t, "opencode.json", string(data))
			c := p.script("", nil, "OPENCODE_CONFIG="+filepath.Join(p.home, "opencode.json"), "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1")
			c.Path, c.Args = filepath.Join(p.dir, "node_modules", ".bin", "opencode"), []string{"acp"}
			return c
		},
	},
	"pi": {
		install: agentPackages("pi"), provider: chatProvider, prompt: "Make made.txt.",
		command: func(t *testing.T, p place) acpclient.Command {
			models := map[string]any{"providers": map[string]any{"fake": map[string]any{
				"baseUrl": p.url + "/v1", "api": "openai-completions", "apiKey": "x", "models": []any{map[string]any{"id": "fake-model"}},
			}}}
			data, _ := json.Marshal(models)
			p.write(t, ".pi/agent/models.json", string(data))
			p.write(t, ".pi/agent/settings.json", `{"defaultProvider":"fake","defaultModel":"fake-model"}`)
			c := p.script("pi-acp/dist/index.js", nil, "PI_OFFLINE=1")
			// pi wants a Node.js that is newer than the system's may be.
			newer := t.TempDir()
			if err := os.Symlink(newerNodeProgram(t), filepath.Join(newer, "node")); err != nil {
				t.Fatal(err)
			}
			bin := newer + ":" + filepath.Join(p.dir, "node_modules", ".bin")
			for i, v := range c.Env {
				if rest, ok := strings.CutPrefix(v, "PATH="); ok {
					c.Env[i] = "PATH=" + bin + ":" + rest
				}
			}
			return c
		},
	},
	"fast-agent": {
		install: sync.OnceValues(func() (string, error) {
			return packagesOf(newerPython(), "fast-agent", "fast-agent-requirements.txt", "sys.version_info[:2] in ((3, 12), (3, 13), (3, 14))", "3.12 to 3.14")
		}),
		prompt: `***CALL_TOOL bash {"command":"touch made.txt && echo All done."}`,
		silent: true, // with the model that does what the prompt says
		command: func(t *testing.T, p place) acpclient.Command {
			return acpclient.Command{
				// The script itself names an interpreter in the directory where it was installed first.
				Path: filepath.Join(p.dir, "bin", "python"), Args: []string{filepath.Join(p.dir, "bin", "fast-agent-acp"), "--model", "passthrough", "--shell"}, Dir: p.repo,
				OnlyEnv: true, Env: cleanEnv("HOME=" + p.home),
			}
		},
	},
}

// agentPackages installs an agent with its optional packages, which have its programs for this platform.
func agentPackages(name string, flags ...string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		return nodePackages("agent-"+name, filepath.Join("agents", name), append(flags, "--include=optional")...)
	})
}

func codexConfig(url string) string {
	return `model="fake-model"
model_provider="fake"
[model_providers.fake]
name="fake"
base_url="` + url + `/v1"
env_key="FAKE_KEY"
wire_api="responses"
request_max_retries=0
stream_max_retries=0
`
}
