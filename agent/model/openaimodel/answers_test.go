// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// The files in testdata/answers have answers of endpoints, each with everything that a caller is told of it:
//
//	== name of the case, after a colon: settings, such as "provider=groq status=400 X-Request-Id=r1"
//	an event in each line: "~{…}" is a delta of Chat Completions, "~reason" the end of a choice,
//	"@name data" a named event, "|text" is sent as it is, and so is everything if "whole" is set
//	-- what was told: deltas, then the message or the error
//
// With -update, what is told is written anew.
func TestEverythingThatIsToldOfAnswers(t *testing.T) {
	files, err := filepath.Glob("testdata/answers/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var told strings.Builder
			for _, sent := range answersIn(string(text)) {
				head, body, _ := strings.Cut(sent, "\n")
				fmt.Fprintf(&told, "== %s\n--\n%s\n", sent, tellAnswer(t, head, body))
			}
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(told.String()), 0o644))
				return
			}
			require.Equal(t, strings.ReplaceAll(string(text), "\r\n", "\n"), told.String(), "run the test with -update, and read what it writes")
		})
	}
}

// answersIn returns the answers in a file, without what is told of them.
func answersIn(text string) (answers []string) {
	for _, block := range strings.Split("\n"+strings.ReplaceAll(text, "\r\n", "\n"), "\n== ")[1:] {
		sent, _, _ := strings.Cut(block, "\n--")
		answers = append(answers, strings.TrimRight(sent, "\n"))
	}
	return answers
}

// madeUp is an id that the package makes up.
var madeUp = regexp.MustCompile(`call_[A-Z2-7]{26}`)

// answering returns a model whose endpoint gives an answer.
func answering(t *testing.T, head, body string) model.Model {
	_, list, _ := strings.Cut(head, ": ")
	settings := map[string]string{}
	for _, setting := range strings.Fields(list) {
		name, value, _ := strings.Cut(setting, "=")
		settings[name] = value
	}
	_, whole := settings["whole"]
	status, header := 200, []string{}
	for name, value := range settings {
		switch {
		case name == "status":
			_, err := fmt.Sscan(value, &status)
			require.NoError(t, err)
		case name[0] >= 'A' && name[0] <= 'Z':
			header = append(header, name, value)
		}
	}
	if !whole {
		body = eventsOf(body)
	}
	config := openaimodel.Config{
		Name: "test-model", BaseURL: "http://answers.test/" + settings["path"], Provider: settings["provider"], APIKey: testKey,
		Retry: model.RetryPolicy{Attempts: 1}, HTTPClient: transport(adaptertest.Failing(status, body, header...)).Client(),
	}
	if _, none := settings["nokey"]; none {
		config.APIKey = ""
	}
	var m model.Model
	var err error
	if _, other := settings["responses"]; other {
		m, err = openaimodel.NewResponses(config)
	} else {
		m, err = openaimodel.New(config)
	}
	require.NoError(t, err)
	return m
}

// tellAnswer returns what a caller is told of an answer.
func tellAnswer(t *testing.T, head, body string) string {
	m := answering(t, head, body)
	req := hello()
	req.Tools = []model.ToolDef{{Name: "weather"}, {Name: "time"}, {Name: "f"}, {Name: "g"}}
	var told strings.Builder
	msg, err := m.Generate(t.Context(), req, func(d model.Delta) error {
		told.WriteString("delta " + jsonOf(t, d) + "\n")
		return nil
	})
	if err != nil {
		require.Nil(t, msg)
		told.WriteString(tellError(t, err))
	} else {
		told.WriteString(tellMessage(t, msg))
	}
	for n := range strings.Count(told.String(), "delta ") {
		failed, calls := fmt.Errorf("sink"), 0
		msg, err := m.Generate(t.Context(), req, func(model.Delta) error {
			if calls++; calls == n+1 {
				return failed
			}
			return nil
		})
		require.Nil(t, msg, head)
		require.True(t, err == failed, "%s, call %d: %v", head, n+1, err) //nolint:errorlint // it must not be wrapped
		require.Equal(t, n+1, calls, "a sink that failed is not called again")
	}
	quiet, err := m.Generate(t.Context(), req, nil)
	if err == nil {
		require.Equal(t, madeUp.ReplaceAllString(tellMessage(t, msg), "call_MADEUP"), madeUp.ReplaceAllString(tellMessage(t, quiet), "call_MADEUP"), "without a sink, the message is the same")
	}
	return madeUp.ReplaceAllString(told.String(), "call_MADEUP")
}

func eventsOf(lines string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(lines, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "~{"):
			line = delta(line[1:])
		case strings.HasPrefix(line, "~"):
			line = finish(line[1:])
		case strings.HasPrefix(line, "|"):
			b.WriteString(line[1:] + "\n")
			continue
		case strings.HasPrefix(line, "@"):
			name, data, _ := strings.Cut(line[1:], " ")
			b.WriteString("event: " + name + "\n")
			line = data
		}
		b.WriteString("data: " + line + "\n\n")
	}
	return b.String()
}

func jsonOf(t testing.TB, v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(v))
	return strings.TrimSpace(b.String())
}

// tellMessage tells all of a message, with its bytes as text.
func tellMessage(t testing.TB, msg *model.Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "message %s %s %s %s %s usage %s\n", msg.Kind, msg.Provider, msg.Model, msg.ResponseID, msg.Finish, jsonOf(t, msg.Usage))
	for i := range msg.Parts {
		p := msg.Parts[i]
		data, signature, args := string(p.Data), string(p.Signature), string(p.Args)
		hasArgs := p.Args != nil
		p.Data, p.Signature, p.Args = nil, nil, nil
		fmt.Fprintf(&b, "  %s", jsonOf(t, p))
		if hasArgs {
			fmt.Fprintf(&b, " args %s", args)
		}
		if data != "" {
			fmt.Fprintf(&b, " data %q", data)
		}
		if signature != "" {
			fmt.Fprintf(&b, " signature %q", signature)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// tellError tells all of an error.
func tellError(t testing.TB, err error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "error %s\n", err)
	var e *model.APIError
	if errors.As(err, &e) {
		cause := ""
		if e.Err != nil {
			cause = e.Err.Error()
		}
		fmt.Fprintf(&b, "  %s %s status %d code %q type %q id %q retryable %t after %s cause %q\n  message %q\n",
			e.Provider, e.Model, e.Status, e.Code, e.Type, e.RequestID, e.Retryable, e.RetryAfter, cause, e.Message)
	}
	for _, is := range []error{model.ErrAuth, model.ErrRateLimited, model.ErrContextLength, model.ErrUnsupported} {
		if errors.Is(err, is) {
			fmt.Fprintf(&b, "  is %s\n", is)
		}
	}
	return b.String()
}
