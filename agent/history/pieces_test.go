// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
)

// A request has four bytes for each token of the threshold, or of three quarters of the model's window.
// A conversation that is longer is summarised in pieces of half of that, and shortened to eight of them.
// The message that follows has a quarter of a request, and the summary has a quarter of the threshold.
func TestLongConversationsAreSummarisedInPieces(t *testing.T) {
	for _, c := range []struct {
		threshold, window, bytes, messages int
		want                               string // bytes of the pieces, and of the message behind them
	}{
		{1000, 0, 3000, 1, "3023, before 509"},
		{1000, 0, 3977, 1, "4000, before 509"},
		{1000, 0, 3978, 1, "2001 1986 16, before 509"},
		{1000, 0, 8000, 1, "2001 2001 2001 2001 23, before 509"},
		{1000, 0, 15977, 1, "2001 2001 2001 2001 2001 2001 2001 2000, before 509"},
		{1000, 0, 15978, 1, "2001 2001 1350 2001 673, before 509"},
		{1000, 0, 40000, 1, "2001 2001 1351 2001 673, before 509"},
		{1000, 0, 991, 1, "1014, before 1000"},
		{1000, 0, 992, 1, "1015, before 509"},
		{1000, 1, 3000, 1, "513 513 513 513 513 463, before 265"},
		{1000, 400, 3000, 1, "601 601 601 601 601 23, before 265"},
		{1000, 800, 3000, 1, "1201 1201 623, before 309"},
		{1000, 1000, 2977, 1, "3000, before 384"},
		{1000, 1332, 3977, 1, "1999 1987 16, before 508"},
		{1000, 1333, 3977, 1, "4000, before 509"},
		{1000, 5000, 3977, 1, "4000, before 509"},
		{4000, 0, 1000, 30, "7160 7162 7162 7162 2048, before 1009"},
		{1000, 0, 300, 20, "1937 1939 1939 648, before 309"},
	} {
		require.Equal(t, fmt.Sprintf("%s, summary of %d, in at most %d words", c.want, c.threshold-99, c.threshold/8), asked(t, c.threshold, c.window, c.bytes, c.messages), "%+v", c)
	}
}

// asked returns what the requests for a summary have, and how long the summary is that comes of them.
func asked(t *testing.T, threshold, window, bytes, messages int) string {
	t.Helper()
	var pieces []string
	words := ""
	m := model.Func(model.Info{ContextWindow: window}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		_, rest, _ := strings.Cut(req.Messages[0].Parts[0].Text, "<conversation>\n")
		said, rest, _ := strings.Cut(rest, "</conversation>\n\n")
		piece := fmt.Sprint(len(said))
		if _, message, ok := strings.Cut(rest, "<message>\n"); ok {
			message, rest, _ = strings.Cut(message, "</message>\n\n")
			piece += fmt.Sprint(", before ", len(message))
		}
		pieces, words = append(pieces, piece), strings.TrimSuffix(strings.TrimPrefix(rest, "Write the summary now, "), ".")
		return model.Response(model.Text(strings.Repeat("s", 5*threshold))), nil
	})
	var in []*model.Message
	for range messages {
		in = append(in, model.UserText(strings.Repeat("x", bytes)), model.Response(model.Text("")))
	}
	in = append(in, request(model.User(strings.Repeat("y", bytes))))
	_, done, err := history.Compact(t.Context(), history.Summary{Model: m, Threshold: threshold}, in, "", nil)
	require.NoError(t, err)
	return fmt.Sprintf("%s, summary of %d, %s", strings.Join(pieces, " "), len(done.Text), words)
}

// Characters stay whole. What is no text is split all the same.
func TestPiecesAreWholeCharacters(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("€", 7):          "€€\n|€€\n|€€\n|€",
		strings.Repeat("\xb1", 10):      "\xb1\xb1\xb1\xb1\n|\xb1\xb1\xb1\xb1\xb1\xb1",
		"a b " + strings.Repeat("€", 2): "a b €\n|€",
	} {
		require.Equal(t, want, strings.Join(history.Pieces(text, 8), "|"), "%q", text)
	}
}
