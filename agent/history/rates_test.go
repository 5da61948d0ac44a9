// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
)

// sized is a message whose estimate is a number of tokens.
func sized(m *model.Message, tokens int) *model.Message {
	m.Parts[0].Text = fmt.Sprint(tokens)
	return m
}

func sizes(m *model.Message) (tokens int) {
	_, _ = fmt.Sscan(m.Parts[0].Text, &tokens)
	return tokens
}

// What a token of the estimate costs is what was reported for the messages between two responses: a
// quarter of a token at least, rounded up, and four at most.
func TestEstimatesAreWorthAQuarterToFourTokens(t *testing.T) {
	for _, c := range []struct{ estimated, reported, want int64 }{
		{10, 10, 1000}, {10, 20, 2000}, {10, 5, 500}, {10, 7, 700}, {10, 40, 4000}, {10, 41, 4000}, {10, 39, 3900}, {10, 1000, 4000},
		{8, 1, 250}, {8, 2, 250}, {8, 3, 375}, {9, 1, 333}, {9, 3, 333}, {9, 4, 444}, {10, 1, 300}, {11, 1, 272}, {12, 1, 250}, {13, 1, 307}, {13, 4, 307}, {13, 5, 384}, {3, 1, 333}, {1, 1, 1000}, {1, 5, 4000},
	} {
		const before = 100_000
		answer := func(size, in int64) *model.Message {
			return reported(sized(model.Response(model.Text("")), int(size)), in, 0)
		}
		ask := func(size int64) *model.Message { return sized(request(model.User("")), int(size)) }
		// The first turn has 1,000 tokens by the estimate. From its response to the next one there are c.estimated.
		in := []*model.Message{ask(1000 - c.estimated), answer(c.estimated, before), ask(0), answer(1, before+c.reported), ask(1)}
		p := history.TokenBudget[deps](history.Budget{Max: before, Target: before, Estimate: sizes})
		out := process(t, p, in)
		require.Len(t, out, 3, "%+v: the first turn goes", c)
		require.Equal(t, fmt.Sprint(before+c.reported-c.want), out[1].Metadata[history.MetaContext], "%+v", c)
	}
}

// A correction never falls below one token, whatever is taken out.
func TestCorrectionsAreOneTokenAtLeast(t *testing.T) {
	for _, c := range []struct {
		first int
		want  string
	}{{10, "90"}, {97, "3"}, {98, "2"}, {99, "1"}, {100, "1"}, {101, "1"}, {5000, "1"}} {
		in := []*model.Message{
			sized(request(model.User("")), c.first), sized(model.Response(model.Text("")), 0), sized(request(model.User("")), 0),
			reported(sized(model.Response(model.Text("")), 1), 100, 0), sized(request(model.User("")), 1),
		}
		p := history.TokenBudget[deps](history.Budget{Max: 101, Target: 101, Estimate: sizes})
		out := process(t, p, in)
		require.Len(t, out, 3)
		require.Equal(t, c.want, out[1].Metadata[history.MetaContext], "%+v", c)
	}
}
