// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// connections are the ways in which a server can be reached.
func connections(t *testing.T, f *fake) map[string]mcptoolset.Transport {
	own := func(options *mcp.StreamableHTTPOptions) mcptoolset.Func {
		url := listen(t, f, options).URL
		return func(context.Context) (mcp.Transport, error) {
			return &mcp.StreamableClientTransport{Endpoint: url}, nil
		}
	}
	return map[string]mcptoolset.Transport{
		"events through a transport of the user's": own(nil),
		"JSON through a transport of the user's":   own(&mcp.StreamableHTTPOptions{JSONResponse: true}),

		"memory": mcptoolset.Func(f.dial),
		"events": mcptoolset.HTTP{URL: listen(t, f, nil).URL},
		"JSON":   mcptoolset.HTTP{URL: listen(t, f, &mcp.StreamableHTTPOptions{JSONResponse: true}).URL},
		"SSE":    mcptoolset.SSE{URL: web(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return f.Server }, nil)).URL},
	}
}

// Numbers are what was written, in both directions and on every transport.
func TestNumbersStayAsTheyAreWritten(t *testing.T) {
	const numbers = `{"big":9007199254740993,"more":[123456789012345678901234567890,-9007199254740993],"exact":1.0,"small":1e-7,"text":"<&>","deep":{"z":1,"a":0.10}}`
	f := newFake(nil)
	f.tool("echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}, StructuredContent: json.RawMessage(numbers)}, nil
	})
	for name, transport := range connections(t, f) {
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, change func(*mcptoolset.Config)) {
				if name == "SSE" {
					change = func(c *mcptoolset.Config) { c.ProtocolVersion = "2024-11-05" }
				}
				s := serve(t, f, change, over(transport))
				res, err := call(t, s, nil, "r", "s_echo", numbers)
				require.NoError(t, err)
				for _, want := range []string{`9007199254740993`, `123456789012345678901234567890`, `-9007199254740993`, `1.0`, `1e-7`, `0.10`, `<&>`} {
					require.Contains(t, res.Text, want)
				}
				require.Equal(t, 1, strings.Count(res.Text, "9007199254740993,"), "the text says the same, so the model is told once: %s", res.Text)
				var meta mcptoolset.Meta
				require.NoError(t, json.Unmarshal(res.Meta, &meta))
				for _, want := range []string{`9007199254740993`, `123456789012345678901234567890`, `-9007199254740993`, `1.0`, `1e-7`, `0.10`, `<&>`} {
					require.Contains(t, string(meta.Structured), want)
				}
			})
		})
	}
}

func TestNumbersOfAnswersStayAsTheyAreWritten(t *testing.T) {
	f := newFake(nil)
	f.tool("ask", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "n?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"x":{"type":"number"}}}`)})
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(res.Content)
		return say(string(data)), err
	})
	s := serve(t, f, legacy)
	p := &person{reply: toolset.Reply{Action: toolset.ActionAccept, Content: jsonOf(`{"n":4503599627370497,"x":0.5}`)}}
	res, err := call(t, s, &toolsettest.Host{Asker: p}, "r", "s_ask", `{}`)
	require.NoError(t, err)
	require.Contains(t, res.Text, `0.5`)
	require.NotContains(t, res.Text, `refused`)
}

// What the structured content says like the text is given once. That is how FastMCP returns all results that are no objects.
func TestResultsAreGivenOnce(t *testing.T) {
	for name, c := range map[string]struct {
		texts      []string
		structured string
		once       bool
	}{
		"an object":                   {[]string{`{"a": 1, "b": [2]}`}, `{"a":1,"b":[2]}`, true},
		"a text of FastMCP":           {[]string{"sunny"}, `{"result":"sunny"}`, true},
		"a text that is JSON":         {[]string{`{"a":1}`}, `{"result":"{\"a\":1}"}`, true},
		"a text with line ends":       {[]string{"a\nb\n"}, `{"result":"a\nb\n"}`, true},
		"an empty text":               {[]string{""}, `{"result":""}`, true},
		"a number of FastMCP":         {[]string{"9007199254740993"}, `{"result":9007199254740993}`, true},
		"a boolean":                   {[]string{"true"}, `{"result":true}`, true},
		"a list, item by item":        {[]string{"a", "2", `{"x":1}`}, `{"result":["a",2,{"x":1}]}`, true},
		"a list as a whole":           {[]string{`["a",2]`}, `{"result":["a",2]}`, true},
		"an object in result":         {[]string{`{"x":1}`}, `{"result":{"x":1}}`, true},
		"a list without the object":   {[]string{`[1,2]`}, `[1,2]`, true},
		"a text beside others":        {[]string{"note", "sunny"}, `{"result":"sunny"}`, true},
		"another text":                {[]string{"rainy"}, `{"result":"sunny"}`, false},
		"a number that is rounded":    {[]string{"9007199254740992"}, `{"result":9007199254740993}`, false},
		"more members":                {[]string{"sunny"}, `{"at":"noon","result":"sunny"}`, false},
		"another member":              {[]string{"sunny"}, `{"weather":"sunny"}`, false},
		"a list with an item missing": {[]string{"a"}, `{"result":["a","b"]}`, false},
		"no text":                     {nil, `{"result":"sunny"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(nil)
			f.tool("get", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				res := &mcp.CallToolResult{StructuredContent: json.RawMessage(c.structured)}
				for _, text := range c.texts {
					res.Content = append(res.Content, &mcp.TextContent{Text: text})
				}
				return res, nil
			})
			res, err := call(t, serve(t, f), nil, "r", "s_get", `{}`)
			require.NoError(t, err)
			want := strings.Join(c.texts, "\n")
			if !c.once {
				want = strings.TrimPrefix(want+"\n"+c.structured, "\n")
			}
			if want == "" {
				want = "The tool returned nothing."
			}
			require.Equal(t, want, res.Text)
			var meta mcptoolset.Meta
			require.NoError(t, json.Unmarshal(res.Meta, &meta))
			require.Equal(t, c.structured, string(meta.Structured))
		})
	}
}

// A server in the middle of HTTP may say anything.
func TestForeignBodiesOfHTTPAreRead(t *testing.T) {
	for _, body := range []string{`{"structuredContent"`, `"structuredContent"`, `{"result":{"structuredContent":null}}`, `[]`, ``} {
		server := web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = w.Write([]byte(body))
		}))
		s := serve(t, newFake(nil), over(mcptoolset.HTTP{URL: server.URL}))
		require.Empty(t, list(t, s, mcptoolset.Options[none]{}))
		require.Error(t, s.Status().Err)
	}
}

// Schemas are what the server wrote, too.
func TestNumbersOfSchemasStayAsTheyAreWritten(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"type":"integer","enum":[9007199254740993,-9007199254740993],"maximum":12345678901234567890},"x":{"type":"number","minimum":0.10,"maximum":1e300}}}`
	f := newFake(nil)
	f.AddTool(&mcp.Tool{Name: "count", InputSchema: json.RawMessage(schema), Meta: mcp.Meta{"a": "b"}}, echo)
	f.tool("echo", echo)
	for name, transport := range connections(t, f) {
		t.Run(name, func(t *testing.T) {
			s := serve(t, f, over(transport), func(c *mcptoolset.Config) {
				if name == "SSE" {
					c.ProtocolVersion = "2024-11-05"
				}
			})
			tools := list(t, s, mcptoolset.Options[none]{})
			require.Len(t, tools, 2)
			for _, want := range []string{"[9007199254740993,-9007199254740993]", "12345678901234567890", "1e300"} {
				require.Contains(t, string(tools[0].Def.Schema), want)
			}
		})
	}
}
