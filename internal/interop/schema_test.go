// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checkSchema validates every message of the agent against the official schema, as it comes with the TypeScript SDK. Unlike the SDKs,
// which repair what they can and ignore what they do not know, it forgives nothing: a member that the schema does not have is an error.
func (tr wireLines) checkSchema(t *testing.T, schemas *schemaSet) {
	t.Helper()
	sent := map[string]string{} // the client's methods, by id
	for i, line := range tr {
		var m wireMessage
		if json.Unmarshal(line.raw, &m) != nil {
			continue // for check
		}
		if !line.byAgent {
			if m.isRequest() {
				sent[string(m.ID)] = m.Method
			}
			continue
		}
		name, value := schemas.requests[m.Method], m.Params
		switch {
		case m.isAnswer() && m.Error != nil:
			name, value = "Error", mustMarshal(m.Error)
		case m.isAnswer():
			name, value = schemas.responses[sent[string(m.ID)]], m.Result
		}
		if err := schemas.validate(name, value); err != nil {
			t.Errorf("line %d of the transcript breaks the schema: %v\n%s", i+1, err, line.raw[:min(len(line.raw), 2000)])
		}
	}
}

// schemaSet is the official schema, made strict.
type schemaSet struct {
	requests, responses map[string]string // names of definitions, by method; notifications are among the requests

	mu       sync.Mutex // a compiler is not safe for concurrent use
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

const schemaURL = "schema.json"

func (s *schemaSet) validate(name string, raw json.RawMessage) error {
	if name == "" {
		return fmt.Errorf("the schema has no such message")
	}
	schema, err := s.schema(name)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func (s *schemaSet) schema(name string) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if schema := s.compiled[name]; schema != nil {
		return schema, nil
	}
	schema, err := s.compiler.Compile(schemaURL + "#/messages/" + name)
	if err == nil {
		s.compiled[name] = schema
	}
	return schema, err
}

var (
	loadSchema   = sync.OnceValues(func() (*schemaSet, error) { return readSchema("schema.json") })
	loadUnstable = sync.OnceValues(func() (*schemaSet, error) { return readSchema("schema.unstable.json") })
)

// readSchemaFile returns a schema of the TypeScript SDK.
func readSchemaFile(file string) ([]byte, error) {
	dir, err := nodePeers()
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "node_modules", "@agentclientprotocol", "sdk", "schema", "v1", file))
}

func readSchema(file string) (*schemaSet, error) {
	data, err := readSchemaFile(file)
	if err != nil {
		return nil, err
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	s := &schemaSet{
		requests: map[string]string{}, responses: map[string]string{},
		compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{},
	}
	document := root.(object)
	definitions := document["$defs"].(object)
	messages := object{}
	for name, definition := range definitions {
		d := definition.(object)
		if method, ok := d["x-method"].(string); ok {
			if strings.HasSuffix(name, "Response") {
				s.responses[method] = name
			} else {
				s.requests[method] = name
			}
		}
		messages[name] = closed(object{"$ref": "#/$defs/" + name})
	}
	for _, definition := range definitions {
		closeMembers(definition)
	}
	document["messages"] = messages
	s.compiler.DefaultDraft(jsonschema.Draft2020)
	return s, s.compiler.AddResource(schemaURL, document)
}

// closeMembers forbids unknown members in all values that the schema describes. Members are counted where a value is described as a
// whole, in the properties and items that hold it: below allOf and anyOf a description is one of several of the same value.
func closeMembers(schema any) {
	s, ok := schema.(object)
	if !ok {
		return
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[key].([]any)
		for _, e := range list {
			closeMembers(e)
		}
	}
	if properties, ok := s["properties"].(object); ok {
		for name, value := range properties {
			closeMembers(value)
			properties[name] = closed(value)
		}
	}
	if items, ok := s["items"]; ok {
		closeMembers(items)
		s["items"] = closed(items)
	}
}

// closed returns the schema with no members but those that it describes. One that describes none, such as that of _meta or of raw
// input, allows any.
func closed(schema any) any {
	s, ok := schema.(object)
	if !ok {
		return schema
	}
	for _, key := range []string{"$ref", "allOf", "anyOf", "oneOf", "properties"} {
		if _, describes := s[key]; describes {
			return object{"allOf": []any{s}, "unevaluatedProperties": false}
		}
	}
	return schema
}

func mustMarshal(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

func TestSchemaIsStrict(t *testing.T) {
	node(t)
	schemas, err := loadSchema()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		message, json string
		ok            bool
	}{
		"complete":               {"PromptResponse", `{"stopReason":"end_turn"}`, true},
		"with _meta":             {"PromptResponse", `{"stopReason":"end_turn","_meta":{"a":{"b":1}}}`, true},
		"with raw input":         {"SessionNotification", `{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","rawInput":{"a":1}}}`, true},
		"a member missing":       {"PromptResponse", `{}`, false},
		"a member of its own":    {"PromptResponse", `{"stopReason":"end_turn","own":1}`, false},
		"an unknown stop reason": {"PromptResponse", `{"stopReason":"tired"}`, false},
		"a nested member of its own": {
			"SessionNotification", `{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x","own":1}}}`, false,
		},
		"an unknown update": {"SessionNotification", `{"sessionId":"s","update":{"sessionUpdate":"message"}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := schemas.validate(c.message, json.RawMessage(c.json)); (err == nil) != c.ok {
				t.Errorf("%s: valid is %t: %v", c.json, err == nil, err)
			}
		})
	}
}
