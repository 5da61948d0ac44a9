package googledialect_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/googledialect"
)

func TestSchemasAreRewrittenForThePlugin(t *testing.T) {
	for name, test := range map[string]struct{ schema, want string }{
		"what the plugin knows": {
			`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]},"b":{"type":"array","items":{"type":"integer"},"minItems":1}},"required":["a"],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]},"b":{"type":"array","items":{"type":"integer"},"minItems":1}},"required":["a"]}`,
		},
		"references": {
			`{"$defs":{"c":{"type":"string","description":"a city"}},"type":"object","properties":{"a":{"$ref":"#/$defs/c"},"b":{"$ref":"#/$defs/c","description":"where to"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"a city"},"b":{"type":"string","description":"where to"}}}`,
		},
		"null":        {`{"type":["null","string"],"description":"d"}`, `{"type":"string","description":"d (may be null)"}`},
		"types":       {`{"type":["integer","string"]}`, `{"type":"integer","description":"(or string)"}`},
		"any of":      {`{"anyOf":[{"type":"null"},{"type":"integer","minimum":1}]}`, `{"type":"integer","minimum":1,"description":"(may be null)"}`},
		"one of":      {`{"oneOf":[{"type":"integer"},{"type":"string"}]}`, `{"type":"integer","description":"(or map[type:string])"}`},
		"all of":      {`{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}}}]}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`},
		"inheritance": {`{"$defs":{"a":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},"b":{"properties":{"b":{"type":"string"}},"required":["b"]}},"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}]}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]}`},
		"odd values":  {`{"type":"matrix","title":1,"format":2,"description":3,"required":true,"minItems":"x","maximum":null}`, `{"type":"string"}`},
		"no type":     {`{"properties":{"a":true,"b":{},"c":{"items":{"const":"x"}}}}`, `{"type":"object","properties":{"a":{"type":"string","description":"any JSON value"},"b":{"type":"string","description":"any JSON value"},"c":{"type":"array","items":{"type":"string","enum":["x"]}}}}`},
		"no elements": {`{"type":"array"}`, `{"type":"array","items":{"type":"string","description":"any JSON value"}}`},
		"other rules": {`{"type":"integer","enum":[1,2],"multipleOf":2}`, `{"type":"integer","description":"(one of [1 2], multipleOf: 2)"}`},
	} {
		var schema map[string]any
		require.NoError(t, json.Unmarshal([]byte(test.schema), &schema), name)
		got, err := googledialect.Flatten(schema)
		require.NoError(t, err, name)
		text, err := json.Marshal(got)
		require.NoError(t, err, name)
		require.JSONEq(t, test.want, string(text), name)
	}
	for says, schema := range map[string]string{
		"refers to itself by #/$defs/n": `{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`,
		"leads nowhere":                 `{"$ref":"#/$defs/none"}`,
		"leads out of the schema":       `{"$ref":"https://example.com/schema"}`,
		"refers to itself by #,":        `{"type":"object","properties":{"self":{"anyOf":[{"type":"null"},{"$ref":"#"}]}}}`,
	} {
		var decoded map[string]any
		require.NoError(t, json.Unmarshal([]byte(schema), &decoded))
		_, err := googledialect.Flatten(decoded)
		require.ErrorContains(t, err, says)
	}
}

func TestTheWorkOfRewritingASchemaIsBounded(t *testing.T) {
	defs := map[string]any{"d0": map[string]any{"type": "string"}}
	for n := 1; n < 40; n++ {
		ref := map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", n-1)}
		defs[fmt.Sprintf("d%d", n)] = map[string]any{"type": "object", "properties": map[string]any{"left": ref, "right": ref}}
	}
	_, err := googledialect.Flatten(map[string]any{"$defs": defs, "$ref": "#/$defs/d39"})
	require.ErrorContains(t, err, "too large once its references are followed")
	_, err = googledialect.Flatten(map[string]any{"$defs": defs, "$ref": "#/$defs/d9"})
	require.NoError(t, err)
}

// FuzzSchema checks that what comes out is what the plugin takes, whatever goes in.
func FuzzSchema(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":["null","array"],"items":true}}}`,
		`{"anyOf":[{"type":"null"},{"allOf":[{"$ref":"#"}]}]}`, `{"oneOf":[1,{"const":null}],"enum":["",2]}`, `{"$ref":"#/a~1b/~0"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		decoded, err := genkitmodel.Decode(text)
		schema, ok := decoded.(map[string]any)
		if err != nil || !ok {
			t.Skip()
		}
		out, err := googledialect.Flatten(schema)
		if err == nil {
			wellFormed(t, out)
		}
	})
}

// wellFormed checks what the plugin takes for granted of a schema.
func wellFormed(t *testing.T, schema map[string]any) {
	t.Helper()
	require.Contains(t, []string{"string", "number", "integer", "boolean", "object", "array"}, schema["type"])
	for _, name := range []string{"description", "title", "format"} {
		if value, set := schema[name]; set {
			require.IsType(t, "", value, name)
		}
	}
	for _, name := range []string{"$ref", "anyOf", "oneOf", "allOf", "const"} {
		require.NotContains(t, schema, name)
	}
	if items, set := schema["items"]; set {
		wellFormed(t, items.(map[string]any))
	}
	if properties, set := schema["properties"]; set {
		for _, member := range properties.(map[string]any) {
			wellFormed(t, member.(map[string]any))
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	for says, config := range map[string]googledialect.Config{
		"the name is empty":          {APIKey: testKey},
		"the API key is empty":       {Name: "m"},
		"set one of them":            {Name: "m", APIKey: testKey, Project: "p", Location: "l"},
		"both needed for Vertex":     {Name: "m", Project: "p"},
		"must begin with http":       {Name: "m", APIKey: testKey, BaseURL: "localhost:1"},
		"is not in lower case":       {Name: "m", APIKey: testKey, Provider: "Google"},
		"the setting MaxTokens is -": {Name: "m", APIKey: testKey, Settings: &model.Settings{MaxTokens: -1}},
	} {
		_, err := googledialect.New(t.Context(), config)
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, "googledialect: ")
	}
	_, err := googledialect.New(t.Context(), googledialect.Config{Name: "m"})
	require.ErrorIs(t, err, model.ErrAuth)
}

func TestAConfigIsPrintedWithoutItsKey(t *testing.T) {
	config := googledialect.Config{Name: "m", APIKey: testKey}
	text, err := json.Marshal(config)
	require.NoError(t, err)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("", "config", config)
	for _, printed := range []string{fmt.Sprintf("%v %+v %#v %s", config, config, &config, config), string(text), log.String()} {
		require.NotContains(t, printed, testKey)
		require.Contains(t, printed, "key set")
	}
}

func TestVertexAIIsAskedWithTheProgramsCredentials(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked = append(asked, r.URL.Path+" "+r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/token" {
			_, _ = io.WriteString(w, `{"access_token":"ya29.test","token_type":"Bearer","expires_in":3600}`)
			return
		}
		_, _ = io.WriteString(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":"Oslo."}]},"finishReason":"STOP"}]}`)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)

	file := filepath.Join(t.TempDir(), "credentials.json")
	credentials, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "acme", "private_key_id": "1", "private_key": privateKey(t),
		"client_email": "test@acme.example", "client_id": "1", "token_uri": server.URL + "/token", "quota_project_id": "acme",
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, credentials, 0o600))
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)

	m, err := googledialect.New(t.Context(), googledialect.Config{
		Name: "gemini-2.5-flash", Project: "acme", Location: "europe-west4", BaseURL: server.URL,
	})
	require.NoError(t, err)
	require.Equal(t, "vertex", m.Info().Provider)
	msg, err := m.Generate(t.Context(), ask(), nil)
	require.NoError(t, err)
	require.Equal(t, "Oslo.", msg.Text())
	require.Contains(t, asked[len(asked)-1], "/projects/acme/locations/europe-west4/publishers/google/models/gemini-2.5-flash:generateContent Bearer ya29.test")
}

func privateKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func ask() *model.Request {
	return &model.Request{Messages: []*model.Message{model.UserText("The capital of Norway?")}}
}

// answering returns a model whose server always gives the same answer.
func answering(t *testing.T, name, body string) *genkitmodel.Model {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return open(t, server.URL, name)
}

func TestWhatThePluginPanicsOverIsAnError(t *testing.T) {
	m := answering(t, "m", `{"candidates":[{"content":{"role":"model","parts":[{"text":"I look.","functionCall":{"name":"f"}}]},"finishReason":"STOP"}]}`)
	_, err := m.Generate(t.Context(), ask(), nil)
	var e *model.APIError
	require.ErrorAs(t, err, &e)
	require.ErrorContains(t, err, "expected only 1 content part")
}

func TestWhatTheModelCannotDoIsRefused(t *testing.T) {
	m := answering(t, "gemini-2.5-flash", `{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP"}]}`)
	tool := []model.ToolDef{{Name: "t"}}
	for name, change := range map[string]func(*model.Request){
		"seed":       func(r *model.Request) { r.Settings = &model.Settings{Seed: new(int64(1 << 40))} },
		"max_tokens": func(r *model.Request) { r.Settings = &model.Settings{MaxTokens: 1 << 40} },
		"thinking":   func(r *model.Request) { r.Settings = &model.Settings{Thinking: "extreme"} },
		"tool name":  func(r *model.Request) { r.Tools = []model.ToolDef{{Name: "no spaces please"}} },
		"together with tools": func(r *model.Request) {
			r.Tools, r.Output = tool, &model.OutputSchema{Name: "o", Schema: json.RawMessage(`{"type":"object"}`)}
		},
	} {
		req := ask()
		change(req)
		_, err := m.Generate(t.Context(), req, nil)
		require.ErrorIs(t, err, model.ErrUnsupported, name)
		require.ErrorContains(t, err, name)
	}
	req := ask()
	req.Tools = []model.ToolDef{{Name: "t", Schema: json.RawMessage(`{"type":"object","properties":{"self":{"$ref":"#"}}}`)}}
	_, err := m.Generate(t.Context(), req, nil)
	require.ErrorContains(t, err, `the schema of tool "t": self: self: the schema refers to itself by #`)
}

func ExampleNew() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":"Oslo."}]},"finishReason":"STOP"}]}`)
	}))
	defer server.Close()

	m, err := googledialect.New(context.Background(), googledialect.Config{Name: "gemini-2.5-flash", APIKey: "key", BaseURL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	msg, err := m.Generate(context.Background(), ask(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(msg.Provider, msg.Text())
	// Output: google Oslo.
}
