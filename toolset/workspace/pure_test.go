// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
)

// The words of a path that is refused say what to do.
func TestPathsThatAreRefusedSayWhy(t *testing.T) {
	name := func(part string) string { return fmt.Sprintf("Windows does not allow the name %q: ", part) }
	for _, c := range []struct {
		root, name, want string
	}{
		{"/p", "", "the path is empty"}, {"/p", strings.Repeat("a", 4097), "the path is longer than 4096 bytes"}, {"/p", strings.Repeat("a", 4096), "the path is longer than 4096 bytes, with its directory"}, {"/p", "a\x00", "the path contains a NUL byte"},
		{"/p", "file:///a?b", "the file URI has a query or a fragment, which is not part of the path: leave it out; in a name, ? is written %3F and # is %23"}, {"/p", "file:///a#b", "the file URI has a query or a fragment, which is not part of the path: leave it out; in a name, ? is written %3F and # is %23"},
		{"/p", "file://a", "the file URI has no path; use file:///path"}, {"/p", "file:a", "the file URI is not absolute; use file:///path"}, {"/p", "FILE:", "the file URI is not absolute; use file:///path"}, {"/p", "file:///a%2Fb", "the file URI has an encoded separator"}, {"/p", "file:///%zz", "the file URI is not percent-encoded correctly"},
		{"/p", "file://host/a", `the file URI names the host "host"; use file:///path`}, {"/p", "file:///a%00", "the path contains a NUL byte"}, {`C:\p`, "file:///C:/a%5cb", "the file URI has an encoded separator"}, {`C:\p`, "file:///a", "the file URI has no drive; use file:///C:/path"}, {`C:\p`, "file:///C:", "the path is relative to a drive; use an absolute path"},
		{`C:\p`, "C:a", "the path is relative to a drive; use an absolute path"}, {`C:\p`, "d:", "the path is relative to a drive; use an absolute path"}, {`C:\p`, `\\?\x`, "the path names a device"}, {`C:\p`, `\\.\x`, "the path names a device"}, {`C:\p`, `\??\x`, "the path names a device"}, {`C:\p`, `//?/x`, "the path names a device"},
		{`C:\p`, `\\s`, "the path needs a server and a share"}, {`C:\p`, `\\s\`, "the path needs a server and a share"}, {`C:\p`, `\\\s`, "the path needs a server and a share"}, {`C:\p`, `\\s.\t\a`, "the path has no valid server and share"}, {`C:\p`, `\\s\..\a`, "the path has no valid server and share"}, {`C:\p`, `\\.a.\t\a`, "the path has no valid server and share"},
		{`C:\p`, "a.", name("a.") + "it ends with a dot or a blank"}, {`C:\p`, "a ", name("a ") + "it ends with a dot or a blank"}, {`C:\p`, "ab:c", name("ab:c") + `it contains ':'`}, {`C:\p`, "a\x01", name("a\x01") + `it contains '\x01'`}, {`C:\p`, "a\x1f", name("a\x1f") + `it contains '\x1f'`}, {`C:\p`, `a?`, name("a?") + `it contains '?'`}, {`C:\p`, `a"`, name(`a"`) + `it contains '"'`},
		{`C:\p`, "con", `"con" is the name of a device on Windows`}, {`C:\p`, "Aux.txt.gz", `"Aux.txt.gz" is the name of a device on Windows`}, {`C:\p`, "COM0", `"COM0" is the name of a device on Windows`}, {`C:\p`, "lpt9 .x", `"lpt9 .x" is the name of a device on Windows`}, {`C:\p`, "conin$", `"conin$" is the name of a device on Windows`},
	} {
		_, err := StyleOf(c.root).Abs(c.root, c.name)
		require.ErrorIs(t, err, ErrPath, "%.50q", c.name)
		require.EqualError(t, err, c.want, "%.50q", c.name)
	}
	for _, c := range [][3]string{
		{"/p", strings.Repeat("a", 4093), "/p/" + strings.Repeat("a", 4093)}, {`C:\p`, "com", `C:\p\com`}, {`C:\p`, "console", `C:\p\console`}, {`C:\p`, "a b", `C:\p\a b`}, {`C:\p`, ".a", `C:\p\.a`}, {`C:\p`, "..a", `C:\p\..a`}, {`C:\p`, `..\..\..\a`, `C:\a`}, {`c:/p`, `a`, `C:\p\a`}, {`C:\p`, `d:\`, `D:\`}, {`C:\p`, `\\?\d:\a`, `D:\a`}, {`C:\p`, `\`, `C:\`},
		{`C:\p`, `\\?\UNC\s\t\a`, `\\s\t\a`}, {`\\s\t\p`, `\a`, `\\s\t\a`}, {`\\s\t\p`, `a`, `\\s\t\p\a`}, {`\\s\t`, `..\a`, `\\s\t\a`}, {`C:\p`, `//s/t`, `\\s\t\`}, {`C:\p`, "file:///d:/a", `D:\a`}, {`C:\p`, "file://s/t/a", `\\s\t\a`}, {`C:\p`, "file:////s/t/a", `\\s\t\a`}, {`C:\p`, "file://LOCALHOST/d:/a", `D:\a`}, {`C:\p`, "files", `C:\p\files`}, {"/p", "file", "/p/file"}, {"/p", "file:/a%20b", "/a b"}, {"/p", "File://localhost/a", "/a"},
	} {
		got, err := StyleOf(c[0]).Abs(c[0], c[1])
		require.NoError(t, err, "%.50q", c[1])
		require.Equal(t, c[2], got, "%.50q", c[1])
	}
}

// Paths are compared, joined and taken apart by the rules of their style.
func TestStylesOfPaths(t *testing.T) {
	for root, want := range map[string]Style{"/a": Slash, "a": Slash, "": Slash, "C": Slash, "C:": Windows, "c:/a": Windows, "1:": Slash, "[:": Slash, "@:": Slash, "z:": Windows, "{:": Slash, `\\a`: Windows, `\a`: Slash} {
		require.Equal(t, want, StyleOf(root), root)
	}
	for _, c := range []struct {
		dir, name string
		contains  bool
		rel       string
	}{
		{"/a", "/a", true, "."}, {"/a", "/a/b/c", true, "b/c"}, {"/a/", "/a/b", true, "b"}, {"/", "/a", true, "a"}, {"/", "/", true, "."}, {"/a", "/ab", false, "/ab"}, {"/a", "/A/b", false, "/A/b"}, {"/a/b", "/a", false, "/a"}, {"/ä", "/ä/b", true, "b"},
		{`C:\a`, `c:\A\b`, true, "b"}, {`C:\`, `C:\a`, true, "a"}, {`C:\a`, `C:\ab`, false, `C:\ab`}, {`C:\ä`, `C:\Ä\b`, true, "b"}, {`C:\k`, "C:\\\u212a\\b", false, "C:\\\u212a\\b"}, {`\\s\t\`, `\\S\T\a\b`, true, `a\b`}, {`C:\ſ`, `C:\s\a`, false, `C:\s\a`},
	} {
		s := StyleOf(c.dir)
		require.Equal(t, c.contains, s.Contains(c.dir, c.name), "%+v", c)
		require.Equal(t, c.rel, s.Rel(c.dir, c.name), "%+v", c)
	}
	for _, c := range [][3]string{{"/a", "b/c", "/a/b/c"}, {"/", "b", "/b"}, {"/a", ".", "/a"}, {"/a", "", "/a"}, {`C:\a`, "b/c", `C:\a\b\c`}, {`C:\`, "b", `C:\b`}} {
		require.Equal(t, c[2], StyleOf(c[0]).Join(c[0], c[1]))
	}
	for name, want := range map[string]string{"/a/b": "/a", "/a": "/", "/": "/", `C:\a\b`: `C:\a`, `C:\a`: `C:\`, `C:\`: `C:\`, `\\s\t\a\b`: `\\s\t\a`, `\\s\t\a`: `\\s\t\`, `\\s\t\`: `\\s\t\`} {
		require.Equal(t, want, StyleOf(name).Parent(name), name)
	}
}

// What a file is whose contents are no text is said, by how it begins.
func TestKindsOfBinaryFiles(t *testing.T) {
	nul := strings.Repeat("a", 7999)
	for data, want := range map[string]string{
		"": "", "text": "", "ä€😀": "", "ä"[:1]: "", "a€"[:2]: "", "a€"[:3]: "", "a😀"[:2]: "", "a😀"[:4]: "", "a\x80": "not UTF-8 text", "\x80": "not UTF-8 text", "a\xffb": "not UTF-8 text", "😀"[:3] + "b": "not UTF-8 text", "\x80\x80\x80\x80\x80": "not UTF-8 text", "a\xc3\x80\x80": "not UTF-8 text",
		"\x00": "a binary file", nul + "\x00": "a binary file", nul + "a\x00": "", nul + "a\xff": "not UTF-8 text", nul + "a\x00\xff": "a binary file", "\x89PNG\r\n\x00": "a PNG image", "%PDF-1": "", "%PDF-1\xff": "a PDF document", "PK\x03\x04\x00": "a ZIP archive", "GIF8": "", "\xff\xfea\x00": "UTF-16 text", "\x7fELF\x00": "an executable",
	} {
		require.Equal(t, want, binaryKind([]byte(data)), "%.20q", data)
	}
	require.EqualValues(t, 64<<20, MaxRead)
	long := strings.Repeat("x", 8000)
	for text, want := range map[string]string{
		"": "", long: long, long + "\n" + long + "\r\n": long + "\n" + long + "\r\n", long + "y": long + " [1 bytes of this line left out]", "a\n" + long + "yy\r\nb": "a\n" + long + " [2 bytes of this line left out]\r\nb", long[1:] + "ä": long[1:] + " [2 bytes of this line left out]", long[1:] + "äb\n": long[1:] + " [3 bytes of this line left out]\n",
		strings.Repeat("\x80", 8001): " [8001 bytes of this line left out]",
	} {
		got, n := cutLongLines(text)
		require.Equal(t, want, got)
		require.Equal(t, strings.Count(want, "left out"), n)
	}
	require.Equal(t, 0, countLines(nil))
	for text, want := range map[string]int{"a": 1, "a\n": 1, "a\nb": 2, "\n": 1, "\n\n": 2} {
		require.Equal(t, want, countLines([]byte(text)), "%q", text)
	}
}

// Bytes that are not UTF-8 are replaced one by one, by truncated sequence, or by run.
func TestInvalidBytesAreReplaced(t *testing.T) {
	for data, n := range map[string]int{
		"\x80": 1, "\xc2": 1, "\xc1\x80": 1, "\xc2a": 1, "\xdf": 1, "\xe0\xa0": 2, "\xe0\x9f": 1, "\xe0\xbf": 2, "\xe1\x80": 2, "\xe1\x7f": 1, "\xe1\xc0": 1, "\xed\x9f": 2, "\xed\xa0": 1, "\xef\xbf": 2, "\xee\x80a": 2, "\xf0\x90\x80": 3, "\xf0\x8f": 1, "\xf0\x90a": 2, "\xf1\x80\x80": 3, "\xf1\x80": 2, "\xf4\x8f\xbf": 3, "\xf4\x90": 1, "\xf5\x80": 1, "\xff": 1, "\xf1\x80\x80\xff": 3, "\xf1\xbf\xc0": 2, "\xf3": 1,
	} {
		require.Equal(t, n, truncated([]byte(data)), "%q", data)
	}
	const data = "a\xe2\x82b\xff\xfec"
	for way, want := range map[invalidBytes]string{{'?', perSequence}: "a?b??c", {'?', perByte}: "a??b??c", {'?', perRun}: "a?b?c", {-1, perByte}: "abc"} {
		require.Equal(t, want, string(way.replace([]byte(data))))
	}
	for _, c := range []struct {
		data, text string
		want       bool
	}{
		{"a", "a", true}, {"a", "b", false}, {"a\n", "a", true}, {"a", "a\n", true}, {"a", "a\r\n", true}, {"a", "a\n\n", false}, {"a\r\nb\r\n", "a\nb\n", true}, {"a\rb", "a\nb", true}, {"a\r\nb", "a\nb\n", true}, {"a\nb", "a\r\nb", false}, {"\ufeffa", "a", true}, {"\ufeffa", "\ufeffa", true}, {"a", "\ufeffa", false},
		{"a\xff\xfeb", "a\ufffd\ufffdb", true}, {"a\xff\xfeb", "a\ufffdb", true}, {"a\xff\xfeb", "ab", true}, {"a\xff\xfeb", "a?b", false}, {"caf\xe9\n", "café\n", true}, {"a\xe2\x82b", "a\ufffdb", true}, {"a\xe2\x82b", "a\ufffd\ufffdb", true}, {"a\xffb\xff", "a\ufffdb\ufffd\n", true}, {"a\xff\r\nb", "a\ufffd\nb", true}, {"", "", true}, {"", "\n", true},
	} {
		require.Equal(t, c.want, IsLossyView([]byte(c.data), []byte(c.text)), "%+v", c)
	}
}

// A text that is not found is explained by the lines that are most like it.
func TestNearestLinesAreShown(t *testing.T) {
	const notFound, words, near, none = "old_text was not found. ", "These lines differ from it in white space alone:\n", "The nearest lines are:\n", "old_text was not found, and nothing like it. Read the file again with read_file."
	const copyThem, copyIt = "\nCopy them exactly.", "\nCopy the text exactly from the file."
	long := strings.Repeat("x", 201)
	many := "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"
	for _, c := range []struct{ text, old, want string }{
		{"", "a", "old_text was not found: the file is empty."},
		{"a b\n", "a  b", notFound + words + "     1\ta b" + copyThem},
		{"x\n\n a\tb\ny\n", "a b", notFound + words + "     3\t a\tb" + copyThem},
		{"a\nb\nc\n", "a\nc", notFound + near + "     1\ta\n     2\tb" + copyIt},
		{"x\na\nb\n", "z\na\nb", notFound + near + "     1\tx\n     2\ta\n     3\tb" + copyIt},
		{"a\nb\n", "z\ny\na", notFound + near + "     1\ta\n     2\tb" + copyIt},
		{many, "one\ntwo\nthree\nfour\nfive\nsix\nseven\n eight", notFound + words + "     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n     5\tfive\n     6\tsix\n     7\tseven\n     8\teight" + copyThem},
		{many, strings.TrimSuffix(strings.ReplaceAll(many, "nine", " nine"), "\n"), notFound + words + "     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n     5\tfive\n     6\tsix\n     7\tseven\n     8\teight\n       …" + copyThem},
		{"a " + long + "\n", "a  " + long, notFound + words + "     1\ta " + long[:198] + "…" + copyThem},
		{"a  ä" + strings.Repeat("x", 194) + "ä\n", "a ä" + strings.Repeat("x", 194) + "ä", notFound + words + "     1\ta  ä" + strings.Repeat("x", 194) + "…" + copyThem},
		{"func main() {}\n", "func mian() {}", notFound + near + "     1\tfunc main() {}" + copyIt},
		{"x\ny\nfunc main() {}\n", "a\nfunc mian() {}", notFound + near + "     2\ty\n     3\tfunc main() {}" + copyIt},
		{"func main() {}\n", "zz\n\nfunc mian() {}", notFound + near + "     1\tfunc main() {}" + copyIt},
		{"abcdef\n", "abcxyz", none}, {"abcd\n", "abce", notFound + near + "     1\tabcd" + copyIt}, {"ab\n", "ac", none}, {"abx\n", "  ab", none}, {"abcx\n", "  abc", notFound + near + "     1\tabcx" + copyIt}, {"abc\n", "abd", none}, {"abcdef\n", "abcdxy", notFound + near + "     1\tabcdef" + copyIt}, {"\n\n", "abc", none},
	} {
		_, err := ApplyEdits([]byte(c.text), []Edit{{OldText: c.old, NewText: "z"}})
		require.EqualError(t, err, c.want, "%.40q %.40q", c.text, c.old)
	}
	require.Equal(t, "     1", numberedLine(1, ""))
	require.Equal(t, "1234567\ta", numberedLine(1234567, "a"))
	require.Zero(t, pairsOf([]byte("abcd")).score([]byte(strings.Repeat("abcd", 4))), "lines of very different lengths are not alike")
	require.NotZero(t, pairsOf([]byte("abcd")).score([]byte("abcdabcdabcd")))
	require.Zero(t, pairsOf([]byte(strings.Repeat("ab", 10))).score([]byte("ababab")))
	require.EqualValues(t, 1, pairsOf([]byte("abc")).score([]byte("abc")))
	require.EqualValues(t, 0, pairsOf(nil).score(nil))
	require.InDelta(t, 2.0/7, pairsOf([]byte("abc")).score([]byte("ababab")), 1e-9, "a pair that is there once counts once")
	require.EqualValues(t, 1, pairsOf([]byte(strings.Repeat("a", 500)+"b")).score([]byte(strings.Repeat("a", 500)+"c")), "five hundred bytes are compared")
	require.EqualValues(t, 0.5, pairsOf([]byte("abab")).score([]byte("aba"))*5/8)
}

// Links of editors have lines in their fragments, and the names of symbols in their queries.
func TestFragmentsOfLinks(t *testing.T) {
	for link, want := range map[string]string{
		"a.go": "a.go 0 0", "a.go#L5": "a.go#L5 0 0", "file:///a": "file:///a 0 0", "file:///a#L5": "file:///a 5 1", "file:///a#5": "file:///a 5 1", "file:///a#L5-10": "file:///a 5 6", "file:///a#L5-L10": "file:///a 5 6", "file:///a#L5:10": "file:///a 5 6", "file:///a#L10-5": "file:///a 5 6", "file:///a#5,3": "file:///a 5 1", "file:///a#L5C3-L10C7": "file:///a 5 6",
		"file:///a#L0": "file:///a 0 0", "file:///a#0-5": "file:///a 0 0", "file:///a#heading": "file:///a 0 0", "file:///a#": "file:///a 0 0", "file:///a#a/b": "file:///a#a/b 0 0", "file:///a?symbol=x#L5": "file:///a 5 1", "file:///a?symbol=x": "file:///a 0 0", "file:///a?symbol=x&b=c#L5": "file:///a?symbol=x&b=c#L5 0 0", "file:///a?x#L5": "file:///a?x#L5 0 0", "file:///a?#L5": "file:///a?#L5 0 0",
		"file:///a#L1234567890": "file:///a 0 0", "file:///a#L123456789": "file:///a 123456789 1", "FILE:///a#1": "FILE:///a 1 1",
	} {
		path, lines := ParseLink(link)
		require.Equal(t, want, fmt.Sprintf("%s %d %d", path, lines.Line, lines.Lines), link)
	}
}

// Commands are lines, or programs with arguments, as models mean them.
func TestCommandsAsModelsWriteThem(t *testing.T) {
	const either = "retry: Give either a whole command line in command, without args, or a program in command and its arguments in args."
	for i, c := range []struct {
		style   Style
		command string
		args    []string
		line    string
		argv    []string
		err     string
	}{
		{Slash, "ls -l", nil, "ls -l", nil, ""}, {Slash, " \t\nls\n ", nil, "ls", nil, ""}, {Slash, "ls \\\n ", nil, "ls \\\n ", nil, ""}, {Slash, "cat <<x\ny\nx\n", nil, "cat <<x\ny\nx\n", nil, ""}, {Slash, "echo 'a ' ", nil, "echo 'a ' ", nil, ""}, {Slash, "ls\r", nil, "ls\r", nil, ""}, {Windows, " dir\r\n", nil, "dir", nil, ""}, {Windows, `dir \ `, nil, `dir \`, nil, ""},
		{Slash, "", nil, "", nil, "retry: The command is empty."}, {Slash, " \r\n\t", nil, "", nil, "retry: The command is empty."}, {Windows, " ", []string{"a"}, "", nil, "retry: The command is empty."}, {Slash, "ls", []string{"-l", "a b"}, "", []string{"ls", "-l", "a b"}, ""}, {Slash, "/my dir/ls", []string{"a"}, "", []string{"/my dir/ls", "a"}, ""}, {Windows, `C:\my dir\ls`, []string{"a"}, "", []string{`C:\my dir\ls`, "a"}, ""},
		{Slash, "git log", []string{"-n", "a b"}, "git log -n 'a b'", nil, ""}, {Slash, "git log |", []string{"a"}, "", nil, either}, {Slash, "git 'log'", []string{"a"}, "", nil, either}, {Windows, "git log", []string{"a"}, "", nil, either}, {Slash, "a\x00b", nil, "", nil, "retry: The command is malformed: "},
	} {
		got, err := commandOf(c.style, commandArgs{Command: c.command, Args: c.args, Env: map[string]string{"B": "2", "A": "1"}})
		if c.err != "" {
			require.ErrorContains(t, err, c.err, i)
			continue
		}
		require.NoError(t, err, i)
		require.Equal(t, Command{Line: c.line, Args: c.argv, Env: []string{"A=1", "B=2"}}, got, i)
	}
	for title, c := range map[string]Command{"ls -l": {Line: "ls -l"}, "ls 'a b'": {Args: []string{"ls", "a b"}}, strings.Repeat("a", 1000): {Line: strings.Repeat("a", 1000)}, strings.Repeat("b", 1000) + "…": {Line: strings.Repeat("b", 1001)}, strings.Repeat("c", 1000) + "…": {Args: []string{strings.Repeat("c", 1001)}}} {
		require.Equal(t, title, commandTitle(c))
	}
	var created []string
	for i := range 9 {
		created = append(created, fmt.Sprint("f", i))
	}
	const note = "; while it ran, these files were created, which other programs execute or obey: "
	require.Empty(t, createdNote(nil)+createdNote(&Exit{}))
	require.Equal(t, note+`f0, "a\n". Tell the user`, createdNote(&Exit{Created: []string{"f0", "a\n"}}))
	require.Equal(t, note+"f0, f1, f2, f3, f4, f5, f6, f7. Tell the user", createdNote(&Exit{Created: created}))
	for want, exit := range map[string]*Exit{"still running": nil, "exit code 0": {}, "exit code 3": {Code: 3}, "ended, exit code unknown": {Code: -1}, "killed by signal KILL": {Code: -1, Signal: "KILL"}} {
		require.Equal(t, want, howEnded(exit))
		state := CommandState{Exit: exit}
		require.Equal(t, want == "exit code 0", state.Succeeded())
	}
}

// Names that people would not see as they are are quoted.
func TestNamesThatAreQuoted(t *testing.T) {
	for name, want := range map[string]string{"a b": "a b", "größe": "größe", "": "", " a": `" a"`, "a ": `"a "`, "a\n": `"a\n"`, "a\x00": `"a\x00"`, "a\u202eb": `"a\u202eb"`, "a\ufffd": "\"a\ufffd\"", "a\xff": `"a\xff"`, "a\u00a0b": `"a\u00a0b"`, `"`: `"`} {
		require.Equal(t, want, printable(name), "%q", name)
	}
	for _, c := range []struct {
		text string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"aä", 2, "a…"}, {"ä", 1, "…"}, {"aä", 3, "aä"}, {"", 0, ""}} {
		require.Equal(t, c.want, cutText(c.text, c.n))
	}
}

// Each error has words for the model. What is behind it stays with the program.
func TestReasonsOfErrors(t *testing.T) {
	ws, err := NewMemory(MemoryConfig{Roots: []string{"/project", "/more"}})
	require.NoError(t, err)
	c := &call{ws: ws}
	for i, e := range []struct {
		err  error
		want string
	}{
		{malformed("the path is odd"), "the path is odd."}, {&PathError{Err: malformed("the path is odd")}, "the path is odd."}, {ErrPath, "the path is malformed."}, {&PathError{Op: "read", Path: "a", Err: ErrOutside}, "the path lies outside of the working directory, or leads out through a link. Use a path inside /project or /more."},
		{fs.ErrNotExist, "not found."}, {fs.ErrPermission, "permission denied."}, {&PathError{Err: fmt.Errorf("permission denied: the disk is read-only%w", hidden{fs.ErrPermission})}, "permission denied: the disk is read-only."}, {&PathError{Err: fs.ErrPermission}, "permission denied."},
		{ErrIsDirectory, "it is a directory."}, {ErrNotDirectory, "it is not a directory, or a part of its path is a file."}, {ErrNotRegular, "it is not a regular file."}, {ErrTooLarge, "it is too large."}, {ErrBinary, "it is not text."}, {ErrChanged, "it has changed since it was last read. Read it again and redo the change."}, {errors.ErrUnsupported, "this is not supported here. Do not call this tool again."},
		{ErrNoProgram, "program not found."}, {errTooMany, "too many commands are running. Release some with release_terminal."}, {ErrClosed, "the session has ended."}, {errors.New("one\ntwo"), "one"}, {&PathError{Op: "read", Path: "a", Err: errors.New("on fire")}, "on fire"}, {&CommandError{Op: "start", Ref: "ls", Err: errors.New("on fire")}, "on fire"}, {errors.New(strings.Repeat("x", 1001)), strings.Repeat("x", 1000) + "…"},
	} {
		require.Equal(t, e.want, c.reason(e.err), i)
		require.EqualError(t, c.failed(context.Background(), "read a", e.err), "failed: Could not read a: "+e.want, i)
	}
	told := toolset.Failed("as it is")
	require.EqualError(t, c.failed(context.Background(), "x", told), told.Error())
	err = c.failed(context.Background(), "read a", ErrLost)
	require.ErrorIs(t, err, ErrLost)
	require.EqualError(t, err, "workspace: read a: the workspace is lost")
	ended, cancel := context.WithCancelCause(context.Background())
	because := errors.New("because")
	cancel(because)
	require.EqualError(t, c.failed(ended, "read a", ErrClosed), "workspace: read a: because")
	require.EqualError(t, &PathError{Op: "read", Path: "a b", Err: ErrClosed}, `workspace: read "a b": closed`)
	require.EqualError(t, &CommandError{Op: "wait", Ref: "1", Err: ErrClosed}, "workspace: wait of 1: closed")
	for name, want := range map[string]string{"a.go": "a.go", "/project/b/../a.go": "a.go", "/project": ".", "/more/a": "/more/a", "/etc/a": "/etc/a", "../x\n": `"../x\n"`, "": ""} {
		require.Equal(t, want, c.name(name), name)
	}
}

// hidden is an error without a text.
type hidden struct{ error }

func (hidden) Error() string     { return "" }
func (h hidden) Unwrap() error   { return h.error }
func (h hidden) Is(e error) bool { return e == h.error }

// Of a long output the beginning and the end are shown, with how to read what is left out.
func TestOutputsAreShown(t *testing.T) {
	for i, c := range []struct {
		out  shownOutput
		id   string
		want string
	}{
		{shownOutput{}, "1", "[no output]\n[done]"}, {shownOutput{head: "a"}, "1", "a\n[done]"}, {shownOutput{head: "a\n"}, "1", "a\n[done]"}, {shownOutput{head: "a", lost: true}, "1", "[The beginning of the output is lost.]\na\n[done]"}, {shownOutput{head: "a", lost: true, before: 1}, "1", "[The beginning of the output is lost.]\na\n[done]"}, {shownOutput{head: "a", lost: true, before: 2}, "1", "[The beginning of the output is lost: 2 bytes or more.]\na\n[done]"},
		{shownOutput{head: "a", tail: "b", left: 1, at: 7}, "t1", "a\n[1 bytes left out here. To read them, call get_terminal_output with terminal_id \"t1\" and from 7.]\nb\n[done]"}, {shownOutput{head: "a\n", tail: "b\n", left: 5}, "", "a\n[5 bytes left out here. To see them, have the command write to a file.]\nb\n[done]"}, {shownOutput{tail: "b", left: 5}, "", "[5 bytes left out here. To see them, have the command write to a file.]\nb\n[done]"},
	} {
		require.Equal(t, c.want, c.out.text(c.id, "done"), i)
	}
	for out, want := range map[*shownOutput]CommandState{
		{}: {Terminal: "1", Running: true}, {exit: &Exit{}}: {Terminal: "1", Exit: &Exit{}}, {exit: &Exit{}, lost: true}: {Terminal: "1", Exit: &Exit{}, Truncated: true}, {exit: &Exit{}, left: 1}: {Terminal: "1", Exit: &Exit{}, Truncated: true},
	} {
		require.Equal(t, want, out.state("1"))
	}
	for text, want := range map[string]string{"": "", "a": "a", "a\n": "a\n", "aa\nb": "aa\n", "a\nb": "a\n", "a\nbcd": "a\nbcd", "a\nb\nc": "a\nb\n", "ab€"[:4]: "ab", "ab€": "ab€", "ab\x80\x80\x80\x80": "ab\x80\x80\x80\x80", "😀"[:3]: ""} {
		require.Equal(t, want, cutHead(text), "%q", text)
	}
	for text, want := range map[string]string{"": "", "a": "a", "\na": "a", "a\nbc": "bc", "ab\nc": "ab\nc", "€b"[1:]: "b", "\x80\x80\x80\x80b": "b", "\x80\x80\x80\x80\x80b": "\x80b", "a\n": "a\n", "\n\n": "\n"} {
		require.Equal(t, want, cutTail(text), "%q", text)
	}
	require.Equal(t, "a\ufffdb", toText([]byte("a\xff\xfeb")))
}

// A search looks for the rarest byte of a text, and finds what a plain search finds.
func TestRareBytesAreLookedFor(t *testing.T) {
	for text, want := range map[string]int{"": 0, "e": 0, "eee": 0, "eze": 1, "the quick": 4, "aé": 1, " \x00": 1, "zq": 0, "qz": 1, "func(": 4} {
		require.Equal(t, want, rarest([]byte(text)), text)
	}
	require.Equal(t, 1, rarestIn([]byte("aabaa"), []byte("ab")))
	require.Equal(t, 0, rarestIn([]byte("aabbb"), []byte("ab")))
	require.Equal(t, 2, rarestIn([]byte("aabb"), []byte("abc")))
	require.Equal(t, 0, rarestIn(nil, []byte("abc")))
	for _, block := range []string{"", "a", "ab", "xxab", "abab", "aab", strings.Repeat("b", 500) + "ab", strings.Repeat("b", 500), strings.Repeat("b", 70) + "ab" + strings.Repeat("b", 70), "b", "ba"} {
		for _, text := range []string{"ab", "a", "b", "abc"} {
			for rare := range len(text) {
				require.Equal(t, strings.Index(block, text), indexRare([]byte(block), []byte(text), rare), "%.10s %s %d", block, text, rare)
			}
		}
	}
	require.Equal(t, "aABaz[@`{äz0", string(appendLower([]byte("aAB"), []byte("AZ[@`{äZ0"))))
	for _, c := range []struct {
		pattern       string
		literal, fold bool
		line          string
		at            int
	}{
		{"b", true, false, "abc", 1}, {"B", true, false, "abc", -1}, {"B", true, true, "abc", 1}, {"Ä", true, true, "xä", 1}, {".", true, false, "a.b", 1}, {".", true, true, "ab.", 2}, {"b.", false, false, "abc", 1}, {"B.", false, true, "abc", 1}, {"^b", false, false, "ab", -1}, {"b$", false, false, "ab", 1}, {"abc", false, false, "xabc", 1}, {"ab[c]d", false, false, "xabcd", 1}, {"", false, false, "a", 0},
	} {
		m, err := newMatcher(c.pattern, c.literal, c.fold)
		require.NoError(t, err)
		line := []byte(c.line)
		if m.folded {
			line = appendLower(nil, line)
		}
		require.Equal(t, c.at, m.match(line), "%+v", c)
		block := m.candidate(line, m.rareIn(line))
		require.Equal(t, c.at >= 0, block >= 0, "%+v", c)
	}
	for pattern, want := range map[string]string{
		"a(": "pattern is not a valid regular expression: missing closing ): `a(`. Set literal to search for the text as it is", "a{2000}": "pattern is not a valid regular expression: invalid repeat count: `{2000}`. Set literal to search for the text as it is", "a\x00(?<": "pattern is not a valid regular expression: ",
	} {
		_, err := newMatcher(pattern, false, false)
		require.ErrorContains(t, err, want)
	}
	for _, pattern := range []string{"a\nb", "a\rb"} {
		_, err := newMatcher(pattern, true, false)
		require.EqualError(t, err, "pattern must not contain line breaks: lines are searched one by one")
		m, err := newMatcher(pattern, false, false)
		require.NoError(t, err)
		require.Nil(t, m.literal)
	}
	m, err := newMatcher("x.", false, false)
	require.NoError(t, err)
	require.False(t, m.byLine([]byte("a\r\n")), "a prefix is found first")
	m, err = newMatcher("[xy]$", false, false)
	require.NoError(t, err)
	require.True(t, m.byLine([]byte("a\r\n")))
	require.False(t, m.byLine([]byte("a\n")))
	m, err = newMatcher("ez", true, false)
	require.NoError(t, err)
	require.Equal(t, 1, m.rareIn([]byte("short")))
	require.Equal(t, 0, m.rareIn([]byte(strings.Repeat("z", 64<<10))), "of a large block a sample decides")
	require.Equal(t, 1, m.rareIn([]byte(strings.Repeat("z", 64<<10-1))))
}

// Rules of an ignore file mean what git means by them, also where git is not there to be asked.
func TestRulesOfIgnoreFiles(t *testing.T) {
	for _, c := range []struct {
		rules, name    string
		dir            bool
		ignored, ruled bool
	}{
		{"a", "a", false, true, true}, {"a", "x/a", false, true, true}, {"a", "ab", false, false, false}, {"/a", "a", false, true, true}, {"/a", "x/a", false, false, false}, {"x/a", "x/a", false, true, true}, {"x/a", "y/x/a", false, false, false}, {"a/", "a", true, true, true}, {"a/", "a", false, false, false}, {"*.log", "x/b.log", false, true, true}, {"*.log", "b.lo", false, false, false}, {"x/*.log", "x/b.log", false, true, true}, {"x/*.log", "x/y/b.log", false, false, false},
		{"a\n!a", "a", false, false, true}, {"!a\na", "a", false, true, true}, {"# a", "# a", false, false, false}, {`\# a`, "# a", false, true, true}, {`\!a`, "!a", false, true, true}, {"a  ", "a", false, true, true}, {`a\ `, "a ", false, true, true}, {"", "a", false, false, false}, {"/", "a", false, false, false}, {"!", "a", false, false, false}, {"a\r\nb\r", "b", false, true, true}, {"\ufeffa", "a", false, true, true},
		{"{a,b}", "{a,b}", false, true, true}, {"{a,b}", "a", false, false, false}, {"[ab]", "b", false, true, true}, {"[!ab]", "c", false, true, true}, {"[!ab]", "a", false, false, false}, {"[^ab]", "c", false, true, true}, {"[]a]", "]", false, true, true}, {"[!]a]", "b", false, true, true}, {"[^]a]", "]", false, false, false}, {"[a[]", "[", false, true, true}, {"[a[]", "]", false, false, false}, {"[[]", "[", false, true, true}, {"[{]", "{", false, true, true}, {"[]{]x}", "{x}", false, true, true}, {"a[", "a[", false, false, false}, {`a\*`, "a*", false, true, true}, {`a\*`, "ab", false, false, false}, {`a\`, "a", false, false, false},
		{"x/**", "x/a", false, true, true}, {"x/**", "x", true, false, false}, {"x/**", "x/y/a", false, true, true}, {"**/a", "x/y/a", false, true, true}, {"**/a", "a", false, true, true}, {"x/**/a", "x/a", false, true, true}, {"x/**/a", "x/y/z/a", false, true, true}, {"*", "a", false, true, true}, {"*a", "ba", false, true, true}, {"*a", "ab", false, false, false}, {"?", "ab", false, false, false}, {"*a*", "xay", false, true, true},
	} {
		rules := parseIgnore("", []byte(c.rules))
		ignored, ruled := rules.match(c.name, c.dir)
		require.Equal(t, []bool{c.ignored, c.ruled}, []bool{ignored, ruled}, "%+v", c)
		below := parseIgnore("sub/dir", []byte(c.rules))
		ignored, ruled = below.match("sub/dir/"+c.name, c.dir)
		require.Equal(t, []bool{c.ignored, c.ruled}, []bool{ignored, ruled}, "below: %+v", c)
		_, ruled = below.match("sub/dirx/"+c.name, c.dir)
		require.False(t, ruled)
	}
}

// Text is in windows-1252 if it reads like a language of western Europe.
func TestLatinTextIsPlausible(t *testing.T) {
	for data, want := range map[string]bool{
		"caf\xe9": true, "\xe9a": true, "a\xe9\xe9": false, "aa\xe9\xe9": true, "a\xe9\xe9\xe9": false, "\xe9": false, "1\xe9 1": true, "1\xe91": false, "aaaa 1\xe9": true, "\xc3\xa9 \xe9": false, "\x93it\x94": true, "1\xbf1": true, "1\xc01": false, "Z\xe9": true, "@\xe9@ ": true, "[\xe9[": false, "abc": true, "": true, "\xe9 \xe9 \xe9 ": false,
	} {
		require.Equal(t, want, plausibleLatin([]byte(data)), "%q", data)
	}
	text := Text{Encoding: "none"}
	_, err := text.Encode([]byte("a"))
	require.EqualError(t, err, `workspace: encode: the encoding "none" is unknown`)
	text.Encoding = "windows-1252"
	_, err = text.Encode([]byte("a\xff"))
	require.ErrorIs(t, err, ErrBinary)
	_, err = text.Encode([]byte("aż€"))
	require.EqualError(t, err, `the file is encoded in windows-1252, which has no 'ż'`)
	_, err = text.Encode([]byte("éé éé éé"))
	require.EqualError(t, err, "the file is encoded in windows-1252, which could not be recognised after the change")
}
