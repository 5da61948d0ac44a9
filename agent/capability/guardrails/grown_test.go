// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// inPieces is a model that says a text in pieces of some bytes.
func inPieces(text string, size int) model.Model {
	return model.Func(model.Info{Name: "m"}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		for i := 0; i < len(text); i += size {
			if err := sink(model.Delta{Kind: model.PartText, Text: text[i:min(len(text), i+size)]}); err != nil {
				return nil, err
			}
		}
		return model.Response(model.Text(text)), nil
	})
}

// shownOf runs an agent with a guard, and returns the pieces of text that it shows.
func shownOf(t *testing.T, m model.Model, g guard) (shown []string) {
	t.Helper()
	s := newAgent(t, m, g).Stream(t.Context(), none{}, "go")
	for e := range s.Events() {
		if e.Kind == agent.EventPartDelta {
			shown = append(shown, e.Text)
		}
	}
	_, err := s.Result()
	require.NoError(t, err)
	return shown
}

// A growing text is checked each time it has grown by 64 bytes or, from 512 bytes on, by an eighth of what was seen, and in the end.
func TestGrowingTextIsCheckedEachTimeItHasGrownEnough(t *testing.T) {
	var seen []int
	watch := guard{Name: "g", On: output, Stream: 10, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
		if n := len(s.Text); s.Partial {
			seen = append(seen, n)
		} else {
			seen = append(seen, -n)
		}
		return guardrails.Pass(), nil
	}}
	shown := shownOf(t, inPieces(strings.Repeat("word ", 300), 1), watch)
	require.Equal(t, []int{64, 128, 192, 256, 320, 384, 448, 512, 576, 648, 729, 820, 922, 1037, 1166, 1311, 1474, -1500}, seen)
	var sizes []int
	for _, text := range shown {
		sizes = append(sizes, len(text))
	}
	require.Equal(t, []int{54, 64, 64, 64, 64, 64, 64, 64, 64, 72, 81, 91, 102, 115, 129, 145, 163, 36}, sizes)

	seen = nil
	shownOf(t, inPieces(strings.Repeat("word ", 300), 100), watch)
	require.Equal(t, []int{100, 200, 300, 400, 500, 600, 700, 800, 900, 1100, 1300, 1500, -1500}, seen)
}

// What is held back ends between two characters, wherever that is.
func TestTextIsHeldBackBetweenCharacters(t *testing.T) {
	for _, text := range []string{"é" + strings.Repeat("x", 62), "€" + strings.Repeat("x", 61), "😀" + strings.Repeat("x", 60), strings.Repeat("€", 30), strings.Repeat("😀", 40), "x" + strings.Repeat("é", 80)} {
		for stream := 50; stream < 70; stream++ {
			shown := shownOf(t, inPieces(text, 64), guard{Name: "g", On: output, Stream: stream, Check: always(guardrails.Pass())})
			require.Equal(t, text, strings.Join(shown, ""))
			for _, piece := range shown {
				require.True(t, utf8.ValidString(piece), "%d of %s: %q", stream, text, shown)
				require.NotEmpty(t, piece)
			}
			first := min(64, len(text)) - stream
			for first > 0 && first < len(text) && !utf8.RuneStart(text[first]) {
				first--
			}
			if first > 0 && utf8.ValidString(text[:min(64, len(text))]) {
				require.Equal(t, text[:first], shown[0], "%d of %s", stream, text)
			}
		}
	}
}
