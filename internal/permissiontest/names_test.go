// SPDX-License-Identifier: Apache-2.0

package permissiontest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// otherNames are names that a kernel or a file system has for a file of the project. %r is the root,
// %o a directory outside with links to it, and %n the name in the project.
var otherNames = []string{
	"/proc/self/cwd/%n", "/proc/self/root%r/%n", "/proc/thread-self/cwd/%n", "/proc/thread-self/root/%r/%n", "/proc/$$/cwd/%n", "/proc/self/task/1/cwd/%n", "/proc/1/root%r/%n", "/proc/self/cwd/./%n", "/proc/self/root/proc/self/cwd/%n", "/proc//self//cwd//%n",
	"/proc/self/cwd/sub/../%n", "/dev/fd/9/%n", "/proc/self/fd/9/%n", "%o/up/%n", "%o/up/./%n", "%o/upup/up/%n", "%o/down/../%n", "%r/%n", "%r//%n", "%r/./%n", "%r/sub/../%n", "/..%r/%n", "//%r/%n", "./%n", "sub/../%n", "here/%n", "here/here/%n", "./here/../%n", "sub/up/%n", "sub/../here/%n",
	"/proc/self/cwd/here/%n", "~+/%n", "$PWD/%n", "${PWD}/%n", "\"$PWD\"/%n", "$(pwd)/%n", "`pwd`/%n", "/proc/self/environ/../cwd/%n",
}

// counting notes the commands that are started, and runs others in their place.
type counting struct {
	*local.Workspace
	w *world
}

// Start implements [workspace.Workspace].
func (c counting) Start(ctx context.Context, cmd workspace.Command) (workspace.Process, error) {
	c.w.started = append(c.w.started, cmd)
	return c.Workspace.Start(ctx, workspace.Command{Args: []string{"true"}})
}

// Files have many names: those of links, of /proc, and of programs whose effects are unknown.
func names(s *suite) {
	scene := func(config string) (*world, string, string) {
		w, root := onDisk(s, map[string]string{"f": "new", "sub/f": "new", ".git/config": "old", ".git/hooks/h": "old", ".envrc": "old", "secret/x": "sesame", ".env": "sesame"})
		outside, err := filepath.EvalSymlinks(s.TempDir())
		require.NoError(s, err)
		for link, to := range map[string]string{
			root + "/here": ".", root + "/sub/up": "..", root + "/l": ".git", root + "/c": ".git/config", root + "/e": ".envrc", root + "/s": "secret", root + "/x": "secret/x", root + "/v": ".env", root + "/ll": "l", root + "/abs": root + "/.git", root + "/h": ".git/hooks", root + "/new": ".git/hooks/new", outside + "/new": root + "/.git/hooks/new", outside + "/h": root + "/.git/hooks",
			outside + "/up": root, outside + "/upup": outside, outside + "/down": root + "/sub", outside + "/c": root + "/.git/config", outside + "/v": root + "/.env",
		} {
			require.NoError(s, os.Symlink(to, link))
		}
		w.disk = counting{w.disk.(*local.Workspace), w}
		return w.configure(config), root, outside
	}
	named := func(pattern, name, root, outside string) string {
		return strings.NewReplacer("%r", root, "%o", outside, "%n", name).Replace(pattern)
	}
	writes := []string{"cp f %s", "echo new >%s", "sed -i s/o/n/ %s", "python3 -c \"open('%s','w')\"", "dd of=%s", "tee %s", "truncate -s 0 %s", "install f %s", "perl -i -pe 1 %s", "exec 3>%s", "sh -c 'cp f %s'", "unheard-of --out=%s", "unheard-of %s", "rsync f %s", "patch %s", "awk '{print > \"%s\"}' f"}
	reads := []string{"cat %s", "cat <%s", "base64 %s", "python3 -c \"print(open('%s').read())\"", "unheard-of %s", "unheard-of --in=%s", "sh -c 'cat %s'", "cp %s y", "grep . %s", "source %s"}

	w, root, outside := scene(rules("auto"))
	w.person = never
	for _, pattern := range otherNames {
		for i, name := range []string{".git/config", ".envrc"} {
			for j, line := range writes {
				if (i+j)%4 > 0 {
					continue
				}
				if strings.ContainsAny(pattern, "$`") && strings.Contains(line, "'") {
					continue // which no shell works out
				}
				line = strings.ReplaceAll(line, "%s", named(pattern, name, root, outside))
				w.run(line)
				s.attack(len(w.started) == 0, "%q", line)
			}
		}
	}
	for _, link := range []string{"c", "l/config", "l/hooks/h", "e", "ll/config", "abs/config", "./c", "here/c", "sub/../c", "l", "l/", outside + "/c", "here/l/hooks/new", "h/../config", "sub/../h/../config", "new", outside + "/new", outside + "/h/../config", "/proc/self/cwd/h/../config", "sub/up/c", "/proc/self/cwd/c", root + "/c"} {
		for _, line := range writes {
			line = strings.ReplaceAll(line, "%s", link)
			w.run(line)
			s.attack(len(w.started) == 0, "through a link: %q", line)
		}
	}
	w.run(strings.Repeat("rm -f a b; ", 120) + "echo new >c")
	s.attack(len(w.started) == 0, "through a link, behind many files")
	words := ""
	for i := range 1200 {
		words += fmt.Sprintf("a%d ", i)
	}
	w.run("unheard-of " + words + "c")
	s.attack(len(w.started) == 0, "through a link, behind many words")
	w, _, _ = scene(rules("auto", `{"decision":"deny","read":"**/f"}`))
	w.run("unheard-of " + words[:1200] + "sub")
	s.attack(len(w.started) == 0, "a directory, behind many words")
	for _, decision := range []string{"deny", "ask"} {
		for _, kind := range []string{"read", "path"} {
			w, root, outside := scene(rules("auto", fmt.Sprintf(`{"decision":%q,%q:"**/.env"},{"decision":%q,%q:"secret/**"}`, decision, kind, decision, kind)))
			w.policy.Remember("run_command", "", toolset.VerdictAllow)
			lines := reads
			if kind == "path" {
				lines = writes
			}
			for _, pattern := range otherNames {
				for i, name := range []string{".env", "secret/x"} {
					for j, line := range lines {
						quoted := strings.ContainsAny(pattern, "$`") && strings.ContainsAny(line, "'")
						quoted = quoted || pattern[0] == '~' && strings.ContainsAny(line, "'=")
						if (i+j)%3 > 0 || quoted { // which no shell works out
							continue
						}
						line = strings.ReplaceAll(line, "%s", named(pattern, name, root, outside))
						w.run(line)
						s.attack(len(w.started) == 0, "%s %s: %q", decision, kind, line)
					}
				}
			}
			for _, link := range []string{"v", "x", "s/x", "here/v", "here/s/x", "sub/up/v", root + "/v", outside + "/v", outside + "/up/v"} {
				for _, line := range lines {
					line = strings.ReplaceAll(line, "%s", link)
					w.run(line)
					s.attack(len(w.started) == 0, "%s %s through a link: %q", decision, kind, line)
				}
			}
		}
	}
	// The tools for files.
	long := strings.Repeat("a/../", 1500)
	odd := func(root, outside string) []string {
		return []string{".git/config/", ".git//config", ".GIT/CONFIG", ".git/config/.", ".git/./config", ".git\u200c/config", ".g\u0131t/config", "\uff0egit/config", ".git\x00/config", ".git /config", ".git./config", ".git\\config", "here/.git/config", "l/config", "c", "abs/config", "/proc/self/cwd/.git/config", "/proc/self/root" + root + "/.git/config", "/dev/fd/9/.git/config", long + ".git/config", long + "c", strings.Repeat("./", 3000) + ".git/config", strings.Repeat("here/", 39) + ".git/config", outside + "/c", "file://" + root + "/.git/config", "~/.git/config", "%2egit/config"}
	}
	for _, mode := range []string{"code", "auto", "always"} {
		w, root, outside := scene(rules("ask"))
		switch mode {
		case "code":
			w.code = true
		case "auto":
			w.layers = nil
			w.configure(rules("auto"))
		case "always":
			w.policy.Remember("write_file", "", toolset.VerdictAllow)
			w.policy.Remember("edit_file", "", toolset.VerdictAllow)
		}
		for _, name := range odd(root, outside) {
			w.write(name, "evil")
			s.attack(content(root+"/.git/config") == "old", "%s: write_file %.80q", mode, name)
			w.call("edit_file", args{"path": name, "edits": []args{{"old_text": "old", "new_text": "evil"}}})
			s.attack(content(root+"/.git/config") == "old", "%s: edit_file %.80q", mode, name)
		}
	}
	w, root, outside = scene(rules("auto", `{"decision":"deny","read":"**/.env"}`))
	for _, name := range odd(root, outside) {
		name = strings.NewReplacer(".git/config", ".env", ".GIT/CONFIG", ".ENV", "/c", "/v").Replace(name)
		told := w.call("read_file", args{"path": name})
		s.attack(!strings.Contains(told, "sesame"), "read_file %.80q", name)
	}
	// Hard links: a write through one leaves the other name alone.
	require.NoError(s, os.Link(root+"/.git/config", root+"/hard"))
	w.write("hard", "evil")
	s.attack(content(root+"/.git/config") == "old", "a hard link is written through")
}
