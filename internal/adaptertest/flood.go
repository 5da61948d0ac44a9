// SPDX-License-Identifier: Apache-2.0

package adaptertest

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// floods are what an endpoint could send for ever without an event. Most lines are long, which
// keeps the tests fast.
var floods = map[string]string{
	"comments":            ": " + long + "\n\n",
	"comments in a block": ": " + long + "\n",
	"empty lines":         "\n",
	"fields":              "id: " + long + "\nretry: 5\n",
	"names":               "event: " + long + "\n\n",
	"empty data":          "data:\n\n",
	"data without end":    "data: " + long + "\n",
	"a line without end":  "data: " + long,
	"white space":         " ",
}

var long = strings.Repeat("x", 500)

// CheckFloods checks that a model ends every flood with a single error that names the flood,
// whether it comes at once or after the beginning of a response. newModel returns a model that may
// retry.
func CheckFloods(t *testing.T, newModel func(f Transport) model.Model, begin string) {
	for name, piece := range floods {
		for _, begin := range []string{"", begin} {
			if begin != "" && name != "comments" && name != "data without end" {
				continue
			}
			var read atomic.Int64
			requests := 0
			m := newModel(func(r *http.Request) (*http.Response, error) {
				requests++
				flood := &endless{piece: strings.Repeat(piece, 1000), read: &read}
				return Respond(r, 200, io.NopCloser(io.MultiReader(strings.NewReader(begin), flood))), nil
			})
			_, err := m.Generate(t.Context(), Hello(), func(model.Delta) error { return nil })
			require.Error(t, err, name)
			require.Regexp(t, `more than \d+ MiB without a complete event`, err.Error(), name)
			require.Equal(t, 1, requests, name)
			require.Less(t, read.Load(), int64(100<<20), name)
		}
	}
}

// endless repeats a piece and counts the bytes.
type endless struct {
	piece string
	at    int
	read  *atomic.Int64
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.piece[e.at:])
	e.at = (e.at + n) % len(e.piece)
	e.read.Add(int64(n))
	return n, nil
}
