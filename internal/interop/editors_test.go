// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// setting is a code block of docs/editors.md.
type setting struct{ under, lang, text string }

// settings returns the code blocks, by the headings above them.
func settings(t *testing.T) (all []setting) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "editors.md"))
	if err != nil {
		t.Fatal(err)
	}
	under := ""
	var open *setting
	for line := range strings.Lines(string(data)) {
		switch lang, fence := strings.CutPrefix(strings.TrimSpace(line), "```"); {
		case fence && open == nil:
			open = &setting{under: under, lang: lang}
		case fence:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.text += line
		case strings.HasPrefix(line, "## "):
			under = strings.TrimSpace(line[3:])
		}
	}
	return all
}

// settingsOf returns the blocks of a language below a heading.
func settingsOf(t *testing.T, under, lang string) (texts []string) {
	t.Helper()
	for _, s := range settings(t) {
		if s.under == under && s.lang == lang {
			texts = append(texts, s.text)
		}
	}
	if len(texts) == 0 {
		t.Fatalf("docs/editors.md has no %s below %s", lang, under)
	}
	return texts
}

// launch is how an editor starts the agent.
type launch struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

// mustWork starts the agent as the editor would: with exactly these arguments, and a home without keys.
func (l launch) mustWork(t *testing.T) {
	t.Helper()
	if l.Command != "ideagent" {
		t.Fatalf("the command is %q", l.Command)
	}
	env := cleanEnv("HOME="+t.TempDir(), "OLLAMA_HOST=127.0.0.1:1")
	for name, value := range l.Env {
		env = append(env, name+"="+value)
	}
	turn := drive(t, acpclient.Command{Path: binary, Args: l.Args, OnlyEnv: true, Env: env}, "", acpclient.Config{}, t.TempDir(), "help")
	if !strings.Contains(turn.Text(), "offline demo model") {
		t.Errorf("it said %q", turn.Text())
	}
}

func TestEditorPageJSON(t *testing.T) {
	t.Parallel()
	for _, editor := range []string{"Zed", "JetBrains"} {
		var file struct {
			Servers map[string]launch `json:"agent_servers"`
		}
		dec := json.NewDecoder(strings.NewReader(settingsOf(t, editor, "json")[0]))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&file); err != nil {
			t.Fatal(err)
		}
		l, ok := file.Servers["ideagent"]
		if !ok || (l.Type == "custom") != (editor == "Zed") { // Zed alone has types
			t.Errorf("%s: %+v", editor, file)
		}
		l.mustWork(t)
	}
}

// The settings for Neovim run in an interpreter of Lua, with plugins that write down what they are given.
func TestEditorPageLua(t *testing.T) {
	t.Parallel()
	state := lua.NewState()
	defer state.Close()
	if err := state.DoString(`
		given = {}
		package.preload["codecompanion"] = function() return {setup = function(o) given.codecompanion = o end} end
		package.preload["codecompanion.adapters.acp.helpers"] = function() return {form_messages = function() end} end
		package.preload["avante"] = function() return {setup = function(o) given.avante = o end} end`); err != nil {
		t.Fatal(err)
	}
	for _, text := range settingsOf(t, "Neovim", "lua") {
		if err := state.DoString(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := state.DoString(`
		adapter = given.codecompanion.adapters.acp[given.codecompanion.interactions.chat.adapter]()
		assert(adapter.type == "acp" and adapter.handlers.setup() and adapter.handlers.auth() and adapter.handlers.form_messages)
		assert(adapter.parameters.protocolVersion == 1 and not adapter.parameters.clientCapabilities.terminal)
		provider = given.avante.acp_providers[given.avante.provider]
		assert(provider.env.HOME and provider.env.PATH and #provider.args == 0)
		commands = {adapter.commands.default, {provider.command, unpack(provider.args)}}`); err != nil {
		t.Fatal(err)
	}
	list := state.GetGlobal("commands").(*lua.LTable)
	for i := 1; i <= list.Len(); i++ {
		var words []string
		list.RawGetInt(i).(*lua.LTable).ForEach(func(_, word lua.LValue) { words = append(words, word.String()) })
		launch{Command: words[0], Args: words[1:]}.mustWork(t)
	}
}

// The settings for Emacs are read by a reader of our own, because Emacs is not everywhere; the deep tier evaluates them.
func TestEditorPageElisp(t *testing.T) {
	t.Parallel()
	text := settingsOf(t, "Emacs", "elisp")[0]
	depth, quoted := 0, false
	for _, r := range text {
		switch {
		case r == '"':
			quoted = !quoted
		case r == '(' && !quoted:
			depth++
		case r == ')' && !quoted:
			depth--
		}
	}
	if depth != 0 || quoted {
		t.Errorf("the parentheses do not match:\n%s", text)
	}
	var command string
	if _, after, ok := strings.Cut(text, ":command \""); ok {
		command, _, _ = strings.Cut(after, "\"")
	}
	if !strings.Contains(text, ":command-params nil") {
		t.Error("the command has arguments, which this test does not read")
	}
	launch{Command: command}.mustWork(t)
}

// The agent announces what the page says editors use.
func TestEditorPageIsAboutWhatTheAgentHas(t *testing.T) {
	t.Parallel()
	client, err := acpclient.Start(t.Context(), acpclient.Command{Path: binary, Args: []string{"-model", "offline"}, OnlyEnv: true, Env: cleanEnv("HOME=" + t.TempDir())}, acpclient.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if can := client.Agent().AgentCapabilities; !can.LoadSession || can.SessionCapabilities.List == nil || can.SessionCapabilities.Resume == nil {
		t.Errorf("the agent announces %+v", can)
	}
}

// The recording of docs/troubleshooting.md is made as the page says, and has no secrets.
func TestTroubleshootingPageRecords(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(data), "```json\n")
	block, _, _ = strings.Cut(block, "```")
	var l launch
	if err := json.Unmarshal([]byte(block), &l); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir() // the proxy finds the agent by its name
	if err := os.WriteFile(filepath.Join(bin, "ideagent"), []byte("#!/bin/sh\nexec \""+binary+"\" -model offline \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	recording := filepath.Join(t.TempDir(), "recording.jsonl")
	for i, arg := range l.Args {
		l.Args[i] = strings.ReplaceAll(arg, "/tmp/ideagent.jsonl", recording)
	}
	command := acpclient.Command{Path: binary, Args: l.Args, OnlyEnv: true, Env: append(cleanEnv("HOME="+t.TempDir(), "OPENAI_API_KEY=sk-very-secret"), "PATH="+bin+":"+os.Getenv("PATH"))}
	client, err := acpclient.Start(t.Context(), command, acpclient.Config{StartTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	session, err := client.NewSession(t.Context(), acpclient.SessionConfig{Cwd: t.TempDir(), MCPServers: []acp.MCPServer{
		{Stdio: &acp.MCPServerStdio{Name: "tools", Command: "/bin/false", Env: []acp.EnvVariable{{Name: "TOKEN", Value: "hush-hush"}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Say(t.Context(), "help, the key is sk-very-secret"); err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
	text, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, string(text), `"session/prompt"`, `"clientCapabilities"`, "[secret]")
	if strings.Contains(string(text), "hush-hush") || strings.Contains(string(text), "sk-very-secret") {
		t.Errorf("the recording has a secret:\n%s", text)
	}
}
