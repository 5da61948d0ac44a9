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

func TestOptionsSayWhatAlwaysCovers(t *testing.T) {
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"command": "go test ./..."}, "`go test` (ordinary options, project files)"},
		{args{"command": "go", "args": []string{"test", "-run", "^TestA$"}}, "`go test` (ordinary options, project files)"},
		{args{"command": "go test ./... 2>&1 | tail -5"}, "`go test` and `tail` (ordinary options, project files)"},
		{args{"command": "go test -exec sh ./..."}, "exactly `go test -exec sh ./...`"},
		{args{"command": "go", "args": []string{"test", "; reboot"}}, "exactly `go test '; reboot'`"},
		{args{"command": "cat /etc/passwd"}, "exactly `cat /etc/passwd`"},
		{args{"command": "deploy", "env": args{"A": "b c"}}, "exactly `A='b c' deploy`"},
		{args{"command": "deploy", "cwd": "sub"}, "exactly `deploy` in sub"},
		{args{"command": "go test\nreboot"}, "exactly this command"},
	} {
		assert.Equal(t, c.want, scopeOffered(t, "/project", c.args))
	}
}

func TestEveryScopeIsExactOnWindows(t *testing.T) {
	for _, command := range []string{"go test ./...", "dir C:\\", "go test & del x", "go test %PATH%"} {
		assert.Equal(t, "exactly `"+command+"`", scopeOffered(t, `C:\project`, args{"command": command}))
	}
}
