// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// FuzzConnLine feeds any bytes as lines. Whatever they are, an initialize behind them is answered, and every line that is sent is a
// message.
func FuzzConnLine(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"x"}]}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n" + cancelLine("s"),
		`{"jsonrpc":"2.0","id":7,"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":null}`, `[]`, `{`, "\n\n\r\n", `"\ud800"`, `{"id":{}}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`, strings.Repeat("x", 5000), strings.Repeat(`{"a":[`, 300),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		opts := &acp.ConnOptions{MaxLine: 4 << 10, MaxQueue: 1 << 20, Trace: func(acp.Event) {}, Tap: func(acp.Direction, []byte) {}}
		in := io.MultiReader(bytes.NewReader(data), strings.NewReader("\n"+request(`"last"`, "initialize", `{"protocolVersion":1}`)+"\n"))
		var out bytes.Buffer
		conn := acp.NewAgentConn(in, &out, func(*acp.AgentConn) acp.Agent { return &fakeAgent{} }, opts)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		require.NoError(t, conn.Serve(ctx))
		answered := false
		for line := range strings.Lines(out.String()) {
			m := parseLine(t, strings.TrimSuffix(line, "\n"))
			answered = answered || string(m.ID) == `"last"`
		}
		require.True(t, answered)
	})
}

// fuzzTypes are the unions and the messages that hold them.
var fuzzTypes = []func() any{
	func() any { return new(acp.SessionNotification) },
	func() any { return new(acp.PromptRequest) },
	func() any { return new(acp.ContentBlock) },
	func() any { return new(acp.ToolCallContent) },
	func() any { return new(acp.RequestPermissionRequest) },
	func() any { return new(acp.RequestPermissionOutcome) },
	func() any { return new(acp.MCPServer) },
	func() any { return new(acp.AuthMethod) },
	func() any { return new(acp.EmbeddedResourceResource) },
	func() any { return new(acp.SessionConfigOption) },
	func() any { return new(acp.SessionConfigSelectOptions) },
	func() any { return new(acp.SetSessionConfigOptionRequest) },
	func() any { return new(acp.CreateElicitationRequest) },
	func() any { return new(acp.CreateElicitationResponse) },
	func() any { return new(acp.ElicitationContentValue) },
	func() any { return new(acp.InitializeRequest) },
	func() any { return new(acp.InitializeResponse) },
	func() any { return new(acp.NewSessionResponse) },
	func() any { return new(acp.RequestID) },
	func() any { return new(acp.Patch) },
}

// FuzzRoundTrip checks that what has been decoded once encodes, in valid JSON on one line, and stays what it is from then on.
func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{
		`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"ä\n\ud83d"}}}`,
		`{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","rawInput":{"n":1e5},"content":[{"type":"diff"}]}}`,
		`{"type":"resource","resource":{"uri":"u","blob":"b"}}`, `{"type":"other","x":[1, 2]}`, `{"outcome":"cancelled"}`,
		`{"name":"n","command":"c","args":null,"env":[{"name":"a","value":"b"}]}`, `{"id":"i","name":"n","type":"select","currentValue":"v","options":[]}`,
		`{"message":"m","mode":"form","sessionId":"s","requestedSchema":{"properties":{"a":{"type":"array","items":{"anyOf":[]}}}}}`,
		`{"action":"accept","content":{"a":["x"],"b":1.5,"c":true}}`, `[[1]]`, `9223372036854775808`, `"\u0000"`, `null`,
	} {
		for which := range fuzzTypes {
			f.Add(byte(which), []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, which byte, data []byte) {
		fresh := fuzzTypes[int(which)%len(fuzzTypes)]
		first := fresh()
		if err := acp.Unmarshal(data, first); err != nil {
			return
		}
		require.True(t, json.Valid(data), "accepted what is not JSON")
		once, err := acp.Marshal(first)
		require.NoError(t, err)
		require.True(t, json.Valid(once), "%s", once)
		require.NotContains(t, string(once), "\n")
		second := fresh()
		require.NoError(t, acp.Unmarshal(once, second), "%s", once)
		twice, err := acp.Marshal(second)
		require.NoError(t, err)
		require.Equal(t, string(once), string(twice))
	})
}

// FuzzJSON checks the scanner against encoding/json: both accept the same texts.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{}`, ` [1,-0.5e+7,"a\u00e4",true,false,null] `, `01`, `-`, `"\x"`, `[1,]`, `{"a":}`, `1e`, "\"\x7f\x80\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text := fmt.Appendf(nil, `{"requestId":1,"x":%s}`, data)
		err := acp.Unmarshal(text, new(acp.CancelRequestNotification))
		if strings.Contains(string(data), "requestId") {
			return // it may be another one
		}
		require.Equal(t, json.Valid(text), err == nil)
	})
}
