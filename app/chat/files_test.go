// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app/internal/term/screen"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// writes makes files, and returns the directory.
func writes(t *testing.T, names ...string) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, name := range names {
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
		require.NoError(t, os.WriteFile(at, []byte(name), 0o600))
	}
	return dir
}

func consoleIn(dir string) *console {
	return &console{config: &Config{Dir: dir}, dropped: map[string]string{}, model: screen.New(screen.Config{Dir: dir})}
}

// A file that is dropped on the terminal is mentioned in the input, however the terminal pastes its path.
func TestDroppedFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths have other forms there")
	}
	dir := writes(t, "a.txt", "sub/b c.txt", "it's", "t\tb")
	other := writes(t, "else.txt", "with space")
	long := strings.Repeat("x", 4097)
	for pasted, want := range map[string]string{
		dir + "/a.txt":                     "@a.txt",
		" " + dir + "/a.txt\n":             "@a.txt",
		"'" + dir + "/a.txt'":              "@a.txt",
		`"` + dir + `/a.txt"`:              "@a.txt",
		"file://" + dir + "/a.txt":         "@a.txt",
		"file://" + dir + "/sub/b%20c.txt": `@"sub/b c.txt"`,
		dir + `/sub/b\ c.txt`:              `@"sub/b c.txt"`,
		dir + "/sub/b c.txt":               `@"sub/b c.txt"`,
		"'" + dir + "/sub/b c.txt'":        `@"sub/b c.txt"`,
		dir + "/it's":                      "@it's",
		dir + "/t\\\tb":                    "@\"t\tb\"",
		other + "/else.txt":                "@" + other + "/else.txt",
		"'" + other + "/with space'":       `@"` + other + `/with space"`,
		"a.txt":                            "",
		dir:                                "",
		dir + "/none":                      "",
		dir + "/a.txt " + dir + "/a.txt":   "",
		dir + "/a.txt\n" + dir + "/a.txt":  "",
		dir + "/a.txt\x00":                 "",
		"http://" + dir + "/a.txt":         "",
		`'` + dir + `/a"b'`:                "",
		"/" + long:                         "",
		"":                                 "",
		"just words":                       "",
		"doc.go":                           "",
	} {
		c := consoleIn(dir)
		require.Equal(t, want, c.drop(pasted), "%q", pasted)
		if want == "" {
			require.Empty(t, c.dropped, "%q", pasted)
			continue
		}
		name := strings.Trim(want[1:], `"`)
		at := name
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, name)
		}
		require.Equal(t, map[string]string{name: at}, c.dropped)
		require.Equal(t, []string{at}, c.named("see "+want+" and so on"))
		require.Equal(t, []string{at}, c.named(want+" "+want))
	}
}

// A prompt names files of the directory, and those that were dropped.
func TestFilesThatAPromptNames(t *testing.T) {
	c := consoleIn("/repo")
	c.model.SetFiles([]string{"a.go", "sub/b.go", "c d.go"})
	c.dropped["dropped."] = "/else/dropped."
	a, b, cd := filepath.FromSlash("/repo/a.go"), filepath.FromSlash("/repo/sub/b.go"), filepath.FromSlash("/repo/c d.go")
	if runtime.GOOS == "windows" {
		a, b, cd = filepath.Join("/repo", "a.go"), filepath.Join("/repo", "sub", "b.go"), filepath.Join("/repo", "c d.go")
	}
	for prompt, want := range map[string][]string{
		"":                          nil,
		"a.go":                      nil,
		"@a.go":                     {a},
		"see @a.go, and @sub/b.go.": {a, b},
		"@a.go@sub/b.go":            nil,
		"mail@a.go":                 nil,
		"@a.go\n@sub/b.go":          {a, b},
		"@a.go?!;:)":                {a},
		`@"c d.go" @a.go`:           {cd, a},
		`@"a.go."`:                  nil,
		"@dropped.":                 {"/else/dropped."},
		"@none.go":                  nil,
		"@A.go":                     nil,
		"@a.go @a.go":               {a},
		"@":                         nil,
	} {
		require.Equal(t, want, c.named(prompt), "%q", prompt)
	}
}

// Files are sent as links, pictures as they are if the agent takes them.
func TestContentOfPrompts(t *testing.T) {
	dir := writes(t, "a.txt", "p.PNG", "p.jpg", "p.jpeg", "p.gif", "p.webp", "ü b.txt")
	link := func(name, uri string) acp.ContentBlock {
		return acp.ContentBlock{ResourceLink: &acp.ResourceLink{Name: name, URI: uri}}
	}
	slashed := filepath.ToSlash(dir)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	got, err := blocks("text", []string{filepath.Join(dir, "a.txt"), filepath.Join(dir, "ü b.txt"), filepath.Join(dir, "p.gif")}, false)
	require.NoError(t, err)
	require.Equal(t, []acp.ContentBlock{
		acp.TextBlock("text"), link("a.txt", "file://"+slashed+"/a.txt"), link("ü b.txt", "file://"+slashed+"/%C3%BC%20b.txt"), link("p.gif", "file://"+slashed+"/p.gif"),
	}, got)
	for name, kind := range map[string]string{"p.PNG": "image/png", "p.jpg": "image/jpeg", "p.jpeg": "image/jpeg", "p.gif": "image/gif", "p.webp": "image/webp"} {
		got, err := blocks("text", []string{filepath.Join(dir, name), filepath.Join(dir, "a.txt")}, true)
		require.NoError(t, err)
		require.Equal(t, []acp.ContentBlock{
			acp.TextBlock("text"), {Image: &acp.ImageContent{MIMEType: kind, Data: base64.StdEncoding.EncodeToString([]byte(name))}}, link("a.txt", "file://"+slashed+"/a.txt"),
		}, got)
	}
	got, err = blocks("text", []string{filepath.Join(dir, "none.png")}, true)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Nil(t, got)
	got, err = blocks("text", nil, true)
	require.NoError(t, err)
	require.Equal(t, []acp.ContentBlock{acp.TextBlock("text")}, got)

	large := filepath.Join(dir, "large.png")
	require.NoError(t, os.WriteFile(large, nil, 0o600))
	require.NoError(t, os.Truncate(large, 8<<20))
	picture, err := readPicture(large, "image/png")
	require.NoError(t, err)
	require.Len(t, picture.Data, base64.StdEncoding.EncodedLen(8<<20))
	require.NoError(t, os.Truncate(large, 8<<20+1))
	_, err = readPicture(large, "image/png")
	require.EqualError(t, err, large+" has more than 8388608 bytes: make the picture smaller")
	_, err = readPicture(dir, "image/png")
	require.Error(t, err)
}

// A picture of the clipboard is kept in a file of the program's until it ends.
func TestPicturesThatAreKept(t *testing.T) {
	c := consoleIn(writes(t))
	c.removePictures()
	for i, data := range []string{"one", "two"} {
		require.NoError(t, c.keepPicture([]byte(data)))
		at := filepath.Join(c.pictures, fmt.Sprintf("picture-%d.png", i+1))
		info, err := os.Stat(at)
		require.NoError(t, err)
		if runtime.GOOS != "windows" {
			require.Equal(t, os.FileMode(0o600), info.Mode())
		}
		read, err := os.ReadFile(at)
		require.NoError(t, err)
		require.Equal(t, data, string(read))
		require.Equal(t, at, c.dropped[at])
	}
	dir := c.pictures
	c.removePictures()
	require.NoDirExists(t, dir)
	require.Error(t, c.keepPicture([]byte("three")), "there is no place for it any more")
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	if c.pictures = ""; runtime.GOOS != "windows" {
		require.Error(t, c.keepPicture([]byte("four")))
		require.Empty(t, c.pictures)
	}
}

// The clipboard is read by the programs that there are, one after the other.
func TestPicturesOfTheClipboard(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems have other programs")
	}
	bin := writes(t)
	path := os.Getenv("PATH")
	program := func(name, script string) {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nPATH='"+path+"'\n"+script), 0o700))
	}
	t.Setenv("PATH", bin)
	_, err := clipboard(t.Context())
	require.EqualError(t, err, "pictures in the clipboard need wl-paste or xclip: install it, or drop the file here")
	program("xclip", `[ "$*" = "-selection clipboard -target image/png -out" ] && printf '\211PNG second'`)
	data, err := clipboard(t.Context())
	require.NoError(t, err)
	require.Equal(t, "\x89PNG second", string(data))
	program("wl-paste", `[ "$*" = "--no-newline --type image/png" ] && printf '\211PNG first'`)
	data, err = clipboard(t.Context())
	require.NoError(t, err)
	require.Equal(t, "\x89PNG first", string(data))
	for _, wrong := range []string{"exit 1", "printf text", `printf '\211PNG'; exit 1`} {
		program("wl-paste", wrong)
		data, err = clipboard(t.Context())
		require.NoError(t, err, wrong)
		require.Equal(t, "\x89PNG second", string(data), wrong)
	}
	program("xclip", "exit 1")
	_, err = clipboard(t.Context())
	require.EqualError(t, err, "there is no picture in the clipboard")

	var b bytes.Buffer
	l := &limited{to: &b, left: 3}
	for _, part := range []string{"a", "bc"} {
		n, err := l.Write([]byte(part))
		require.NoError(t, err)
		require.Equal(t, len(part), n)
	}
	n, err := l.Write([]byte("d"))
	require.EqualError(t, err, "too large")
	require.Zero(t, n)
	require.Equal(t, "abc", b.String())
}

// Hidden files and what is generated are not completed.
func TestFilesThatAreCompleted(t *testing.T) {
	dir := writes(t, "a.go", "sub/b.go", ".hidden", ".git/config", "node_modules/x.js", "vendor/y.go", "target/z", "sub/vendor/w.go", "c d.go", "sub/target.go", "vendored/v.go", "file/target")
	files, err := local.Open(local.Config{Roots: []string{dir}})
	require.NoError(t, err)
	defer files.Close()
	require.ElementsMatch(t, []string{"a.go", "sub/b.go", "sub/target.go", "vendored/v.go", "file/target"}, list(t.Context(), files))
}

// Files that are read-only are not replaced.
func TestReadOnlyFilesAreLeftAlone(t *testing.T) {
	dir := writes(t, "a.txt", "b.txt")
	files, err := local.Open(local.Config{Roots: []string{dir}})
	require.NoError(t, err)
	defer files.Close()
	a, b := filepath.Join(dir, "a.txt"), filepath.Join(dir, "b.txt")
	require.NoError(t, os.Chmod(a, 0o400))
	version, err := careful{files}.Write(t.Context(), a, []byte("new"), workspace.AnyVersion)
	require.Equal(t, &workspace.PathError{Op: "write", Path: a, Err: os.ErrPermission}, err)
	require.Empty(t, version)
	for _, at := range []string{b, filepath.Join(dir, "c.txt")} {
		version, err = careful{files}.Write(t.Context(), at, []byte("new"), workspace.AnyVersion)
		require.NoError(t, err)
		require.NotEmpty(t, version)
		data, err := os.ReadFile(at)
		require.NoError(t, err)
		require.Equal(t, "new", string(data))
	}
	require.NoError(t, os.Chmod(a, 0o600))
}

// Command lines are cut as a shell does, without expanding anything.
func TestCommandLinesAreCutAsAShellDoes(t *testing.T) {
	for line, want := range map[string]string{
		`a`: `[] "a" []`, ` a  b	c
d `: `[] "a" ["b" "c" "d"]`, `'a b' "c d"`: `[] "a b" ["c d"]`, `a\ b c\\d e\'f g\"h i\	j`: `[] "a b" ["c\\d" "e'f" "g\"h" "i\tj"]`,
		`C:\dir\file.exe \x`: `[] "C:\\dir\\file.exe" ["\\x"]`, `a\`: `[] "a\\" []`, `"a\"b\\c\d" x`: `[] "a\"b\\c\\d" ["x"]`, `'a\"b\\'`: `[] "a\\\"b\\\\" []`, `a'b'"c"d ''`: `[] "abcd" [""]`,
		`"'" '"'`: `[] "'" ["\""]`, `A=1 b_2=x=y _c= D c=d`: `["A=1" "b_2=x=y" "_c="] "D" ["c=d"]`, `a-b=1 c`: `[] "a-b=1" ["c"]`, `=1 c`: `[] "=1" ["c"]`, `Zz09_=1 c`: `["Zz09_=1"] "c" []`,
		`/=1 c`: `[] "/=1" ["c"]`, `:=1 c`: `[] ":=1" ["c"]`, `@=1 c`: `[] "@=1" ["c"]`, `[=1 c`: `[] "[=1" ["c"]`, "`=1 c": "[] \"`=1\" [\"c\"]", `{=1 c`: `[] "{=1" ["c"]`, `é=1 c`: `[] "é=1" ["c"]`, `$HOME *`: `[] "$HOME" ["*"]`,
	} {
		c, err := ParseCommand(line)
		require.NoError(t, err, line)
		require.Equal(t, want, fmt.Sprintf("%q %q %q", c.Env, c.Path, c.Args), line)
	}
	for line, want := range map[string]string{
		"": "there is no command", "  ": "there is no command", "A=1": "there is no command", "''": "there is no command", "A=1 ''": "there is no command", "'a": "a quote is not closed", `a"`: "a quote is not closed", `"a\"`: "a quote is not closed",
	} {
		c, err := ParseCommand(line)
		require.EqualError(t, err, want, line)
		require.Equal(t, acpclient.Command{}, c)
	}
}

// Lines of the input are read whole, with any end, up to 32 MB.
func TestLinesOfTheInput(t *testing.T) {
	got := func(in io.Reader) (all []string) {
		l := newLines(in)
		for line := range l.read() {
			if line.err != nil {
				all = append(all, "! "+line.err.Error())
				continue
			}
			all = append(all, line.text)
		}
		return all
	}
	long := strings.Repeat("x", 5000)
	require.Equal(t, []string{"a", "", "b", long, "c\rd", "e"}, got(strings.NewReader("a\r\n\nb\n"+long+"\nc\rd\ne")))
	require.Empty(t, got(strings.NewReader("")))
	require.Equal(t, []string{"a", "half", "! the input cannot be read: on fire"}, got(io.MultiReader(strings.NewReader("a\nhalf"), iotest.ErrReader(errors.New("on fire")))))
	text, size, err := readWhole(bufio.NewReader(io.MultiReader(io.LimitReader(endless{}, 32<<20-1), strings.NewReader("\nrest"))))
	require.NoError(t, err)
	require.Equal(t, []int{32<<20 - 1, 32 << 20}, []int{len(text), size})
	in := bufio.NewReader(io.MultiReader(io.LimitReader(endless{}, 32<<20), strings.NewReader("\nrest\n")))
	text, size, err = readWhole(in)
	require.NoError(t, err)
	require.Equal(t, 32<<20+1, size)
	require.Less(t, len(text), 1<<20, "it is not kept")
	text, _, err = readWhole(in)
	require.NoError(t, err)
	require.Equal(t, "rest", text)
}

// endless is a line without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// The line that chooses a login is read without a byte of what follows.
func TestTheLineThatChoosesALogin(t *testing.T) {
	for in, want := range map[string]string{"2\nrest": "2", " 2 \r\nrest": "2", "2": "2", "": "", "\nrest": "", strings.Repeat("1", 1000) + "\nrest": strings.Repeat("1", 1000), strings.Repeat("1", 1001) + "rest": strings.Repeat("1", 1000)} {
		r := strings.NewReader(in)
		line, err := readLine(t.Context(), &Config{In: r})
		require.NoError(t, err)
		require.Equal(t, want, line)
		left, _ := io.ReadAll(r)
		if strings.HasSuffix(in, "rest") {
			require.Equal(t, "rest", string(left))
		}
	}
	_, err := readLine(t.Context(), &Config{In: io.MultiReader(strings.NewReader("2"), iotest.ErrReader(errors.New("on fire")))})
	require.EqualError(t, err, "on fire")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errQuit)
	r, w := io.Pipe()
	defer w.Close()
	_, err = readLine(ctx, &Config{In: r})
	require.Equal(t, errQuit, err)
}

// notepad is an output that can be read while it is written.
type notepad struct {
	mu sync.Mutex
	b  strings.Builder
}

func (n *notepad) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.b.Write(p)
}

// take returns what was written since the last time.
func (n *notepad) take() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	text := n.b.String()
	n.b.Reset()
	return text
}

// What takes a while is shown after a third of a second, each tenth of one, and is taken away.
func TestWhatIsShownWhileTheAgentStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n notepad
		stop := waiting(&n, "Starting it")
		time.Sleep(299 * time.Millisecond)
		synctest.Wait()
		require.Empty(t, n.take())
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Equal(t, "\r\x1b[?7l\x1b[K⠹ 0s Starting it\x1b[?7h", n.take())
		time.Sleep(time.Second)
		synctest.Wait()
		shown := n.take()
		require.Equal(t, 10, strings.Count(shown, "Starting it"))
		require.True(t, strings.HasSuffix(shown, "\r\x1b[?7l\x1b[K⠹ 1s Starting it\x1b[?7h"), shown)
		for _, sign := range "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏" {
			require.Contains(t, shown, string(sign))
		}
		stop()
		require.Equal(t, "\r\x1b[K", n.take())
	})
}

// Errors are told on a line, without the names of packages.
func TestErrorsAreTold(t *testing.T) {
	for err, want := range map[string]string{
		"acpclient: guard: workspace: local: acp: broken": "broken", "acp: local: broken": "local: broken", "a\nb": "a b", "other: broken": "other: broken", "broken: acp: no": "broken: acp: no",
	} {
		require.Equal(t, want, explain(errors.New(err)))
	}
	about := "about it"
	for _, c := range []struct {
		m           acp.AuthMethod
		name, about string
	}{
		{acp.AuthMethod{Agent: &acp.AuthMethodAgent{Name: "web", Description: &about}}, "web", "about it"}, {acp.AuthMethod{Agent: &acp.AuthMethodAgent{Name: "web"}}, "web", ""},
		{acp.AuthMethod{Terminal: &acp.AuthMethodTerminal{Name: "tty", Description: &about}}, "tty", "about it"}, {acp.AuthMethod{}, "unknown", ""},
	} {
		name, about := method(&c.m)
		require.Equal(t, []string{c.name, c.about}, []string{name, about})
	}
	r := &acpclient.PermissionRequest{Options: []acp.PermissionOption{{OptionID: "a", Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce}, {OptionID: "n", Name: "No", Kind: acp.PermissionOptionKindRejectOnce}}}
	require.Equal(t, []string{"Allow", "No", ""}, []string{name(r, "a"), name(r, "n"), name(r, "x")})
	require.Equal(t, []acp.PermissionOptionKind{acp.PermissionOptionKindAllowOnce, acp.PermissionOptionKindRejectOnce, ""}, []acp.PermissionOptionKind{kindOf(r, "a"), kindOf(r, "n"), kindOf(r, "x")})
}
