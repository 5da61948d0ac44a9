// SPDX-License-Identifier: Apache-2.0

package adaptertest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// ContextLength checks that a model tells a conversation that is too long from other limits. It sends the answers of the
// providers whose names begin with one of the prefixes, with their status, and in each of the forms, which may be streams.
// Valid JSON only is sent in a form.
func ContextLength(t *testing.T, open func(t testing.TB, url string) model.Model, prefixes []string, forms map[string]func(body string) string) {
	check := func(a *ErrorAnswer, way string, sent Answer, tooLong bool) {
		t.Run(a.Provider+", "+way, func(t *testing.T) {
			m := open(t, Serve(t, sent).URL)
			_, err := m.Generate(context.Background(), &model.Request{Messages: []*model.Message{model.UserText("hello")}}, func(model.Delta) error { return nil })
			var e *model.APIError
			require.ErrorAs(t, err, &e)
			require.Equal(t, tooLong, errors.Is(e, model.ErrContextLength), "%v", e)
			require.False(t, tooLong && e.Retryable)
		})
	}
	each := func(answers []ErrorAnswer, tooLong bool) {
		for i := range answers {
			a := &answers[i]
			if !hasPrefix(a.Provider, prefixes) {
				continue
			}
			if a.Status != 200 {
				check(a, "status", Answer{Status: a.Status, Body: a.Body}, tooLong)
			}
			for way, form := range forms {
				if json.Valid([]byte(a.Body)) && a.Status != 401 {
					check(a, way, Answer{Body: form(a.Body)}, tooLong)
				}
			}
		}
	}
	each(TooLong, true)
	each(NotTooLong, false)
}

func hasPrefix(name string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
