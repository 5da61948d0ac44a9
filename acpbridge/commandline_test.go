// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
)

// scopeOffered returns what "always" would cover for a command.
func scopeOffered(t *testing.T, cwd string, a args) string {
	t.Helper()
	editor := acptest.New(acptest.Options{Answers: []acptest.Answer{acptest.RejectOnce}})
	r := runTools(t.Context(), t, editor, editor.Deps(cwd), []model.Part{call("c", "run_command", a)})
	require.NoError(t, r.err)
	require.Len(t, editor.Permissions(), 1)
	name := strings.TrimPrefix(editor.Permissions()[0].Options[1].Name, "Always allow ")
	return strings.TrimSuffix(name, " in this session")
}

func TestAlwaysCoversTheWordsThatSayWhatACommandDoes(t *testing.T) {
	for command, want := range map[string]string{
		// A program with its subcommand.
		"go test ./...":        "`go test`",
		"npm run build":        "`npm run`",
		"git status":           "`git status`",
		"./gradlew check":      "`./gradlew check`",
		"docker-compose up -d": "`docker-compose up`",
		"kubectl get-all pods": "`kubectl get-all`",
		"yarn test:unit2":      "`yarn test:unit2`",
		"just build_all":       "`just build_all`",
		"prog 2up":             "exactly `prog 2up`",
		"prog -up":             "exactly `prog -up`",
		// A program that only looks at things.
		"ls -la /": "`ls`",
		"grep x y": "`grep`",
		// No word says what it does.
		"make":                  "exactly `make`",
		"./deploy.sh --dry-run": "exactly `./deploy.sh --dry-run`",
		"git -c x=y status":     "exactly `git -c x=y status`",
		"go ./cmd":              "exactly `go ./cmd`",
		"prog FILE":             "exactly `prog FILE`",
		// Its arguments decide everything, by whatever path or version it is called.
		"rm build":                "exactly `rm build`",
		"sudo make":               "exactly `sudo make`",
		"/bin/sh script":          "exactly `/bin/sh script`",
		"python3.12 setup":        "exactly `python3.12 setup`",
		"/usr/bin/python3 setup":  "exactly `/usr/bin/python3 setup`",
		"/tmp/evil/ls secrets.db": "exactly `/tmp/evil/ls secrets.db`",
		// A shell does more than to split it.
		"go test ./... && git push":   "exactly `go test ./... && git push`",
		"go test ./... > out":         "exactly `go test ./... > out`",
		"go test $(rm -rf x)":         "exactly `go test $(rm -rf x)`",
		"go test `reboot`":            "exactly this command",
		"go test\nreboot":             "exactly this command",
		"PATH=/tmp go test":           "exactly `PATH=/tmp go test`",
		"go test & reboot":            "exactly `go test & reboot`",
		"go test \\; reboot":          "exactly `go test \\; reboot`",
		"(go test)":                   "exactly `(go test)`",
		strings.Repeat("x", 70) + " ": "exactly this command",
	} {
		assert.Equal(t, want, scopeOffered(t, "/project", args{"command": command}), command)
	}
}

func TestArgumentsThatCouldRunAnotherCommandGetNoPrefix(t *testing.T) {
	for _, arg := range []string{"; reboot", "a|b", "$(reboot)", "`reboot`", "x\nreboot", "a&b", "<x"} {
		scope := scopeOffered(t, "/project", args{"command": "go", "args": []string{"test", arg}})
		assert.True(t, strings.HasPrefix(scope, "exactly "), scope)
	}
	assert.Equal(t, "`go test`", scopeOffered(t, "/project", args{"command": "go", "args": []string{"test", "-run", "^TestA$", "a*b"}}))
}

func TestScopesOfCommandsOnWindows(t *testing.T) {
	for command, want := range map[string]string{
		"go test ./...":       "`go test`",
		"dir C:\\":            "`dir`",
		"del build":           "exactly `del build`",
		"go test & del x":     "exactly `go test & del x`",
		"go test %PATH%":      "exactly `go test %PATH%`",
		"PowerShell.exe stop": "exactly `PowerShell.exe stop`",
	} {
		assert.Equal(t, want, scopeOffered(t, `C:\project`, args{"command": command}), command)
	}
}
