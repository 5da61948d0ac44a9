// SPDX-License-Identifier: Apache-2.0

//go:build unix

package approval_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
)

func TestRulesHoldThroughLinks(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, dir := range []string{"work/secret/deep", "work/docs"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "work/.env"), nil, 0o600))
	for link, to := range map[string]string{"work/pub": ".env", "work/docs/chain": "../pub", "work/open": "secret", "home": "work", "work/docs/gone": "nothing"} {
		require.NoError(t, os.Symlink(to, filepath.Join(root, link)))
	}
	for _, c := range []struct {
		root, path string
		want       toolset.Verdict
	}{
		{"work", ".env", toolset.VerdictDeny},
		{"work", "pub", toolset.VerdictDeny},
		{"work", "docs/chain", toolset.VerdictDeny},
		{"work", "secret/new", toolset.VerdictDeny},
		{"work", "open/new", toolset.VerdictDeny},
		{"work", "open/no/such/directory/new", toolset.VerdictDeny},
		{"work", "docs/page", toolset.VerdictAllow},
		{"work", "docs/new/page", toolset.VerdictAllow},
		{"work", "docs/gone", toolset.VerdictAllow}, // it leads to nothing
		{"home", "docs/page", toolset.VerdictAllow},
		{"home", "pub", toolset.VerdictDeny},
		{"work", "other", ""},
	} {
		dir := filepath.Join(root, c.root)
		config, err := approval.ParseConfig([]byte(`{"rules": [
			{"decision": "deny", "path": "**/.env"}, {"decision": "deny", "path": "secret/**"},
			{"decision": "allow", "path": "docs/**"}, {"decision": "allow", "path": "pub"}
		]}`))
		require.NoError(t, err)
		layer, err := config.Layer(dir)
		require.NoError(t, err)
		r := &toolset.ApprovalRequest{}
		r.Approval.Preview = []toolset.Preview{{Diff: &toolset.Diff{Path: filepath.Join(dir, c.path)}}}
		ruling, err := approval.ThroughLinks(layer, dir).Decide(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, c.want, ruling.Verdict, "%s in %s", c.path, c.root)
	}
}

func TestLinksOutOfWhatIsAllowedAreNotAllowed(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(root, "docs"), 0o755))
	require.NoError(t, os.Symlink("../other", filepath.Join(root, "docs/out")))
	require.NoError(t, os.Mkdir(filepath.Join(root, "other"), 0o755))
	config, err := approval.ParseConfig([]byte(`{"rules": [{"decision": "allow", "path": "docs/**"}]}`))
	require.NoError(t, err)
	layer, err := config.Layer(root)
	require.NoError(t, err)
	r := &toolset.ApprovalRequest{}
	r.Approval.Preview = []toolset.Preview{{Diff: &toolset.Diff{Path: filepath.Join(root, "docs/out/file")}}}
	ruling, err := layer.Decide(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, toolset.VerdictAllow, ruling.Verdict, "the name alone is allowed")
	ruling, err = approval.ThroughLinks(layer, root).Decide(t.Context(), r)
	require.NoError(t, err)
	require.Empty(t, ruling.Verdict, "so a person is asked")
}
