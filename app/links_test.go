// SPDX-License-Identifier: Apache-2.0

package app

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProgramsLinkWhatTheyName keeps what is large out of programs that do not name it.
func TestProgramsLinkWhatTheyName(t *testing.T) {
	const ours = "github.com/ponte-go/ponte/"
	large := map[string]string{
		"terminal": ours + "app/internal/term/screen", "editors": ours + "acpbridge", "browsers": ours + "webbridge", "MCP": "github.com/modelcontextprotocol/go-sdk/mcp",
		"SQLite": "modernc.org/sqlite", "keyring": "github.com/zalando/go-keyring", "models": ours + "agent/model/openaimodel", "offline": ours + "app/offline",
		"evals": ours + "agent/evals", "manual": "github.com/cpuguy83/go-md2man/v2/md2man", "clients": ours + "acpbridge/acpclient",
	}
	for of, may := range map[string]string{
		"app": "", "app/editor": "editors", "app/web": "browsers evals", "app/mcp": "MCP", "app/chat": "terminal editors clients", "app/sqlite": "SQLite", "app/keyring": "keyring",
		"app/config": "", "app/offline": "offline", "app/proxy": "clients", "app/ask": "", "app/coding": "editors MCP evals", "app/evals": "evals",
	} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ours+of).Output()
		require.NoError(t, err)
		linked := strings.Fields(string(out))
		for name, pkg := range large {
			if strings.Contains(" "+may+" ", " "+name+" ") {
				require.Contains(t, linked, pkg, of)
			} else {
				require.NotContains(t, linked, pkg, of)
			}
		}
	}
}

// TestPackagesHaveExamples looks at the packages below this one, those in modules of their own
// included. The table in docs/app.md lists them.
func TestPackagesHaveExamples(t *testing.T) {
	with := map[string]bool{}
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "internal" || d.Name() == "testdata"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		_, example, _ := strings.Cut(string(text), "\nfunc Example")
		pkg := filepath.ToSlash(filepath.Dir(path))
		with[pkg] = with[pkg] || strings.Contains(example, "\n\t// Output:")
		return err
	}))
	page, err := os.ReadFile("../docs/app.md")
	require.NoError(t, err)
	for pkg, has := range with {
		require.True(t, has, "app/%s has no example that runs", pkg)
		listed := pkg == "." || strings.Contains(string(page), "\n| `app/"+pkg+"` |")
		require.True(t, listed, "the table in docs/app.md does not have app/%s", pkg)
	}
	require.Greater(t, len(with), 15)
}
