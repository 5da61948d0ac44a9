// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// Arguments of a command are words, which quotes hold together; the last one takes the rest.
func TestWordsOfCommands(t *testing.T) {
	for text, want := range map[string]string{
		"": "|", "a": "a|", " a b c": "a| b c", `"a b" c`: "a b| c", `'a "b' c`: `a "b| c`, `"a b`: `"a| b`, `""c`: "|c", "a\tb": "a|\tb", `a"b c"`: `a"b| c"`, `'`: "'|",
	} {
		word, rest := firstWord(text)
		require.Equal(t, want, word+"|"+rest, text)
	}
	for text, want := range map[string]string{"": "", `"`: `"`, `""`: "", `"a b"`: "a b", `'a'`: "a", `"a'`: `"a'`, `a"`: `a"`, "a": "a"} {
		require.Equal(t, want, unquoted(text), text)
	}
	require.Equal(t, "a [b] "+strings.Repeat("c", 50)+"…", hint([]*mcp.PromptArgument{
		{Name: "a", Required: true}, nil, {Name: "b"}, {Name: strings.Repeat("c", 51), Required: true},
	}))
	require.Empty(t, hint(nil))
}

// Lines that are no messages are left out, up to bounds since the last message.
func TestLinesThatAreNoMessages(t *testing.T) {
	for text, want := range map[string]bool{
		`{"jsonrpc":"2.0"}`: true, `{"jsonrpc":""}`: true, `{"jsonrpc":null}`: false, `{}`: false, `{"jsonrpc":2}`: false, `{`: false, `[{"jsonrpc":"2.0"}]`: true, `[]`: false, `[{}]`: false, `[1]`: false, `"jsonrpc"`: false, ``: false, `hello`: false,
	} {
		require.Equal(t, want, isMessage([]byte(text)), text)
	}
	for text, want := range map[string]bool{`{"`: true, `{ "a`: true, `[{"a`: true, "[ \n {\"": true, `{`: false, `{a`: false, `[`: false, `["a`: false, `x{"`: false, ``: false} {
		require.Equal(t, want, beginsMessage([]byte(text)), text)
	}
	var s skipped
	message := []byte(`{"jsonrpc":"2.0"}` + "\n")
	filter := func(line string) error {
		got, err := s.filter([]byte(line))
		require.Empty(t, got)
		return err
	}
	require.Empty(t, s.note())
	require.NoError(t, filter("\n"))
	require.Empty(t, s.note(), "empty lines say nothing")
	for _, line := range []string{"one\n", " two \n", strings.Repeat("x", 201) + "\n"} {
		require.NoError(t, filter(line))
	}
	shown := `its standard output had lines that are not messages: "one" "two" "` + strings.Repeat("x", 200) + `…"`
	require.Equal(t, shown, s.note())
	require.NoError(t, filter("four\n"))
	require.Equal(t, shown+" and 1 more lines", s.note())
	for _, text := range []string{string(message), "\ufeff" + string(message)} {
		got, err := s.filter([]byte(text))
		require.NoError(t, err)
		require.Equal(t, message, got)
	}
	for range 10_000 {
		require.NoError(t, filter("\n"))
	}
	require.ErrorIs(t, filter("\n"), errNoMessages)
	_, err := s.filter(message)
	require.NoError(t, err)
	require.NoError(t, filter(strings.Repeat("x", 1<<20)))
	require.ErrorIs(t, filter("x"), errNoMessages)
	long := []byte(`{"a":"` + strings.Repeat("x", 64<<10-6))
	got, err := s.filter(long)
	require.Empty(t, got, "64 KiB are looked at as a whole")
	require.Error(t, err)
	got, err = s.filter(append(long, 'x'))
	require.NoError(t, err)
	require.NotEmpty(t, got, "a longer line that begins as a message does is one")
	require.NoError(t, filter("x"), "after a message the bounds begin anew")
}

// Long lines are passed on in parts or dropped as a whole, by how they begin.
func TestLongLinesAreReadInParts(t *testing.T) {
	long := strings.Repeat("x", 9000)
	for _, c := range []struct{ in, want string }{
		{"a\nbc\n", "a\nbc\n"}, {"a", "a"}, {"", ""}, {"-a\nb\n", "b\n"}, {long + "\ny\n", long + "\ny\n"}, {"-" + long + "\ny\n", "y\n"}, {long + long, long + long}, {"-" + long + long, ""},
	} {
		longest := 0
		r := newLineReader(strings.NewReader(c.in), 4096, func(line []byte) ([]byte, error) {
			if longest = max(longest, len(line)); strings.HasPrefix(string(line), "-") {
				return nil, nil
			}
			return line, nil
		})
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, c.want, string(got), "%.20s", c.in)
		require.LessOrEqual(t, longest, 8192, "of a long line only so much is looked at")
	}
	wrong := errors.New("wrong")
	r := newLineReader(strings.NewReader("a\nb\n"), 10, func(line []byte) ([]byte, error) {
		if string(line) == "b\n" {
			return []byte("last"), wrong
		}
		return line, nil
	})
	got, err := io.ReadAll(r)
	require.ErrorIs(t, err, wrong)
	require.Equal(t, "a\nlast", string(got))
}

// Standard error is passed on line by line, without what is secret.
func TestStandardErrorIsPassedOnInLines(t *testing.T) {
	var b strings.Builder
	s := &stderrLines{to: &b, secrets: []string{"secret", "short"}}
	for _, c := range []struct{ add, want string }{
		{"a", ""}, {"b\n", "ab\n"}, {"c\r\nd\n", "c\nd\n"}, {"\n\n", ""}, {"my secret, my short\n", "my …, my short\n"}, {"\x1b[31m\n", "⟨ESC⟩[31m\n"},
		{strings.Repeat("x", 8<<10), ""}, {"\n", strings.Repeat("x", 8<<10) + "\n"}, {strings.Repeat("y", 8<<10+1) + "\n", strings.Repeat("y", 8<<10) + "\ny\n"},
	} {
		b.Reset()
		s.add([]byte(c.add))
		require.Equal(t, c.want, b.String(), "%.20q", c.add)
	}
	b.Reset()
	s.add([]byte("end"))
	s.flush()
	s.flush()
	require.Equal(t, "end\n", b.String())
	require.Equal(t, "12345 …", withoutSecrets("12345 123456", []string{"12345", "123456"}), "what is short is no secret")
	require.Equal(t, "… …", withoutSecrets("123456-789 123456", []string{"123456", "123456-789"}), "one begins with the other")
	for text, want := range map[string]string{
		" a\nb \n": "a\nb", strings.Repeat("x", 400): strings.Repeat("x", 400), strings.Repeat("x", 401): strings.Repeat("x", 400), "first\n" + strings.Repeat("x", 396) + "\nzzz": "zzz", "first line\nsecond\n" + strings.Repeat("x", 390): "second\n" + strings.Repeat("x", 390),
		strings.Repeat("ä", 201): strings.Repeat("ä", 200), "x" + strings.Repeat("ä", 200): strings.Repeat("ä", 200),
	} {
		require.Equal(t, want, lastLines(text), "%.20q", text)
	}
}

// Requests of servers have null where the SDK must not get it: it is left out.
func TestNullsAreLeftOut(t *testing.T) {
	for _, c := range []struct{ method, params, want string }{
		{"x", `null`, `{}`}, {"x", " null ", `{}`}, {"x", `{"messages":[null]}`, `{"messages":[null]}`}, {"x", ``, ``},
		{sampling, `{"messages":[null,{"a":1},null]}`, `{"messages":[{"a":1}]}`}, {sampling, `{"messages":[{}],"b":null}`, `{"b":null,"messages":[{}]}`}, {sampling, `{"messages":1,"b":null}`, `{"messages":1,"b":null}`}, {sampling, `[null]`, `[null]`}, {sampling, `{"messages":[{}]}`, `{"messages":[{}]}`},
	} {
		require.Equal(t, c.want, string(sound(c.method, json.RawMessage(c.params))), "%+v", c)
	}
	for result, want := range map[string]string{
		`{}`: `{}`, `{"a":null}`: `{"a":null}`, `{"inputRequests":null}`: `{"inputRequests":null}`, `{"inputRequests":{"a":null}}`: `{"inputRequests":{}}`, `{"inputRequests":{"a":{"method":"x","params":null}}}`: `{"inputRequests":{"a":{"method":"x","params":{}}}}`,
		`{"inputRequests":{"a":{"method":1,"params":null}}}`: `{"inputRequests":{"a":{"method":1,"params":null}}}`, `{"inputRequests":{"a":{"method":"sampling/createMessage","params":{"messages":[null]}}}}`: `{"inputRequests":{"a":{"method":"sampling/createMessage","params":{"messages":[]}}}}`,
		`[null]`: `[null]`, `{"inputRequests":[null]}`: `{"inputRequests":[null]}`,
	} {
		require.Equal(t, want, string(answerable(json.RawMessage(result))), result)
	}
}

// Numbers that the SDK may round stay as they are written: the content is hidden from it, and the
// schemas of tools are added to them.
func TestContentIsHiddenFromTheSDK(t *testing.T) {
	const key = `"ponte-go.dev/verbatim"`
	for result, want := range map[string]string{
		`{}`: `{}`, `{"structuredContent":null}`: `{"structuredContent":null}`, `{"structuredContent":{"a":1}}`: `{"structuredContent":{` + key + `:"{\"a\":1}"}}`, `{"structuredContent":1.50}`: `{"structuredContent":{` + key + `:"1.50"}}`,
		`{"a":"structuredContent"}`: `{"a":"structuredContent"}`, `["structuredContent"]`: `["structuredContent"]`, `{"structuredContent":`: `{"structuredContent":`,
		`{"tools":[{"inputSchema":{"a":12345}}]}`:                            `{"tools":[{"inputSchema":{"a":12345}}]}`,
		`{"tools":[{"inputSchema":{"a":1.5}},{"inputSchema":{}}]}`:           `{"tools":[{"_meta":{` + key + `:{"inputSchema":"{\"a\":1.5}"}},"inputSchema":{"a":1.5}},{"inputSchema":{}}]}`,
		`{"tools":[{"inputSchema":{"a":1234567890123456},"_meta":{"x":1}}]}`: `{"tools":[{"_meta":{` + key + `:{"inputSchema":"{\"a\":1234567890123456}"},"x":1},"inputSchema":{"a":1234567890123456}}]}`,
		`{"tools":[{"inputSchema":{},"outputSchema":{"a":1e5}}]}`:            `{"tools":[{"_meta":{` + key + `:{"outputSchema":"{\"a\":1e5}"}},"inputSchema":{},"outputSchema":{"a":1e5}}]}`,
		`{"tools":[{"inputSchema":{"a":1.5},"_meta":1}]}`:                    `{"tools":[{"_meta":1,"inputSchema":{"a":1.5}}]}`, `{"tools":[{"inputSchema":{"a":1.5},"_meta":null}]}`: `{"tools":[{"_meta":null,"inputSchema":{"a":1.5}}]}`, `{"tools":{"inputSchema":1.5}}`: `{"tools":{"inputSchema":1.5}}`,
	} {
		got := string(verbatim([]byte(result)))
		if strings.HasSuffix(result, ":") {
			require.Equal(t, want, got)
			continue
		}
		require.JSONEq(t, want, got, result)
	}
	for _, c := range []struct {
		content any
		want    string
	}{
		{nil, ""}, {map[string]any{"a": 1}, `{"a":1}`}, {map[string]any{rawKey: `{"a":1.50}`}, `{"a":1.50}`}, {map[string]any{rawKey: `{`}, ""}, {map[string]any{rawKey: "null"}, ""}, {map[string]any{rawKey: 1}, `{"ponte-go.dev/verbatim":1}`},
		{map[string]any{rawKey: "1", "b": 2}, `{"b":2,"ponte-go.dev/verbatim":"1"}`}, {"<a>", `"<a>"`}, {func() {}, ""},
	} {
		require.Equal(t, c.want, string(structured(&mcp.CallToolResult{StructuredContent: c.content})), "%v", c.content)
	}
	tool := &mcp.Tool{Meta: mcp.Meta{rawKey: map[string]any{"inputSchema": `{"a":1.50}`, "outputSchema": `{`}}}
	require.Equal(t, map[string]any{"a": json.Number("1.50")}, verbatimSchema(tool, "inputSchema", 1))
	require.Equal(t, 1, verbatimSchema(tool, "outputSchema", 1))
	require.Equal(t, 1, verbatimSchema(tool, "other", 1))
	require.Equal(t, 1, verbatimSchema(&mcp.Tool{}, "inputSchema", 1))
}

// Bodies end with an error at their limit; events have none as a whole.
func TestBodiesAreBounded(t *testing.T) {
	for _, c := range []struct {
		left int64
		want string
		err  error
	}{{-1, "12345", nil}, {6, "12345", nil}, {5, "12345", errTooLarge}, {3, "123", errTooLarge}, {0, "", errTooLarge}} {
		ended := 0
		b := &boundedBody{ReadCloser: io.NopCloser(strings.NewReader("12345")), left: c.left, end: func() { ended++ }}
		data, err := io.ReadAll(b)
		require.Equal(t, c.err, err, c.left)
		require.Equal(t, c.want, string(data))
		require.NoError(t, b.Close())
		require.Equal(t, 1, ended)
	}
	for header, events := range map[string]bool{"text/event-stream": true, " Text/Event-Stream ; charset=x": true, "text/event": false, "": false} {
		require.Equal(t, events, isEvents(&http.Response{Header: http.Header{"Content-Type": {header}}}), header)
	}
}

// Addresses and headers are checked before they are used, and shown without secrets.
func TestAddressesOfServers(t *testing.T) {
	for address, want := range map[string]string{
		"https://a.test/x": "", "http://a.test": "", "ftp://a.test": "the URL must begin with http:// or https://", "https:///x": "the URL must begin with http:// or https://", "a.test": "the URL must begin with http:// or https://", "": "the URL must begin with http:// or https://",
		"https://u@a.test": "the URL must not have a user: set a header", "https://a.test:x": "the URL is not valid",
	} {
		for _, check := range []error{HTTP{URL: address}.check(), SSE{URL: address}.check()} {
			if want == "" {
				require.NoError(t, check, address)
			} else {
				require.EqualError(t, check, want, address)
			}
		}
	}
	require.EqualError(t, HTTP{URL: "https://a.test", Headers: map[string]string{"A": "b", "B": "x\n"}}.check(), `the header "B" is not valid; does its value end in a newline?`)
	for address, want := range map[string]string{"https://u:p@a.test/x?key=1#f": "https://a.test/x", "https://a.test:x": "invalid address", "https://a.test/" + strings.Repeat("x", 200): "https://a.test/" + strings.Repeat("x", 185) + "…"} {
		require.Equal(t, want, HTTP{URL: address}.String(), address)
		require.Equal(t, want, SSE{URL: address}.String(), address)
	}
	require.ElementsMatch(t, []string{"Bearer token", "token", "plain", "a=1&b=2", "1", "2"}, HTTP{URL: "https://a.test?a=1&b=2", Headers: map[string]string{"A": "Bearer token", "B": "plain"}}.secrets())
	require.Empty(t, HTTP{URL: "https://a.test"}.secrets())
	for want, c := range map[string]Command{
		"the command has no Path": {}, "the command's Grace must not be negative": {Path: "x", Grace: -1}, `the command's Env has an entry without "NAME="`: {Path: "x", Env: []string{"A=b", "c"}},
	} {
		require.EqualError(t, c.check(), want)
	}
	require.EqualError(t, Command{Path: "x", Env: []string{"=c"}}.check(), `the command's Env has an entry without "NAME="`)
	require.NoError(t, Command{Path: "x", Env: []string{"A="}}.check())
	for format, want := range map[string]string{"%v": "prog", "%s": "prog", "%d": "prog", "%+v": "prog", "%#v": `mcptoolset.Command{Path: "prog", …}`, "%#s": "prog"} {
		require.Equal(t, want, fmt.Sprintf(format, Command{Path: "prog", Args: []string{"x"}}), format)
	}
	require.Equal(t, `mcptoolset.HTTP{URL: "https://a.test", …}`, fmt.Sprintf("%#v", HTTP{URL: "https://a.test"}))
	require.Equal(t, `mcptoolset.SSE{URL: "https://a.test", …}`, fmt.Sprintf("%#v", SSE{URL: "https://a.test"}))
}
