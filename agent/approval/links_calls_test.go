// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// TestLayersSeeWhatLinksLeadTo: a layer is asked once more if there are links, about what they lead to, and all else is as it was.
func TestLayersSeeWhatLinksLeadTo(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "repo/dir"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "out"), 0o755))
	for link, to := range map[string]string{"repo/in": "dir", "repo/out": "../out", "home": "repo"} {
		require.NoError(t, os.Symlink(to, filepath.Join(root, link)))
	}
	t.Chdir(filepath.Join(root, "repo"))
	short := func(path string) string { return strings.ReplaceAll(path, root, "$") }
	effect := func(kind model.EffectKind, path string) toolset.ApprovalRequest {
		return effects("t", model.Effect{Kind: kind, Path: path})
	}
	diff := func(path string) (r toolset.ApprovalRequest) {
		r.Approval.Preview = []toolset.Preview{{Text: "x"}, {Diff: &toolset.Diff{Path: path}}}
		return r
	}
	at := func(path string) string { return filepath.Join(root, path) }
	for name, c := range map[string]struct {
		r    toolset.ApprovalRequest
		want string
	}{
		"no link":                     {effect(model.EffectRead, at("repo/dir/a")), "read $/repo/dir/a"},
		"a link":                      {effect(model.EffectRead, at("repo/in/a")), "read $/repo/in/a, read $/repo/dir/a"},
		"a link of a write":           {effect(model.EffectWrite, at("repo/in/a")), "write $/repo/in/a, write $/repo/dir/a"},
		"a directory":                 {effect(model.EffectWrite, at("repo/in")+"/"), "write $/repo/in/, write $/repo/dir/"},
		"a link out of the root":      {effect(model.EffectRead, at("repo/out/a")), "read $/repo/out/a, read $/out/a"},
		"a link to the root":          {effect(model.EffectRead, at("home/in/a")), "read $/home/in/a, read $/home/dir/a"},
		"a path that is not clean":    {effect(model.EffectRead, at("repo")+"//dir/./a"), "read $/repo//dir/./a"},
		"a relative path":             {effect(model.EffectRead, "in/a"), "read in/a"},
		"another effect":              {effect(model.EffectRun, at("repo/in/a")), "run $/repo/in/a"},
		"a change":                    {diff(at("repo/in/a")), "diff $/repo/in/a, diff $/repo/dir/a"},
		"a change of no link":         {diff(at("repo/dir/a")), "diff $/repo/dir/a"},
		"a change out of the root":    {diff(at("repo/out/a")), "diff $/repo/out/a, diff $/out/a"},
		"a change that is not clean":  {diff(at("repo") + "//dir/a"), "diff $/repo//dir/a"},
		"a link, and what is no link": {effects("t", model.Effect{Kind: model.EffectRead, Path: at("repo/in")}, model.Effect{Kind: model.EffectRead, Path: at("repo/dir")}), "read $/repo/in read $/repo/dir, read $/repo/dir read $/repo/dir"},
	} {
		var asked []string
		layer := approval.Layer{Name: "n", Decide: func(_ context.Context, r *toolset.ApprovalRequest) (approval.Ruling, error) {
			var all []string
			for _, e := range r.Approval.Effects {
				all = append(all, string(e.Kind)+" "+short(e.Path))
			}
			for _, p := range r.Approval.Preview {
				if p.Diff != nil {
					all = append(all, "diff "+short(p.Diff.Path))
				}
			}
			asked = append(asked, strings.Join(all, " "))
			return approval.Ruling{}, nil
		}}
		root := at("repo")
		if strings.Contains(name, "to the root") {
			root = at("home")
		}
		before := plain(c.r)
		_, err := approval.ThroughLinks(layer, root).Decide(t.Context(), &c.r)
		require.NoError(t, err)
		require.Equal(t, c.want, strings.Join(asked, ", "), name)
		require.Equal(t, before, plain(c.r), "the request stays as it is")
	}
}

// TestTheStricterOfTwoNamesDecides: what a layer says of a name and of what a link leads to.
func TestTheStricterOfTwoNamesDecides(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Symlink("there", filepath.Join(root, "named")))
	words := []string{"deny", "ask", "none", "allow", "defer"}
	for i, named := range append(words, "error") {
		for j, there := range append(words, "error") {
			calls := 0
			layer := approval.Layer{Name: "n", Decide: func(_ context.Context, r *toolset.ApprovalRequest) (approval.Ruling, error) {
				calls++
				word := named
				if strings.HasSuffix(r.Approval.Effects[0].Path, "there") {
					word = there
				}
				ruling, err := rulingOf(word)
				ruling.Reason = word + " " + filepath.Base(r.Approval.Effects[0].Path)
				return ruling, err
			}}
			r := effects("t", model.Effect{Kind: model.EffectRead, Path: filepath.Join(root, "named")})
			ruling, err := approval.ThroughLinks(layer, root).Decide(t.Context(), &r)
			switch {
			case named == "error":
				require.ErrorIs(t, err, errLayer)
				require.Equal(t, 1, calls)
				require.Equal(t, "error named", ruling.Reason)
			case there == "error" && named == "deny":
				require.Equal(t, "deny named", ruling.Reason)
				require.ErrorIs(t, err, errLayer)
			case there == "error":
				require.ErrorIs(t, err, errLayer)
			case i <= j || named == "allow" && there == "defer":
				require.NoError(t, err)
				require.Equal(t, named+" named", ruling.Reason)
				require.Equal(t, 2, calls)
			case named == "defer" && there == "allow":
				require.Equal(t, "defer named", ruling.Reason)
			default:
				require.NoError(t, err)
				require.Equal(t, there+" there", ruling.Reason, "%s %s", named, there)
			}
		}
	}
	none := approval.Layer{Name: "n"}
	require.Nil(t, approval.ThroughLinks(none, root).Decide)
}
