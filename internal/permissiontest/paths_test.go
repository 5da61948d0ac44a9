// SPDX-License-Identifier: Apache-2.0

package permissiontest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// onDisk makes a world of files on this machine.
func onDisk(s *suite, files map[string]string) (w *world, root string) {
	root, err := filepath.EvalSymlinks(s.TempDir())
	require.NoError(s, err)
	for name, text := range files {
		put(s, filepath.Join(root, name), text)
	}
	disk, err := local.Open(local.Config{Roots: []string{root}})
	require.NoError(s, err)
	s.Cleanup(func() { _ = disk.Close() })
	return &world{t: s, disk: disk, roots: []string{root}, policy: new(approval.Policy), person: never}, root
}

func put(s *suite, name, text string) {
	require.NoError(s, os.MkdirAll(filepath.Dir(name), 0o700))
	require.NoError(s, os.WriteFile(name, []byte(text), 0o600))
}

func content(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		return "-"
	}
	return string(data)
}

// Rules about paths hold under every name of a file.
func paths(s *suite) {
	names := []string{
		"secret/x", "./secret/x", "secret//x", "secret/./x", "a/../secret/x", "secret/../secret/x", "SECRET/x", "Secret/X", "link/x", "filelink", "a/deep/../../secret/x", "linktolink/x", "up/../secret/x", "secret/x/", "secret/new", "secret/sub/new", "link/new", "link/sub/new", "dangling",
	}
	scene := func(config string) (*world, string) {
		w, root := onDisk(s, map[string]string{"secret/x": "old", "a/deep/f": "", "up/f": ""})
		for link, to := range map[string]string{"link": "secret", "filelink": "secret/x", "linktolink": "link", "dangling": "secret/fresh"} {
			require.NoError(s, os.Symlink(to, filepath.Join(root, link)))
		}
		return w.configure(config), root
	}
	state := func(root string) string {
		var b strings.Builder
		_ = filepath.WalkDir(filepath.Join(root, "secret"), func(p string, e os.DirEntry, _ error) error {
			fmt.Fprintln(&b, p, content(p))
			return nil
		})
		return b.String()
	}
	for _, rule := range []string{`"path":"secret/**"`, `"path":"**/x"`, `"path":"secret/x"`, `"path":"*/x"`} {
		for _, decision := range []string{"deny", "ask"} {
			w, root := scene(rules("auto", `{"decision":"`+decision+`",`+rule+`}`, `{"decision":"allow","tool":"*"}`))
			w.policy.Remember("write_file", "", toolset.VerdictAllow)
			before := state(root)
			for _, name := range names {
				if strings.Contains(name, "new") || name == "dangling" {
					if rule != `"path":"secret/**"` {
						continue
					}
				}
				for _, n := range []string{name, filepath.Join(root, name)} {
					w.write(n, "new")
					s.attack(state(root) == before, "%s %s: write_file %q", decision, rule, n)
					w.call("edit_file", args{"path": n, "edits": []args{{"old_text": "old", "new_text": "new"}}})
					s.attack(state(root) == before, "%s %s: edit_file %q", decision, rule, n)
				}
			}
			for _, line := range []string{"echo new >secret/x", "tee secret/x", "cp up/f secret/x", "mv up/f secret/x", "rm secret/x", "rm -rf secret", "sed -i s/o/n/ secret/x", "truncate -s 0 secret/x", "echo new >./secret/x", "echo new >link/x", "cd secret && echo new >x", "cd link; echo new >x", "ln -sf up/f secret/x", "dd of=secret/x", "echo new >'secret/x'", "echo new >sec''ret/x", "python3 -c \"open('secret/x','w')\"", "chmod 0 secret/x", "mv secret other", "rm -r ."} {
				if strings.Contains(rule, "**/x") && strings.Contains(line, "mv secret") {
					continue
				}
				w.run(line)
				s.attack(state(root) == before, "%s %s: %q", decision, rule, line)
				if state(root) != before {
					w, root = scene(rules("auto", `{"decision":"`+decision+`",`+rule+`}`, `{"decision":"allow","tool":"*"}`))
					before = state(root)
				}
			}
		}
	}
	// What is allowed is inside of what was said.
	w, root := scene(rules("ask", `{"decision":"allow","tool":"write_file","path":"a/**"}`))
	require.NoError(s, os.Symlink("../secret", filepath.Join(root, "a", "out")))
	require.NoError(s, os.Symlink("../secret/x", filepath.Join(root, "a", "file")))
	before := state(root)
	for _, name := range []string{"a/../secret/x", "a/out/x", "a/file", "a/deep/../../secret/x", "A/../secret/x", "a/out/new", root + "/a/../secret/x", "a/./../secret/x"} {
		w.write(name, "new")
		s.attack(state(root) == before, "allow a/**: %q", name)
	}
	outside := s.TempDir()
	for _, name := range []string{"../x", outside + "/x", "/etc/ponte-test", "a/../../x", "~/x"} {
		told := w.write(name, "new")
		s.attack(content(filepath.Join(outside, "x")) == "-" && content(filepath.Join(filepath.Dir(root), "x")) == "-" && content("/etc/ponte-test") == "-", "%q: %s", name, told)
	}
	// "Always" about a file is about this file.
	w, root = onDisk(s, map[string]string{"f": "old", "g": "old", "d/f": "old"})
	require.NoError(s, os.Symlink("g", filepath.Join(root, "l")))
	w.person = always
	w.write("f", "1")
	w.person = never
	for _, name := range []string{"g", "d/f", "l", "F2", "f/x", "f.txt", "./g"} {
		w.write(name, "new")
		s.attack(content(filepath.Join(root, "g")) == "old" && content(filepath.Join(root, "d", "f")) == "old" && content(filepath.Join(root, name)) != "new", "always f: %q", name)
	}
}

// Files that other programs execute or obey are asked about, whatever allows it.
func runsLater(s *suite) {
	loose := []struct {
		name string
		make func(*world) *world
	}{
		{"mode code", func(w *world) *world { w.code = true; return w }},
		{"mode auto", func(w *world) *world { return w.configure(rules("auto")) }},
		{"a rule for everything", func(w *world) *world {
			return w.configure(rules("ask", `{"decision":"allow","tool":"*"}`, `{"decision":"allow","path":"**"}`))
		}},
		{"always", func(w *world) *world {
			w.policy.Remember("write_file", "", toolset.VerdictAllow)
			w.policy.Remember("run_command", "", toolset.VerdictAllow)
			w.policy.Remember("edit_file", "", toolset.VerdictAllow)
			return w
		}},
	}
	for _, l := range loose {
		w := l.make(memory(s, map[string]string{"f": "x", "sub/f": "x"}))
		for i, p := range approval.ProtectedPaths() {
			name := strings.ReplaceAll(p.Name, "*", "x")
			for _, at := range []string{name, "sub/" + name, name + "/below", strings.ToUpper(name[:1]) + name[1:]} {
				w.write(at, "evil")
				s.attack(len(w.asked) > 0, "%s: write_file %s", l.name, at)
			}
			if l.name == "mode code" {
				continue // which asks about commands
			}
			for j, line := range []string{"echo evil >%s", "cp f %s", "mv f ./%s", "ln -s f sub/%s", "tee %s", "sed -i s/a/b/ %s", "cd sub && cp ../f %s", "sh -c 'echo evil >%s'", "python3 -c \"open('%s','w')\"", "rm -rf %s"} {
				if (i+j)%3 > 0 {
					continue // the others are made with other names
				}
				line = strings.ReplaceAll(line, "%s", name)
				w.run(line)
				s.attack(len(w.asked) > 0, "%s: %q", l.name, line)
			}
		}
	}
	w := memory(s, nil).configure(rules("auto"))
	for _, line := range []string{
		"git config core.hooksPath x", "git config --global alias.x '!evil'", "git -C . config core.pager evil", "git remote add x ext::evil", "git push -u origin x", "git submodule add x", "git init", "git config core.fsmonitor evil", "git branch --set-upstream-to=x", "git config --add x.y z", "git config -e", "git config --edit", "git config set core.editor evil",
		"cd .git && echo x >config", "cd .git/hooks; touch post-commit", "install -m755 f .git/hooks/pre-commit", "echo x >.git/hooks/pre-commit", "curl -o .envrc x", "wget -O .bashrc x", "tar -xf x .vscode", "unzip x -d .github/workflows", "git show x:y >.husky/pre-commit", "patch .envrc x", "rsync x .claude/", "perl -i -pe x .npmrc", "awk x >.mcp.json", "cat x >>.profile", "dd of=.zshrc", "printf x | tee -a .gitconfig",
		"git checkout x -- .envrc", "mv .github x", "mv x .vscode", "ln -sf x .git", "echo x >.GIT/config", "echo x >./.git//config", "echo x >.git/./config", "echo x >a/../.git/config", "echo x > .gi''t/config", "echo x >.gi\\t/config", "echo x >\".git/config\"", "echo x >.git/{config,x}", "cp f $'\\x2egit/config'", "env -C .git touch config", "git -C x config a b", "(cd .git; touch x)", "pushd .git; touch x",
	} {
		w.run(line)
		s.attack(len(w.asked) > 0, "mode auto: %q", line)
	}
	// Through links, and of this machine.
	disk, root := onDisk(s, map[string]string{".git/config": "old", "f": "x"})
	disk.code = true
	require.NoError(s, os.Symlink(".git", filepath.Join(root, "g")))
	require.NoError(s, os.Symlink(".git/config", filepath.Join(root, "c")))
	for _, name := range []string{"g/config", "c", "g/hooks/post-commit", "./g/config", root + "/g/config", "g/../.git/config"} {
		disk.write(name, "evil")
		s.attack(content(filepath.Join(root, ".git", "config")) == "old" && content(filepath.Join(root, ".git", "hooks", "post-commit")) == "-", "mode code: %q", name)
	}
}

// What must not be read is not read.
func reads(s *suite) {
	const secret = "sesame"
	for _, decision := range []string{"deny", "ask"} {
		w, root := onDisk(s, map[string]string{".env": secret, "sub/.env": secret, "a.txt": "x", "sub/a.txt": "y"})
		require.NoError(s, os.Symlink(".env", filepath.Join(root, "link")))
		require.NoError(s, os.Symlink("sub", filepath.Join(root, "dirlink")))
		w.configure(rules("auto", `{"decision":"`+decision+`","read":"**/.env"}`, `{"decision":"allow","tool":"*"}`))
		for _, tool := range []string{"read_file", "write_file", "edit_file", "run_command"} {
			w.policy.Remember(tool, "", toolset.VerdictAllow)
		}
		for _, name := range []string{".env", "./.env", "sub/.env", "sub/../.env", "link", "dirlink/.env", ".ENV", root + "/.env", ".//.env", "sub/./.env", "dirlink/../.env"} {
			told := w.call("read_file", args{"path": name})
			s.attack(!strings.Contains(told, secret), "%s: read_file %q", decision, name)
			told = w.call("edit_file", args{"path": name, "edits": []args{{"old_text": "zzz", "new_text": "x"}}})
			s.attack(!strings.Contains(told, secret), "%s: edit_file %q", decision, name)
			right := w.call("write_file", args{"path": name, "content": secret})
			put(s, filepath.Join(root, ".env"), secret)
			_ = os.Remove(filepath.Join(root, ".ENV")) // another file, on most file systems of Linux
			wrong := w.call("write_file", args{"path": name, "content": "guess!"})
			s.attack(right == wrong, "%s: write_file %q tells of a guess that it is right: %s", decision, name, right)
			_ = os.Remove(filepath.Join(root, ".ENV"))
			for _, f := range []string{".env", "sub/.env"} {
				put(s, filepath.Join(root, f), secret)
			}
		}
		for _, in := range []args{{"pattern": secret}, {"pattern": "s.*e"}, {"pattern": ".", "path": "sub"}, {"pattern": ".", "path": "sub/.env"}, {"pattern": ".", "path": ".env"}, {"pattern": ".", "path": "link"}, {"pattern": ".", "path": "dirlink"}, {"pattern": ".", "glob": "**/.env"}} {
			told := w.call("search_files", in)
			s.attack(!strings.Contains(strings.ReplaceAll(told, `"`+secret+`"`, ""), ":"+secret) && !strings.Contains(told, secret+"\n"), "%s: search_files %v: %s", decision, in, told)
		}
		for _, line := range []string{
			"cat .env", "cat sub/.env", "cat ./.env", "cat < .env", "head -1 .env", "grep . .env", "cat link .env", "sh -c 'cat .env'", "cat sub/../.env", "cd sub && cat .env", "cat '.env'", "cat .e''nv", "cat .en\\v", "cat .en{v,}", "cat .ENV", "python3 -c \"print(open('.env').read())\"",
			"cp .env x; cat x", "mv .env y; cat y", "base64 .env", "od -c .env", "source .env", ". ./.env", "awk 1 .env", "sed '' .env", "sort .env", "diff .env a.txt", "tar cf - .env", "while read x; do echo $x; done <.env", "xargs -a .env", "dd if=.env", "rev .env | rev", "cat $'\\x2eenv'", "cat \".env\"", "cat .env*", "cat sub/.en?", "cat .[e]nv", "grep -r . .", "grep -r . sub", "rg . --hidden", "cat -- .env", "nl .env", "strings .env", "xxd .env", "tail -5 .env a.txt",
		} {
			told := w.run(line)
			s.attack(!strings.Contains(told, secret), "%s: %q", decision, line)
			put(s, filepath.Join(root, ".env"), secret)
		}
	}
}
