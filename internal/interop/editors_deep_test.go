// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program returns the path of an editor. CI installs Debian's package; elsewhere the test skips if there is none.
func program(t *testing.T, name, debian string) string {
	t.Helper()
	deepTier(t)
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("PONTE_INTEROP") == "require":
		t.Fatalf("%s is missing: install the package %s", name, debian)
	}
	t.Skipf("%s is missing: install it, such as Debian's package %s", name, debian)
	return ""
}

// runEditor runs an editor without a screen, and returns the JSON document that it has written to a file.
func runEditor(t *testing.T, result any, path string, args ...string) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = home, cleanEnv("HOME="+home, "XDG_CONFIG_HOME="+home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(home, "result.json"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := json.Unmarshal(data, result); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
}

// writeScript writes a program for an editor to a file.
func writeScript(t *testing.T, name string, parts ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(strings.Join(parts, "\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// Emacs evaluates the settings. agent-shell and acp.el are not packages that CI can install, so the functions that are called stand here with
// the arguments that theirs take.
func TestEditorPageInEmacs(t *testing.T) {
	emacs := program(t, "emacs", "emacs-nox")
	script := writeScript(t, "settings.el", `;; -*- lexical-binding: t -*-
(require 'cl-lib)
(require 'json)
(provide 'agent-shell)
(defvar agent-shell-agent-configs nil)
(cl-defun acp-make-client (&key context-buffer command command-params environment-variables outgoing-request-decorator)
  (list command command-params context-buffer))
(cl-defun agent-shell-make-agent-config (&key identifier mode-line-name welcome-function buffer-name shell-prompt shell-prompt-regexp client-maker
                                              needs-authentication authenticate-request-maker default-model-id default-session-mode-id icon-name
                                              install-instructions)
  client-maker)`, settingsOf(t, "Emacs", "elisp")[0], `
(let ((client (funcall (funcall (car agent-shell-agent-configs)) (current-buffer))))
  (with-temp-file "result.json"
    (insert (json-encode (list (cons 'command (nth 0 client)) (cons 'args (vconcat (nth 1 client))))))))`)
	var l launch
	runEditor(t, &l, emacs, "--batch", "-Q", "--load", script)
	l.mustWork(t)
}

// Neovim runs the settings. The plugins are stood in for, because CI cannot install them.
func TestEditorPageInNeovim(t *testing.T) {
	nvim := program(t, "nvim", "neovim")
	script := writeScript(t, "settings.lua", append(append([]string{`
local given = {}
package.preload["codecompanion"] = function() return {setup = function(o) given.codecompanion = o end} end
package.preload["codecompanion.adapters.acp.helpers"] = function() return {form_messages = function() end} end
package.preload["avante"] = function() return {setup = function(o) given.avante = o end} end`}, settingsOf(t, "Neovim", "lua")...), `
local adapter = given.codecompanion.adapters.acp[given.codecompanion.interactions.chat.adapter]().commands.default
local provider = given.avante.acp_providers[given.avante.provider]
vim.fn.writefile({vim.fn.json_encode({
  {command = adapter[1], args = vim.list_slice(adapter, 2)}, {command = provider.command, args = provider.args},
})}, "result.json")`)...)
	var launches []launch
	runEditor(t, &launches, nvim, "--headless", "-u", "NONE", "-i", "NONE", "-c", "luafile "+script, "-c", "qall!")
	for _, l := range launches {
		l.mustWork(t)
	}
}

// The commands for acpx run as they stand, with acpx and ideagent on the path.
func TestEditorPageACPX(t *testing.T) {
	deepTier(t)
	t.Parallel()
	a := newACPXFor(t, ideagent(), t.TempDir())
	a.write("README.md", "# A project\n")
	bin := t.TempDir()
	for name, line := range map[string]string{"acpx": `exec node "` + a.cli + `" "$@"`, "ideagent": `exec "` + binary + `" -model offline "$@"`} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+line+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func(line string) string {
		t.Helper()
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Env = a.dir, append(cleanEnv("HOME="+a.home, "NO_COLOR=1"), "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
	var all string
	commands := strings.TrimSpace(settingsOf(t, "acpx", "sh")[0])
	for line := range strings.Lines(commands) {
		all += run(strings.TrimSpace(line))
	}
	wantText(t, all, "# A project", "README.md", "[done] end_turn")
	config := filepath.Join(a.home, ".acpx", "config.json")
	if err := os.MkdirAll(filepath.Dir(config), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(settingsOf(t, "acpx", "json")[0]), 0o666); err != nil {
		t.Fatal(err)
	}
	run("acpx ideagent sessions new")
	run("acpx ideagent sessions close")
}
