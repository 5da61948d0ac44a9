// SPDX-License-Identifier: Apache-2.0

//go:build unix

package checkpoint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// A diff of changes can be applied with git and with patch, whatever the files are called.
func TestDiffCanBeApplied(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	names := []string{
		"plain", "two words", " leads", "trails ", "new\nline", "tab\there", "esc\x1b[2J", `quo"ted`, `back\slash`, "it's", "x\u202egpj.exe", "no\u00a0break", "größe",
		"e\u0301", "zero\u200bwidth", "bad\xff", "-rf", "sub/\u2028/deep", "\U0001f469\u200d\U0001f467",
	}
	was, is := t.TempDir(), t.TempDir()
	for _, dir := range []string{was, is} {
		for i, name := range names {
			if i%3 == 0 {
				continue // it is created
			}
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("one\ntwo\nthree"), 0o644))
		}
	}
	ws, err := local.Open(local.Config{Roots: []string{is}, NoCommands: true})
	require.NoError(t, err)
	defer ws.Close()
	r := checkpoint.New(ws, checkpoint.Options{})
	for i, name := range names {
		if i%3 == 1 {
			require.NoError(t, r.Remove(t.Context(), name, workspace.AnyVersion))
			continue
		}
		_, err := r.Write(t.Context(), name, []byte("one\n2\nthree\n"), workspace.AnyVersion)
		require.NoError(t, err)
	}
	did, err := r.Changes(checkpoint.Since(0))
	require.NoError(t, err)
	for _, line := range strings.Split(did.Diff(), "\n") {
		require.NotContains(t, line, "\u202e", "nothing in a name moves the text")
	}
	apply := exec.Command("git", "apply", "-p1", "-")
	apply.Dir, apply.Stdin = was, strings.NewReader(did.Diff())
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(was))
	out, err := apply.CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, did.Diff())
	for _, name := range names {
		want, wantErr := os.ReadFile(filepath.Join(is, name))
		got, err := os.ReadFile(filepath.Join(was, name))
		require.Equal(t, wantErr == nil, err == nil, "%q", name)
		require.Equal(t, string(want), string(got), "%q", name)
	}
}

// Names that people would not see as they are, are shown in quotes.
func TestNamesAreShownAsTheyAre(t *testing.T) {
	ws, err := local.Open(local.Config{Roots: []string{t.TempDir()}, NoCommands: true})
	require.NoError(t, err)
	defer ws.Close()
	r := checkpoint.New(ws, checkpoint.Options{})
	for name, want := range map[string]string{"plain": "plain", "two words": "two words", " leads": `" leads"`, "trails ": `"trails "`, "a\nb": `"a\nb"`, "x\u202ey": `"x\u202ey"`} {
		mark := r.Mark("").ID
		_, err := r.Write(t.Context(), name, nil, "")
		require.NoError(t, err)
		did, err := r.Changes(checkpoint.Only(mark))
		require.NoError(t, err)
		require.Equal(t, want, did.Files[0].Name)
	}
}
