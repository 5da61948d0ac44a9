// SPDX-License-Identifier: Apache-2.0

// Package doctest keeps the documentation true: every code block in README.md and docs is compiled, checked or run.
package doctest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// block is a fenced code block of a document.
type block struct {
	file string
	line int
	lang string
	text string
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

// blocks returns all code blocks of all documents.
func blocks(t *testing.T) []block {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	var all []block
	for _, file := range append(files, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var open *block
		for i, line := range strings.Split(string(text), "\n") {
			fence, lang, ok := strings.Cut(strings.TrimSpace(line), "```")
			switch {
			case !ok || fence != "":
				if open != nil {
					open.text += line + "\n"
				}
			case open == nil:
				open = &block{file: filepath.Base(file), line: i + 1, lang: lang}
			default:
				all = append(all, *open)
				open = nil
			}
		}
		require.Nil(t, open, "%s: a code block is not closed", file)
	}
	return all
}

// TestEveryCodeBlockHasALanguageThatIsChecked makes sure that no block escapes the tests below.
func TestEveryCodeBlockHasALanguageThatIsChecked(t *testing.T) {
	for _, b := range blocks(t) {
		switch b.lang {
		case "go", "json", "sh":
		case "lua", "elisp": // settings of editors, which internal/interop runs
			require.Equal(t, "editors.md", b.file)
		case "text": // output and diagrams: nothing to run
		default:
			t.Errorf("%v: language %q is not checked; use go, json, sh or text", b, b.lang)
		}
	}
}

// TestGoBlocksCompileAndPrintWhatTheySay builds every Go block, each of which is a whole program, and runs those that say what they print. Linking
// takes longest, so the blocks are packages of two programs, which run the one that they are told. What a block prints may depend on
// which providers are linked, so those with the SDK of one are apart.
func TestGoBlocksCompileAndPrintWhatTheySay(t *testing.T) {
	abs, err := filepath.Abs(root)
	require.NoError(t, err)
	dir := t.TempDir()
	overlay := map[string]map[string]string{"Replace": {}}
	write := func(name, text string) {
		file := filepath.Join(dir, name+".go")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		overlay["Replace"][filepath.Join(abs, "internal", "doctest", name, "main.go")] = file
	}
	programs := map[string]*program{"blocks": {}, "blocksWithSDKs": {}}
	for i, b := range blocks(t) {
		if b.lang != "go" {
			continue
		}
		formatted := exec.CommandContext(t.Context(), "gofmt")
		formatted.Stdin = strings.NewReader(b.text)
		out, err := formatted.Output()
		require.NoError(t, err, "%v does not parse", b)
		require.Equal(t, string(out), b.text, "%v is not formatted", b)

		name := fmt.Sprintf("block%d", i)
		write(name, packaged(t, b, name))
		programs[programOf(b)].add(name)
	}
	args := []string{"build", "-ldflags=-s -w", "-overlay", filepath.Join(dir, "overlay.json"), "-o", dir + string(filepath.Separator)}
	for name, p := range programs {
		write(name, p.text())
		args = append(args, "./internal/doctest/"+name)
	}
	data, err := json.Marshal(overlay)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), data, 0o600))
	build := exec.CommandContext(t.Context(), "go", args...)
	build.Dir = abs
	built, err := build.CombinedOutput()
	require.NoError(t, err, "%s", built)
	for i, b := range blocks(t) {
		want, ok := expectedOutput(b.text)
		if b.lang != "go" || !ok {
			continue
		}
		out, err := exec.CommandContext(t.Context(), filepath.Join(dir, programOf(b)), fmt.Sprintf("block%d", i)).Output()
		require.NoError(t, err, "%v", b)
		require.Equal(t, want, strings.TrimSpace(string(out)), "%v prints something else", b)
	}
}

// program is a program that has blocks as packages, and runs the one that its argument names.
type program struct{ imports, cases strings.Builder }

func (p *program) add(name string) {
	fmt.Fprintf(&p.imports, "import %q\n", "github.com/ponte-go/ponte/internal/doctest/"+name)
	fmt.Fprintf(&p.cases, "case %q:\n%s.Main()\n", name, name)
}

func (p *program) text() string {
	return "package main\n\nimport \"os\"\n" + p.imports.String() +
		"func main() {\nname := os.Args[1]\nos.Args = os.Args[:1]\nswitch name {\n" + p.cases.String() + "}\n}\n"
}

// programOf returns the name of the program that has a block.
func programOf(b block) string {
	if regexp.MustCompile(`(?m)^\t(\w+ )?"github.com/ponte-go/ponte/agent/model/(anthropicmodel|geminimodel|genkitmodel)`).MatchString(b.text) {
		return "blocksWithSDKs"
	}
	return "blocks"
}

// packaged returns a block that is a whole program as a package, with the function Main. Lines stay where they are.
func packaged(t *testing.T, b block, name string) string {
	t.Helper()
	require.Equal(t, 1, strings.Count("\n"+b.text, "\npackage main\n"), "%v: a Go block is a whole program", b)
	require.Equal(t, 1, strings.Count(b.text, "\nfunc main() {"), "%v: a Go block is a whole program", b)
	require.NotRegexp(t, `[^.]\bMain\b`, b.text, "%v: the name Main is taken by the test", b)
	text := strings.Replace("\n"+b.text, "\npackage main\n", "\npackage "+name+"\n", 1)
	return strings.Replace(text, "\nfunc main() {", "\nfunc Main() {", 1)[1:]
}

func TestOutputsOfOneLineAreChecked(t *testing.T) {
	for program, want := range map[string]string{
		"\t// Output: one\n}\n": "one", "\t// Output:\n\t// one\n\t// two\n}\n": "one\ntwo", "\t// Output:\n}\n": "",
	} {
		got, ok := expectedOutput(program)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	_, ok := expectedOutput("}\n")
	require.False(t, ok)
}

// expectedOutput returns what the comment "Output:" at the end of a program says that it prints.
func expectedOutput(program string) (string, bool) {
	_, comment, ok := strings.Cut(program, "\t// Output:")
	first, comment, _ := strings.Cut(comment, "\n")
	lines := []string{strings.TrimSpace(first)}
	for line := range strings.Lines(comment) {
		text, isComment := strings.CutPrefix(strings.TrimSpace(line), "//")
		if !isComment {
			break
		}
		lines = append(lines, strings.TrimPrefix(text, " "))
	}
	return strings.TrimSpace(strings.Join(lines, "\n")), ok
}

func TestJSONBlocksAreValid(t *testing.T) {
	for _, b := range blocks(t) {
		if b.lang == "json" {
			require.True(t, json.Valid([]byte(b.text)), "%v", b)
		}
	}
}

// TestShellBlocksNameWhatExists checks the commands of the documents: the programs that they run with go are there and
// parse their flags. The README's two commands are run by CI as they stand.
func TestShellBlocksNameWhatExists(t *testing.T) {
	for _, b := range blocks(t) {
		if b.lang != "sh" {
			continue
		}
		for line := range strings.Lines(b.text) {
			for _, dir := range regexp.MustCompile(`\./[a-z][a-z0-9/_-]*`).FindAllString(line, -1) {
				_, err := os.Stat(filepath.Join(root, dir))
				require.NoError(t, err, "%v: %s", b, line)
			}
		}
	}
}

// TestReadmeBeginsWithItsTwoCommands keeps the README's promise, which CI relies on: the first shell block holds the
// command that does the main job, the second one the command that runs the tests.
func TestReadmeBeginsWithItsTwoCommands(t *testing.T) {
	var commands []string
	for _, b := range blocks(t) {
		if b.file == "README.md" && b.lang == "sh" {
			commands = append(commands, strings.TrimSpace(b.text))
		}
	}
	require.GreaterOrEqual(t, len(commands), 2)
	require.True(t, strings.HasPrefix(commands[0], "go run ./examples/codeagent "), commands[0])
	require.Equal(t, "go test ./...", commands[1])
}

// TestReadmeNamesTheVersionOfGo compares it with go.mod.
func TestReadmeNamesTheVersionOfGo(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	needs := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	require.NotNil(t, needs)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	require.Contains(t, string(readme), "Go "+string(needs[1])+" or newer")
}

// TestLinksLeadSomewhere checks the relative links of the documents, with their anchors.
func TestLinksLeadSomewhere(t *testing.T) {
	files := documents(t)
	for _, name := range []string{"README.md", "CHANGELOG.md", "examples/README.md", "agent/engine/temporalengine/README.md"} {
		files = append(files, filepath.Join(root, filepath.FromSlash(name)))
	}
	for _, file := range files {
		for _, m := range regexp.MustCompile(`\]\(([^)#]*)(#[^)]*)?\)`).FindAllSubmatch(prose(t, file), -1) {
			if bytes.Contains(m[1], []byte("://")) {
				continue
			}
			target := file
			if len(m[1]) > 0 {
				target = filepath.Join(filepath.Dir(file), string(m[1]))
			}
			_, err := os.Stat(target)
			require.NoError(t, err, "%s links to %s", file, m[1])
			if len(m[2]) > 0 {
				require.Contains(t, anchors(t, target), string(m[2][1:]), "%s links to %s%s", file, m[1], m[2])
			}
		}
	}
}

// documents returns the files of the documentation.
func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"docs/*.md", "docs/decisions/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		all = append(all, files...)
	}
	return all
}

// TestDecisionsAreListedAndDated: a record begins with its title, its date and its area, under which the index lists it once.
func TestDecisionsAreListedAndDated(t *testing.T) {
	dir := filepath.Join(root, "docs", "decisions")
	index, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	areas := map[string]string{}
	for part := range strings.SplitSeq(string(index), "\n## ") {
		area, list, _ := strings.Cut(part, "\n")
		for _, m := range regexp.MustCompile(`(?m)^- \[.*\]\((.*)\)$`).FindAllStringSubmatch(list, -1) {
			require.Empty(t, areas[m[1]], "%s is listed twice", m[1])
			areas[m[1]] = area
		}
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, len(areas)+1)
	for name, area := range areas {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Regexp(t, `^# .+\n\n20\d\d-\d\d-\d\d\. `+area+`\.\n\n`, string(text), name)
		require.Less(t, len(strings.Fields(string(text))), 300, "%s: a record is short", name)
	}
}

// TestOverviewsAreShort keeps the overview and the changelog something that is read at once.
func TestOverviewsAreShort(t *testing.T) {
	for name, words := range map[string]int{"docs/design.md": 3000, "CHANGELOG.md": 1000} {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		require.NoError(t, err)
		require.LessOrEqual(t, len(strings.Fields(string(text))), words, name)
	}
}

// prose returns a document without its code blocks.
func prose(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return regexp.MustCompile("(?s)```.*?```").ReplaceAll(text, nil)
}

// anchors returns the anchors of a document's headings, as GitHub makes them.
func anchors(t *testing.T, file string) []string {
	t.Helper()
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllSubmatch(prose(t, file), -1) {
		name := regexp.MustCompile(`[^\w\- ]`).ReplaceAll(bytes.ToLower(m[1]), nil)
		all = append(all, strings.ReplaceAll(string(name), " ", "-"))
	}
	return all
}

// TestNamedTestsExist checks that the tests which the documents name are there.
func TestNamedTestsExist(t *testing.T) {
	defined := map[string]bool{}
	err := filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
			defined[string(m[1])] = true
		}
		return err
	})
	require.NoError(t, err)
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllSubmatch(text, -1) {
			require.True(t, defined[string(m[1])], "%s names %s", file, m[1])
		}
	}
}
