// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
)

// controls are what a terminal obeys, and what turns the direction of text: clear the screen, set the title, write the clipboard.
const controls = "\x1b[2J\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x07\x9b31m\u009b31m\u202e\u2066\r\b\x00\x7f\u200b"

// controlled are answers that have controls wherever an error may quote them.
var controlled = map[string]roundTrip{
	"message": evil(400, `{"error":{"message":"a %s b","type":"t %s","code":"c %s","status":"s %s"}}`),
	"stream":  evil(200, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error %s\",\"message\":\"x %s\"}}\n\n"),
	"html":    evil(502, "<html><title>down %s</title></html>"),
	"text":    evil(500, "%s"),
	"broken":  evil(200, `{"id": %s`),
	"foreign": evil(200, `{"error":"%s"}`),
	"moved":   evil(302, ""),
	"dial": func(*http.Request) (*http.Response, error) {
		return nil, errors.New("connection refused by " + controls)
	},
}

// evil answers with a body in which %s stands for controls, escaped for JSON and raw.
func evil(code int, body string) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		text := strings.ReplaceAll(body, "%s", controls)
		if strings.HasPrefix(body, "{") || strings.HasPrefix(body, "event") {
			var b strings.Builder
			for _, c := range strings.ToValidUTF8(controls, "") {
				fmt.Fprintf(&b, "\\u%04x", c)
			}
			text = strings.ReplaceAll(body, "%s", b.String())
		}
		header := http.Header{"X-Request-Id": {controls}, "Location": {"https://h.test/" + controls}}
		return &http.Response{StatusCode: code, Status: fmt.Sprint(code), Request: r, Header: header, Body: io.NopCloser(strings.NewReader(text))}, nil
	}
}

func controlsIn(text string) []rune {
	var found []rune
	for _, r := range text {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			found = append(found, r)
		}
	}
	return found
}

func TestErrorsOfProvidersControlNoTerminal(t *testing.T) {
	var fault roundTrip
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) { return fault(r) })}
	for name, m := range opened(t, client) {
		for what, f := range controlled {
			fault = f
			for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
				_, err := m.Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("hi")}}, sink)
				require.Error(t, err, "%s: %s", name, what)
				require.Empty(t, controlsIn(err.Error()), "%s: %s: %q", name, what, err.Error())
			}
			a, err := agent.New(agent.Config[struct{}, string]{Model: m})
			require.NoError(t, err)
			_, err = a.Run(t.Context(), struct{}{}, "hi")
			require.Error(t, err)
			require.Empty(t, controlsIn(err.Error()), "%s: %s: %q", name, what, err.Error())
		}
	}
}
