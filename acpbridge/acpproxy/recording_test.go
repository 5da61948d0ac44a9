// SPDX-License-Identifier: Apache-2.0

package acpproxy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpproxy"
)

// recordedText is the recording of some lines of the editor.
func recordedText(t testing.TB, config acpproxy.Config, lines ...string) string {
	t.Helper()
	var out bytes.Buffer
	config.Record = &out
	reads, writes := acp.Pipe()
	fromAgent, agentWrites := acp.Pipe()
	go func() {
		_, _ = writes.Write([]byte(strings.Join(lines, "\n") + "\n"))
		_ = writes.Close()
	}()
	agent := &agentInput{closed: func() { _ = agentWrites.Close() }}
	require.NoError(t, acpproxy.Serve(t.Context(), reads, new(bytes.Buffer), fromAgent, agent, config))
	return out.String()
}

// agentInput is the input of an agent that ends with it.
type agentInput struct {
	bytes.Buffer
	closed func()
}

func (a *agentInput) Close() error { a.closed(); return nil }

func TestRecordingHasBothSidesInOrder(t *testing.T) {
	var out bytes.Buffer
	editor, agent, wait := serve(t, acpproxy.Config{Record: &out})
	editor.write(request(1, "m", `{"n":18446744073709551617,"f":1.50}`))
	agent.read()
	agent.write("Loading…", result(1, `{"b":1,"a":2}`))
	editor.read()
	editor.read()
	require.NoError(t, agent.out.Close())
	require.Error(t, wait())
	entries, err := acpproxy.ReadRecording(&out)
	require.NoError(t, err)
	require.Len(t, entries, 3)
	require.Equal(t, acpproxy.FromClient, entries[0].From)
	require.Equal(t, request(1, "m", `{"n":18446744073709551617,"f":1.50}`), string(entries[0].Message))
	require.Equal(t, "Loading…", entries[1].Text)
	require.Equal(t, result(1, `{"b":1,"a":2}`), string(entries[2].Message))
}

func TestSecretsAreNotRecorded(t *testing.T) {
	t.Setenv("SOME_API_KEY", `env"secret1`)
	for _, line := range []string{
		`{"params":{"mcpServers":[{"name":"a","command":"b","env":[{"name":"X","value":"secret1"}]},{"name":"w","headers":[{"name":"Authorization","value":"secret1"}]}]}}`,
		`{"params":{"mcpServers":[{"env":[{"value":"secret1","name":"X"}]}]}}`,
		`{"params":{"env":{"name":"secret1","X":"secret1"}}}`,
		`{"params":{"env":[["secret1"]],"headers":"secret1"}}`,
		`{"params":{"rawInput":{"apiKey":"secret1","api_key":["secret1"],"Authorization":"secret1","access-token":{"x":"secret1"}}}}`,
		`{"params":{"text":"the key is env\"secret1, right?"}}`,
		`{"params":{"text":"the key is env\u0022secr\u0065t1"}}`,
		`{"env\"secret1":1}`,
		`the key is env"secret1`,
		`{"text":"mine is of-mine-secret1"}`,
	} {
		text := recordedText(t, acpproxy.Config{Secrets: []string{"of-mine-secret1", "is"}}, line)
		require.NotContains(t, text, "secret1", line)
		require.Contains(t, text, "[secret]", line)
		require.NotContains(t, text, "th[secret]")
	}
	text := recordedText(t, acpproxy.Config{Secrets: []string{"of-mine", "of-mine-9f31"}}, `{"text":"of-mine-9f31 of-mine"}`)
	require.Contains(t, text, `{"text":"[secret] [secret]"}`, "one begins with the other")
	text = recordedText(t, acpproxy.Config{Secrets: []string{"of-mine"}}, `{"params":{"text":"if a<b && c>d of-mine"}}`)
	require.Contains(t, text, "if a<b && c>d [secret]")
	text = recordedText(t, acpproxy.Config{}, `{"params":{"env":[{"name":"PATH","value":"x"}],"inputTokens":12,"sessionId":"s"}}`)
	require.Contains(t, text, `{"params":{"env":[{"name":"PATH","value":"[secret]"}],"inputTokens":12,"sessionId":"s"}}`)
}

// full is a disk that is full after some bytes.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

func TestSessionGoesOnWithoutTheRecording(t *testing.T) {
	config := acpproxy.Config{Record: &full{200}}
	problem := problems(&config)
	editor, agent, _ := serve(t, config)
	for i := range 10 {
		editor.write(request(i, "m", "{}"))
		agent.expect(request(i, "m", "{}"))
	}
	require.Contains(t, problem(), "the recording has ended: no space left")
	require.Empty(t, problem())
}

func TestRecordingsAreRead(t *testing.T) {
	good := `{"ms":1,"from":"agent","message":{}}` + "\n"
	entries, err := acpproxy.ReadRecording(strings.NewReader(good + good + `{"ms":2,"fr`))
	require.NoError(t, err)
	require.Len(t, entries, 2, "a line that was cut off is left out")
	for line, want := range map[string]string{
		`{`: "line 2", `{"from":"me","message":{}}`: "not a message", `{"from":"agent"}`: "not a message", `{"from":"agent","message":{},"text":"x"}`: "not a message",
	} {
		_, err := acpproxy.ReadRecording(strings.NewReader(good + line + "\n"))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "line 2")
	}
}

// Whatever passes, the recording can be read, and has no secret in a variable or a string.
func FuzzRecording(f *testing.F) {
	f.Add(`{"params":{"env":[{"name":"X","value":"TOPSECRET"}]}}`)
	f.Add(`TOPSECRET [`)
	f.Add(`9e999`)
	f.Add(`{"TOPSECRET":["TOPSECRET"]}`)
	f.Fuzz(func(t *testing.T, line string) {
		line = strings.ReplaceAll(line, "\n", " ")
		if strings.TrimSpace(line) == "" {
			return
		}
		text := recordedText(t, acpproxy.Config{Secrets: []string{"TOPSECRET"}}, line)
		entries, err := acpproxy.ReadRecording(strings.NewReader(text))
		require.NoError(t, err)
		require.Len(t, entries, 1)
		var message any
		if entries[0].Message != nil {
			d := json.NewDecoder(bytes.NewReader(entries[0].Message))
			d.UseNumber() // 9e999 is a number, too
			require.NoError(t, d.Decode(&message))
		}
		require.NotContains(t, fmt.Sprint(message, entries[0].Text), "TOPSECRET")
	})
}
