// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA1019 Servers still use what the newest version of the protocol deprecates.

package mcptoolset

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

func repeated(c string, n int) string { return strings.Repeat(c, n) }

// The first bytes of a text end with a whole character, also in what is no text.
func TestHeadsEndWithACharacter(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 0, ""}, {"a", 0, ""}, {"ab", 1, "a"}, {"ab", 2, "ab"}, {"ab", 3, "ab"}, {"aä", 2, "a"}, {"aä", 3, "aä"}, {"a界", 3, "a"}, {"😀x", 3, ""}, {"😀x", 4, "😀"},
		{"\x80\x80", 1, ""}, {"\x80\x80\x80\x80", 3, ""}, {"a\x80\x80", 2, ""},
	} {
		require.Equal(t, c.want, head(c.text, c.limit), "%q %d", c.text, c.limit)
	}
}

// Characters that people cannot see are written as escapes: four digits up to U+FFFF. In JSON, all
// of them are.
func TestInvisibleCharactersAreEscapes(t *testing.T) {
	for text, want := range map[string][3]string{
		"":           {"", "", ""},
		"plain, ä 😀": {"plain, ä 😀", "plain, ä 😀", "plain, ä 😀"},
		"a\nb":       {`a\nb`, "a\nb", "a\nb"},
		"a\tb\x00":   {`a\u0009b\u0000`, `a\u0009b\u0000`, `a\u0009b\u0000`},
		"⟨ESC⟩":      {`\u27e8ESC⟩`, `\u27e8ESC⟩`, `\u27e8ESC⟩`},
		"\uffff":     {`\uffff`, `\uffff`, `\uffff`},
		"\U0001ffff": {`\U0001ffff`, `\U0001ffff`, `\ud83f\udfff`},
		"\U00010000": {"\U00010000", "\U00010000", "\U00010000"},
		"\U000e0041": {`\U000e0041`, `\U000e0041`, `\udb40\udc41`},
		"a\xffb":     {`a\xffb`, `a\xffb`, `a\ufffdb`},
		"\ufffd":     {`\ufffd`, `\ufffd`, `\ufffd`},
	} {
		require.Equal(t, want, [3]string{visible(text, 100), visibleText(text, 100), jsonEscaped(text)}, "%q", text)
	}
	require.Equal(t, "ab…", visible("abc", 2))
	require.Equal(t, "abc", visible("abc", 3))
	require.Equal(t, `\n…`, visible("\n\n", 1))
	require.Equal(t, "  {\n    \"a\": \"\\u202e\"\n  }", shownJSON(json.RawMessage(`{"a":"`+"\u202e"+`"}`)))
	require.Equal(t, "  {\"a", shownJSON(json.RawMessage(`{"a`)))
	require.Equal(t, "  a\n  b", indented("a\nb"))
}

// Names keep letters, digits, and the characters that are allowed; the neighbours of these are none.
func TestCharactersOfNames(t *testing.T) {
	const kept = "azAZ09-"
	const others = "`{@[/:.,"
	require.Equal(t, kept+repeated("_", len(others)), ServerName(kept+others))
	require.Equal(t, repeated("_", len(others))+kept, safeName("", others+kept))
	for first, want := range map[string]string{"0": "_0x", "9": "_9x", "-": "_-x", "/": "_x", ":": "_x", ",": "_x", ".": "_x", "a": "ax"} {
		require.Equal(t, want, safeName("", first+"x"), first)
	}
	value := func(name string) (string, bool) { return "(" + name + ")", true }
	for _, c := range kept[:6] + "_" {
		text, err := expand("${"+string(c)+"}", value)
		require.NoError(t, err)
		require.Equal(t, "("+string(c)+")", text)
	}
	for _, c := range others + "-" {
		_, err := expand("${"+string(c)+"x}", value)
		require.EqualError(t, err, `"${…}" must have the name of an environment variable`, string(c))
	}
	for text, want := range map[string]string{"${A}${B}": "(A)(B)", "a${A}b": "a(A)b", "${A:-x}": "(A)", "$A": "$A", "${": "", "a${A": "", "${}": "", "${:-x}": ""} {
		got, err := expand(text, value)
		require.Equal(t, want, got, text)
		require.Equal(t, want == "", err != nil, text)
	}
}

// Each member of a configuration that is wrong is named, with a hundred bytes of a name.
func TestNamesInErrorsOfConfigurations(t *testing.T) {
	long, longer := repeated("n", 100), repeated("n", 101)
	parse := func(text string) error {
		_, err := ParseConfig([]byte(text), func(string) (string, bool) { return "", false })
		return err
	}
	for text, want := range map[string]string{
		`{"mcpServers":{"` + long + `":1}}`:                                    `server "` + long + `": must be an object`,
		`{"mcpServers":{"` + longer + `":1}}`:                                  `server "` + long + `…": must be an object`,
		`{"mcpServers":{"a":{"commando":1}}}`:                                  `server "a": unknown member "commando": did you mean "command"?`,
		`{"mcpServers":{"a":{"` + long + `":1}}}`:                              `server "a": unknown member "` + long + `": the members are type, command, args, env, cwd, url, headers, disabled`,
		`{"mcpServers":{"a":{"` + longer + `":1}}}`:                            `server "a": unknown member "` + long + `…": the members are type, command, args, env, cwd, url, headers, disabled`,
		`{"mcpServers":{"a":{"command":"x","type":"` + long + `"}}}`:           `server "a": type "` + long + `" is not known: use "stdio", "http" or "sse"`,
		`{"mcpServers":{"a":{"command":"x","type":"` + longer + `"}}}`:         `server "a": type "` + long + `…" is not known: use "stdio", "http" or "sse"`,
		`{"mcpServers":{"a":{"command":"x","env":{"` + long + `":"${A}"}}}}`:   `server "a": env.` + long + `: the environment variable A is not set: set it, or write ${A:-default}`,
		`{"mcpServers":{"a":{"command":"x","env":{"` + longer + `":"${A}"}}}}`: `server "a": env.` + long + `…: the environment variable A is not set: set it, or write ${A:-default}`,
		`{"mcpServers":{"":{"command":"x"}}}`:                                  `server "": has no name`,
	} {
		require.EqualError(t, parse(text), "mcptoolset: configuration: "+want)
	}
	require.EqualError(t, parse(`{"mcpServer":{}}`), `mcptoolset: configuration: "mcpServers" is missing: did you mean it by "mcpServer"?`)
	require.EqualError(t, parse(`{}`), `mcptoolset: configuration: "mcpServers" is missing`)
	require.EqualError(t, parse("{\n\n{"), "mcptoolset: configuration: line 3: not valid JSON")
	require.EqualError(t, parse("1"), "mcptoolset: configuration: must be a JSON object")
	require.EqualError(t, parse(`{"mcpServers":{"a b":{"command":"x"},"a_b":{"command":"x"}}}`), `mcptoolset: configuration: server "a_b": its name becomes "a_b", the same as that of "a b": rename one of them`)
}

// The content of results has a line for each part, up to what a model is shown, and says what is
// left out.
func TestContentOfResults(t *testing.T) {
	limits := Limits{Result: 10, Media: 5}
	write := func(info *model.Info, all ...mcp.Content) (string, int) {
		w := contentWriter{limits: &limits, info: info, room: limits.Media}
		for _, c := range all {
			w.add(c)
		}
		return w.text.String(), len(w.media)
	}
	text := func(n int) mcp.Content { return &mcp.TextContent{Text: repeated("t", n)} }
	for _, c := range []struct {
		parts []mcp.Content
		want  string
	}{
		{[]mcp.Content{text(9), text(1)}, repeated("t", 9) + "\nt"},
		{[]mcp.Content{text(10), text(1)}, repeated("t", 10) + "\nt"},
		{[]mcp.Content{text(11), text(1)}, repeated("t", 11)},
		{[]mcp.Content{text(0), text(1)}, "t"},
	} {
		got, _ := write(nil, c.parts...)
		require.Equal(t, c.want, got)
	}
	limits.Result = 1 << 20
	image := func(n int) mcp.Content { return &mcp.ImageContent{MIMEType: "image/PNG; q=1", Data: make([]byte, n)} }
	got, media := write(nil, image(0), image(3), image(3), image(2), &mcp.AudioContent{MIMEType: "bad", Data: []byte("a")})
	require.Equal(t, "[empty image (image/png, 0 bytes)]\n[image (image/png, 3 bytes) follows]\n[image (image/png, 3 bytes) left out: it is too large]\n[image (image/png, 2 bytes) follows]\n[audio (application/octet-stream, 1 bytes) left out: it is too large]", got)
	require.Equal(t, 2, media)
	got, media = write(&model.Info{Media: []string{"audio", "image/gif"}}, image(1), &mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("a")}, &mcp.ImageContent{MIMEType: "image/gif", Data: []byte("a")})
	require.Equal(t, "[image (image/png, 1 bytes) left out: this model cannot read it]\n[audio (audio/wav, 1 bytes) follows]\n[image (image/gif, 1 bytes) follows]", got)
	require.Equal(t, 2, media)
	long := func(n int) string { return repeated("u", n) }
	blob := func(mime string, uri string) mcp.Content {
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: mime, Blob: []byte("b")}}
	}
	got, _ = write(nil,
		&mcp.ResourceLink{URI: long(2001), Name: long(201), MIMEType: "a/b", Description: long(1001)}, &mcp.ResourceLink{URI: "u"},
		&mcp.EmbeddedResource{}, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: long(2001), MIMEType: "a/b", Text: "text"}},
		blob("image/png", "x"), blob("audio/wav", "x"), blob("text/plain", long(2001)), blob("", ""), &mcp.ToolUseContent{})
	require.Equal(t, strings.Join([]string{
		"[resource " + long(2000) + " " + long(200) + " (a/b)] " + long(1000), "[resource u]", "[resource " + long(2000) + " (a/b)]\ntext",
		"[image (image/png, 1 bytes) x follows]", "[audio (audio/wav, 1 bytes) x follows]", "[file (text/plain, 1 bytes) " + long(2000) + " follows]",
		"[file (application/octet-stream, 1 bytes) follows]", "[content of an unknown kind was left out]",
	}, "\n"), got)
	w := contentWriter{limits: &limits}
	require.Equal(t, toolset.Result{Text: "There is no content."}, w.done())
	for mime, want := range map[string]string{
		"Text/Plain": "text/plain", " a/b ;c": "a/b", "a/B+c.d-e9": "a/b+c.d-e9", "a1/b": "application/octet-stream", "a/+b": "application/octet-stream", "": "application/octet-stream",
		"a/" + long(198): "a/" + long(198), "a/" + long(199): "a/" + long(198),
	} {
		require.Equal(t, want, mediaType(mime), mime)
	}
}

// People are told of a call what it is and what the server says of the tool, with bounds.
func TestApprovalsAreBounded(t *testing.T) {
	d := &Definition{Server: "s", Name: repeated("n", 201), Description: repeated("d", 1001), Digest: "x", Destructive: true, OpenWorld: true}
	want := "MCP server: s\nTool: " + repeated("n", 200) + "…\nArguments:\n  {}"
	require.Equal(t, &toolset.Approval{
		Title: "Call " + repeated("n", 100) + "… of the MCP server s", Scope: "mcp:s/" + repeated("n", 200) + "…#x", Source: "mcp:s",
		ScopeTitle: repeated("n", 100) + "… of the MCP server s, as it is defined now",
		Preview:    []toolset.Preview{{Text: want + "\n\nThe server describes the tool as:\n  " + repeated("d", 1000) + "…"}},
		Effects:    []toolset.Effect{{Kind: model.EffectServer, Server: "s"}}, Basis: "x",
	}, approvalOf(d, json.RawMessage("{}")))
	d.Description, d.Name = "", "n"
	require.Equal(t, "MCP server: s\nTool: n\nArguments:\n  {}", approvalOf(d, json.RawMessage("{}")).Preview[0].Text)
	d.OpenWorld, d.Idempotent, d.Destructive = false, true, false
	require.Equal(t, "it destroys nothing; repeating it changes nothing more; it stays within its own system", d.claims())
	d.ReadOnly, d.OpenWorld, d.Idempotent = true, true, false
	require.Equal(t, "it only reads", d.claims())
}

// What is typed after a prompt is split into its arguments.
func TestArgumentsThatAreTyped(t *testing.T) {
	for text, want := range map[string][2]string{
		"": {"", ""}, "a": {"a", ""}, "a b": {"a", " b"}, "  a\tb c": {"a", "\tb c"}, `"a b" c`: {"a b", " c"}, `'a "b' c`: {`a "b`, " c"}, `"a`: {`"a`, ""}, `"a b`: {`"a`, " b"}, `""`: {"", ""}, `"a"b`: {"a", "b"},
	} {
		word, rest := firstWord(text)
		require.Equal(t, want, [2]string{word, rest}, text)
	}
	for text, want := range map[string]string{"": "", "a": "a", `"`: `"`, `""`: "", `"a"`: "a", `'a'`: "a", `"a'`: `"a'`, `a"`: `a"`, `"a" b`: `"a" b`} {
		require.Equal(t, want, unquoted(text), text)
	}
	require.Equal(t, repeated("a", 50)+" ["+repeated("b", 50)+"…]", hint([]*mcp.PromptArgument{{Name: repeated("a", 50), Required: true}, nil, {Name: repeated("b", 51)}}))
	require.Empty(t, hint(nil))
}

// The last two KiB of a server's standard error are kept, and its last lines are told: those in the
// last 400 bytes.
func TestLastWordsOfServers(t *testing.T) {
	for _, n := range []int{100, 2048, 2049, 10_000} {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		var all strings.Builder
		for i := 0; all.Len() < n; i++ {
			fmt.Fprintf(&all, "%d ", i)
		}
		sent := all.String()[:n]
		p := &process{errs: r}
		done := make(chan struct{})
		go func() { p.readErrors(); close(done) }()
		for part := range slices.Chunk([]byte(sent), 1500) {
			_, err = w.Write(part)
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		<-done
		require.NoError(t, r.Close())
		require.Equal(t, sent[max(0, n-2048):], string(p.tail), n)
	}
	line := repeated("l", 199)
	for text, want := range map[string]string{
		"": "", " \n a \n": "a", line + "\n" + line + "\n": line + "\n" + line, line + "\n" + line + "y": line + "\n" + line + "y", "x" + line + "\n" + line + "y": line + "y",
		repeated("l", 400): repeated("l", 400), repeated("l", 401): repeated("l", 400), "a\xffb": "ab", "first\n" + repeated("l", 400): repeated("l", 400),
	} {
		require.Equal(t, want, lastLines(text), text)
	}
}

// slow is a host that takes its time with events.
type slow struct {
	toolsettest.Host
	next    chan struct{}
	now     int
	busiest int
}

func (h *slow) Emit(c toolset.Call, value any) {
	h.now++
	h.busiest = max(h.busiest, h.now)
	<-h.next
	h.now--
	h.Host.Emit(c, value)
}

// Events are given to a run one at a time, and the last one counts if they come faster. After the
// call there are none.
func TestEventsAreEmittedOneAtATime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &slow{next: make(chan struct{})}
		l := &link{flights: map[string]*flight{}, server: &Server{config: &Config{Name: "s"}}, ctx: t.Context()}
		f := l.depart(t.Context(), caller{call: &toolset.Call{}, host: h, info: &toolset.RunInfo{}, title: "t"})
		for i := range 5 {
			l.progress(&mcp.ProgressNotificationParams{ProgressToken: "1", Progress: float64(i), Total: 9, Message: repeated("m", 2001)})
			synctest.Wait()
		}
		l.progress(&mcp.ProgressNotificationParams{ProgressToken: "2", Progress: 7})
		l.progress(&mcp.ProgressNotificationParams{ProgressToken: 1, Progress: 7})
		h.next <- struct{}{}
		h.next <- struct{}{}
		synctest.Wait()
		l.log(&mcp.LoggingMessageParams{Level: mcp.LoggingLevel(repeated("l", 21)), Logger: repeated("g", 201), Data: repeated("d", 2001)})
		synctest.Wait()
		h.next <- struct{}{}
		synctest.Wait()
		l.log(&mcp.LoggingMessageParams{Level: "info", Data: map[string]any{"a": 1}})
		synctest.Wait()
		h.next <- struct{}{}
		l.log(&mcp.LoggingMessageParams{Level: "info", Data: func() {}})
		f.arrive(true)
		f.emit(Log{})
		progress := func(n float64) Progress {
			return Progress{Server: "s", Tool: "t", Progress: n, Total: 9, Message: repeated("m", 2000) + "…"}
		}
		require.Equal(t, []any{
			progress(0), progress(4), Log{Server: "s", Level: repeated("l", 20) + "…", Logger: repeated("g", 200) + "…", Message: repeated("d", 2000) + "…"}, Log{Server: "s", Level: "info", Message: `{"a":1}`},
		}, h.Events())
		require.Equal(t, 1, h.busiest)
		require.Equal(t, 0, h.now)
	})
}

// bubble runs a part of a test in a bubble, as a subtest: a test of its own for those who note which
// tests run.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Run("bubble", func(t *testing.T) { synctest.Test(t, f) })
}
