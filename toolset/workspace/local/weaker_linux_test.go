// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// The test binary is a program that calls Helper first, before the attacks.
func init() { local.Helper() }

// weaker are the ways out that Landlock does not close, which docs/local.md says.
var weaker = map[string]string{
	"git's configuration":                 "files in the roots are not protected",
	"git's configuration, as git does it": "files in the roots are not protected",
	"git's configuration by git":          "files in the roots are not protected",
	"hook":                                "files in the roots are not protected",
	"new hook":                            "files in the roots are not protected",
	"hooks exchanged":                     "files in the roots are not protected",
	"git's directory exchanged":           "files in the roots are not protected",
	"git's directory removed":             "files in the roots are not protected",
	"git's directory away and back":       "files in the roots are not protected",
	"attributes":                          "files in the roots are not protected",
	"a submodule's configuration":         "files in the roots are not protected",
	"a repository below":                  "files in the roots are not protected",
	"a hook of a repository below":        "files in the roots are not protected",
	"a repository below away and back":    "files in the roots are not protected",
	"tasks of an editor":                  "files in the roots are not protected",
	"settings of an editor":               "files in the roots are not protected",
	"editor's directory exchanged":        "files in the roots are not protected",
	"direnv":                              "files in the roots are not protected",
	"direnv below":                        "files in the roots are not protected",
	"direnv exchanged":                    "files in the roots are not protected",
	"servers of an agent":                 "files in the roots are not protected",
	"settings of an agent":                "files in the roots are not protected",
	"hook manager":                        "files in the roots are not protected",
	"workflows":                           "files in the roots are not protected",
	"change the mode":                     "modes and times are not restricted",
	"change the times":                    "modes and times are not restricted",
	"the machine's /tmp":                  "what exists can be seen",
	"see a process":                       "what exists can be seen",
	"device that is there":                "devices in the roots can be opened",
}

// What a weaker sandbox keeps is kept as root, as another user, and without user namespaces, which it
// does not need.
func TestWhatEscapesFromTheWeakerSandboxIsKnown(t *testing.T) {
	s, root := newScene(t), os.Getuid() == 0
	tried, none := 0, 0
	var out, known, without, others, names []string
	for i := range escapes {
		e := &escapes[i]
		names = append(names, e.name)
		if e.root && !root || e.nobody && root {
			others = append(others, e.name) // another user tries it
			continue
		}
		if weaker[e.name] == "" && !allEscapes() && i%4 != 0 {
			continue
		}
		if ok, _ := s.control(e); !ok {
			without = append(without, e.name)
			continue
		}
		tried++
		ok, text := s.try(e, &local.Sandbox{Optional: true})
		switch {
		case text == refused:
			none++
			others = append(others, e.name)
		case ok && weaker[e.name] != "":
			known = append(known, e.name)
		case ok:
			out = append(out, e.name+": "+cut(text))
		}
	}
	t.Logf("%d of %d ways out of the weaker sandbox fail as user %d, %d of them because it is refused; "+
		"%d are known", tried-len(out)-len(known), tried, os.Getuid(), none, len(known))
	for _, name := range without {
		t.Log("has no effect without a sandbox either, so it does not count: ", name)
	}
	require.Empty(t, out)
	require.Less(t, none, tried/4, "there is a weaker sandbox")
	for name := range weaker {
		require.Contains(t, names, name, "a way out that nobody tries")
		if !slices.Contains(slices.Concat(known, without, others), name) {
			t.Error("is closed now, so it is not known to be open any more: ", name)
		}
	}
}

// The docs name everything that the weaker sandbox does not keep.
func TestLimitsOfTheWeakerSandboxAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/local.md")
	require.NoError(t, err)
	text := strings.ToLower(strings.Join(strings.Fields(string(page)), " "))
	for name, why := range weaker {
		require.Contains(t, text, why, name)
	}
}

// weakly opens a workspace as on a machine without bubblewrap.
func weakly(t *testing.T, box local.Sandbox, root string) *local.Workspace {
	t.Helper()
	env := os.Environ()
	path := os.Getenv("PATH")
	require.NoError(t, os.Setenv("PATH", "/nowhere"))
	defer os.Setenv("PATH", path)
	box.Optional = true
	w, err := local.Open(local.Config{Roots: []string{root}, Sandbox: &box, Env: env, PassEnv: []string{"ODD"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	if refuses(w) {
		t.Skip(w.Unsandboxed())
	}
	return w
}

// The weaker sandbox says that it is one, and never passes for the other.
func TestWeakerSandboxIsNotTheSandbox(t *testing.T) {
	root := t.TempDir()
	w := weakly(t, local.Sandbox{MayLeave: true}, root)
	require.ErrorIs(t, w.Unsandboxed(), local.ErrSandbox)
	require.ErrorContains(t, w.Unsandboxed(), "in a weaker one, and each is asked about")
	require.False(t, w.Features().Sandboxed)
	require.True(t, w.Features().Unsandboxed)

	t.Setenv("PATH", "/nowhere")
	_, err := local.Open(local.Config{Roots: []string{root}, Sandbox: &local.Sandbox{}})
	require.ErrorIs(t, err, local.ErrSandbox, "it does not take the place of one that is required")
}

func TestCommandsWorkInTheWeakerSandbox(t *testing.T) {
	root := t.TempDir()
	put(t, filepath.Join(root, "sub", "f"), "text")
	t.Setenv("ODD", "\xff\xfe")
	w := weakly(t, local.Sandbox{MayLeave: true}, root)
	for line, want := range map[string]string{
		`cat sub/f; cd sub && mv f g && ln -s g h && cat h`: "texttext",
		`printf %s "$ODD"`: "\xff\xfe",
		`f=$(mktemp) && echo x >$f && cat $f && rm $f`:                             "x\n",
		`mkdir -p "$XDG_CACHE_HOME/a" && echo c >"$XDG_CACHE_HOME/a/f" && echo ok`: "ok\n",
		`sleep 100 & kill $! && echo done`:                                         "done\n",
		`sh -c 'exit 7'; echo $?`:                                                  "7\n",
	} {
		text, exit := run(t, w, line)
		require.Zero(t, exit.Code, line+"\n"+text)
		require.Equal(t, want, text, line)
	}
	_, exit := run(t, w, "mkdir .vscode")
	require.Equal(t, []string{filepath.Join(root, ".vscode")}, exit.Created)
	_, err := w.Start(t.Context(), workspace.Command{Args: []string{"no-such-program"}})
	require.ErrorIs(t, err, workspace.ErrNoProgram)
}

// What Landlock cannot keep apart has no sandbox at all.
func TestHiddenFilesInARootHaveNoWeakerSandbox(t *testing.T) {
	root := t.TempDir()
	put(t, filepath.Join(root, "keys", "id"), "sesame")
	t.Setenv("PATH", "/nowhere")
	w, err := local.Open(local.Config{Roots: []string{root}, Sandbox: &local.Sandbox{Optional: true, Hidden: []string{filepath.Join(root, "keys")}}})
	require.NoError(t, err)
	defer w.Close()
	require.True(t, refuses(w))
	require.False(t, w.Features().Sandboxed || w.Features().Unsandboxed)
}

// To change the priorities of a whole user is tried in the sandbox only: elsewhere it would succeed.
func TestTheWeakerSandboxKeepsPriorities(t *testing.T) {
	base := roomy(t)
	root, attack := filepath.Join(base, "root"), filepath.Join(base, "attack")
	require.NoError(t, os.Mkdir(root, 0o700))
	copySelf(t, attack)
	w := weakly(t, local.Sandbox{}, root)
	for _, name := range []string{"priorities", "io-priorities"} {
		p, err := w.Start(t.Context(), workspace.Command{Line: attack + " " + name, Env: []string{escapeMode + "=1"}})
		require.NoError(t, err)
		_, err = p.Wait(t.Context())
		require.NoError(t, err)
		require.Contains(t, outputOf(t, p), "operation not permitted", name)
	}
}
