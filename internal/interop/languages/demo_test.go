// SPDX-License-Identifier: Apache-2.0

//go:build unix

package languages_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The demo of docs/lsp.md prints what the page shows, without a key; and where gopls is missing, how
// to install it. The other requests that the page names work, too.
func TestDemo(t *testing.T) {
	languages(t)
	tools := gopls(t)
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "docs", "lsp.md"))
	require.NoError(t, err)
	m := regexp.MustCompile("(?s)```sh\n(go run [^\n]*)\n```\n\n```text\n(.*?)```").FindStringSubmatch(string(text))
	require.NotEmpty(t, m)
	path := strings.Join([]string{tools, filepath.Dir(goCommand(t)), "/usr/bin", "/bin"}, ":")
	env := []string{"HOME=" + t.TempDir(), "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "GOPATH=" + goEnv(t, "GOPATH"), "GOCACHE=" + goEnv(t, "GOCACHE")}
	out, err := run(root, append(env, "PATH="+path), "sh", "-c", m[1])
	require.NoError(t, err)
	require.Contains(t, out, m[2])
	require.Contains(t, out, "No problems.")

	program := filepath.Join(t.TempDir(), "ideagent")
	_, err = run(root, nil, "go", "build", "-o", program, "./examples/ideagent")
	require.NoError(t, err)
	project := t.TempDir()
	require.NoError(t, os.CopyFS(project, os.DirFS(filepath.Join(root, "examples", "demo"))))
	ask := func(path, prompt string) string {
		out, err := run(project, append(env, "PATH="+path), program, "chat", "-model", "offline", "-yes", "-dir", project, prompt)
		require.NoError(t, err)
		return out
	}
	require.Contains(t, ask(path, "who calls Fahrenheit?"), "temperature_test.go:")
	ask(path, "rename Celsius to Degrees")
	_, err = run(project, nil, "go", "vet", "./...")
	require.NoError(t, err)
	changed, err := os.ReadFile(filepath.Join(project, "temperature.go"))
	require.NoError(t, err)
	require.Contains(t, string(changed), "type Degrees float64")
	require.Contains(t, string(changed), "func (f Fahrenheit) Celsius() Degrees", "the method of the same name stays")
	require.Contains(t, ask("/usr/bin:/bin", "where is Degrees defined?"), "go install golang.org/x/tools/gopls@latest")
}

func goCommand(t *testing.T) string {
	path, err := exec.LookPath("go")
	require.NoError(t, err)
	return path
}

func goEnv(t *testing.T, name string) string {
	out, err := run(".", nil, "go", "env", name)
	require.NoError(t, err)
	return strings.TrimSpace(out)
}
