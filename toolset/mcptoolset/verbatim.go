// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ponte-go/ponte/internal/lazy"
)

// rawKey is the only member of an object that replaces structured content in the SDK: a string with
// the JSON of the content. The SDK would decode the content and lose digits of its numbers.
const rawKey = "ponte-go.dev/verbatim"

var (
	structuredName = []byte(`"structuredContent"`)
	schemaName     = []byte(`"inputSchema"`)
	// longNumber matches numbers that the SDK may round.
	longNumber = lazy.Regexp(`[0-9]{16}|[0-9][.eE]`)
)

// mayRound reports whether the SDK may change the numbers of a message.
func mayRound(message []byte) bool {
	return bytes.Contains(
		message, structuredName,
	) || bytes.Contains(message, schemaName) && longNumber().Match(message)
}

// verbatim hides the structured content of a result from the SDK, and adds to the tools of a list
// what their schemas are.
func verbatim(result []byte) []byte {
	var members map[string]json.RawMessage
	if !mayRound(result) || json.Unmarshal(result, &members) != nil {
		return result
	}
	if tools := members["tools"]; tools != nil {
		return with(members, "tools", json.RawMessage(verbatimTools(tools)))
	}
	content := members["structuredContent"]
	if content == nil || string(content) == "null" {
		return result
	}
	return with(members, "structuredContent", map[string]string{rawKey: string(content)})
}

// verbatimTools adds the schemas of tools, as they are written, to the tools' metadata. The SDK
// looks at the schemas themselves.
func verbatimTools(list []byte) []byte {
	var tools []map[string]json.RawMessage
	if json.Unmarshal(list, &tools) != nil {
		return list
	}
	for _, tool := range tools {
		schemas := map[string]string{}
		for _, name := range []string{"inputSchema", "outputSchema"} {
			if longNumber().Match(tool[name]) {
				schemas[name] = string(tool[name])
			}
		}
		meta := map[string]json.RawMessage{}
		if len(schemas) == 0 || tool["_meta"] != nil && json.Unmarshal(tool["_meta"], &meta) != nil || meta == nil {
			continue
		}
		meta[rawKey], _ = json.Marshal(schemas)
		tool["_meta"], _ = json.Marshal(meta)
	}
	changed, err := json.Marshal(tools)
	if err != nil {
		return list
	}
	return changed
}

// verbatimSchema returns a schema of a tool with its numbers as the server wrote them.
func verbatimSchema(t *mcp.Tool, name string, schema any) any {
	schemas, _ := t.Meta[rawKey].(map[string]any)
	if text, ok := schemas[name].(string); ok {
		if exact, ok := decoded([]byte(text)); ok {
			return exact
		}
	}
	return schema
}

// verbatimMessage does what verbatim does in a message, and sees to what the SDK panics at.
func verbatimMessage(message []byte) []byte {
	var members map[string]json.RawMessage
	if !mayRound(message) && !mayPanic(message) || json.Unmarshal(message, &members) != nil {
		return message
	}
	if result := members["result"]; result != nil {
		return with(members, "result", json.RawMessage(verbatim(answerable(result))))
	}
	var method string
	if params := members["params"]; params != nil && json.Unmarshal(members["method"], &method) == nil {
		return with(members, "params", sound(method, params))
	}
	return message
}

// verbatimEvents does so in the messages of an event stream.
func verbatimEvents(body io.Reader, limit int) io.Reader {
	return newLineReader(body, limit, func(line []byte) ([]byte, error) {
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok || !mayRound(data) && !mayPanic(data) || len(line) > limit {
			return line, nil
		}
		return append(append([]byte("data: "), verbatimMessage(bytes.TrimSpace(data))...), '\n'), nil
	})
}

// verbatimBody does so in a body that is one message.
type verbatimBody struct {
	from io.Reader
	data *bytes.Reader
}

// Read implements [io.Reader].
func (b *verbatimBody) Read(p []byte) (int, error) {
	if b.data == nil {
		data, err := io.ReadAll(b.from)
		if err != nil {
			return 0, err
		}
		b.data = bytes.NewReader(verbatimMessage(data))
	}
	return b.data.Read(p)
}

// structured returns the structured content of a result as JSON, with its numbers as the server
// wrote them.
func structured(res *mcp.CallToolResult) json.RawMessage {
	content := res.StructuredContent
	if object, ok := content.(map[string]any); ok && len(object) == 1 {
		if text, ok := object[rawKey].(string); ok {
			if content, ok = decoded([]byte(text)); !ok {
				return nil
			}
		}
	}
	if content == nil {
		return nil
	}
	return plainJSON(content)
}

// decoded decodes JSON with its numbers as they are written.
func decoded(data []byte) (v any, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil, false
	}
	_, err := dec.Token()
	return v, err == io.EOF
}

// repeats reports whether the texts say the same as the structured content: one of them is its
// JSON, as the specification wants it for older clients. FastMCP puts other results than objects
// into an object with the one member result, and makes a text of each element of a list.
func (w *contentWriter) repeats(data []byte) bool {
	content, ok := decoded(data)
	if !ok {
		return false
	}
	if saysOne(w.texts, content) {
		return true
	}
	object, _ := content.(map[string]any)
	wrapped, ok := object["result"]
	return ok && len(object) == 1 && (saysOne(w.texts, wrapped) || saysAll(w.texts, wrapped))
}

func saysOne(texts []string, v any) bool {
	for _, text := range texts {
		if says(text, v) {
			return true
		}
	}
	return false
}

// saysAll reports whether each text says one element.
func saysAll(texts []string, v any) bool {
	list, ok := v.([]any)
	if !ok || len(list) != len(texts) || len(list) == 0 {
		return false
	}
	for i, e := range list {
		if !says(texts[i], e) {
			return false
		}
	}
	return true
}

// says reports whether a text is a value: the text itself, or its JSON.
func says(text string, v any) bool {
	if s, ok := v.(string); ok && strings.TrimSpace(s) == strings.TrimSpace(text) {
		return true
	}
	other, ok := decoded([]byte(text))
	return ok && reflect.DeepEqual(other, v)
}

// exact replaces integers in decoded JSON by int64, to prevent rounding, and other numbers by
// float64.
func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = exact(v[name])
		}
	}
	return v
}
