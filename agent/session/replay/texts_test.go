// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/replay"
	"github.com/ponte-go/ponte/toolset"
)

// TestMarksCoverWhatIsNotCompared has instructions of a recording and of an agent, which are the
// same or not.
func TestMarksCoverWhatIsNotCompared(t *testing.T) {
	const secret = "‹secret 1: password›"
	r := shopRecording(t, replay.PlayOptions{})
	differs := func(recorded, now string) error {
		for i := range r.Frames {
			r.Frames[i].Instructions = recorded
		}
		s := newShop()
		s.instructions = now
		return replay.Play(t.Context(), r, 0, s.agent(), none{}, replay.PlayOptions{Ignore: []replay.Aspect{replay.Tools, replay.Settings}})
	}
	for _, c := range []struct {
		recorded, now string
		same          bool
	}{
		{"a", "a", true}, {"a", "b", false},
		{"a‹any›b", "axb", true}, {"a‹any›b", "axyzb", true}, {"a‹any›b", "ab", false}, {"a‹any›b", "a\nb", false}, {"a‹any›b", "ax\nyb", false},
		{"a‹any›b", "axbb", true}, {"a‹any›b", "xxb", false}, {"a‹any›b", "axc", false}, {"a‹any›", "ax", true}, {"a‹any›", "a", false}, {"a‹any›", "ax\n", false},
		{"‹any›b", "xb", true}, {"‹any›b", "b", false}, {"‹any›", "x", true}, {"‹any›‹any›", "xy", true}, {"‹any›‹any›", "x", false},
		{"‹any›-‹any›", "a-b", true}, {"‹any›-‹any›", "a-", false}, {"‹any›-‹any›", "-b", false}, {"‹any›-‹any›", "--b", true}, {"‹any›-‹any›-c", "a-b-c", true},
		{"‹any›-‹any›-c", "a-b-d", false}, {"‹any›\n‹any›", "a\nb", true}, {"‹any›\n‹any›", "a\nb\nc", false}, {"‹any›\nb", "a\n\nb", false},
		{"a" + secret + "b", "ax\nyb", true}, {"a" + secret + "b", "ab", false}, {"a" + secret + "b", "axc", false}, {"a" + secret + "-" + secret, "a1\n2-3\n4", true},
		{secret + "‹any›", "x\ny", false}, {"‹any" + "b", "‹any" + "b", true}, {"‹any b›", "x", false}, {"‹secret x: y›", "z", false}, {"‹secret 12: a-9›", "z", true},
	} {
		err := differs(c.recorded, c.now)
		require.Equal(t, c.same, err == nil, "%q %q: %v", c.recorded, c.now, err)
		var d *replay.Difference
		if err != nil {
			require.ErrorAs(t, err, &d)
			require.Equal(t, []any{1, 1, "the instructions", c.recorded, c.now}, []any{d.Turn, d.Step, d.What, d.Recorded, d.Now})
		}
	}
}

func TestDifferencesAreShownWhereTheyAre(t *testing.T) {
	x := strings.Repeat
	for _, c := range []struct{ recorded, now, want string }{
		{"abc", "abd", "\n-abc\n+abd\n"},
		{"abc", "ab", "\n-abc\n+ab\n"},
		{"", "a", "\n-\n+a\n"},
		{x("ö", 60) + "a", x("ö", 60) + "b", "\n-" + x("ö", 60) + "a\n+" + x("ö", 60) + "b\n"},
		{x("ö", 61) + "a", x("ö", 61) + "b", "\n-…" + x("ö", 60) + "a\n+…" + x("ö", 60) + "b\n"},
		{"a" + x("ö", 199), "b" + x("ö", 200), "\n-a" + x("ö", 199) + "\n+b" + x("ö", 199) + "…\n"},
		{"a\x1b[1m", "b", "\n-a\ufffd[1m\n+b\n"},
		{"a\nb", "a\nc", "\n--- a/recorded\n+++ b/now\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"},
		{"a", "a\nc", "\n--- a/recorded\n+++ b/now\n@@ -1 +1,2 @@\n a\n+c\n"},
	} {
		d := &replay.Difference{Turn: 2, Step: 3, What: "the \x1btext", Recorded: c.recorded, Now: c.now}
		require.Equal(t, "replay: turn 2, step 3: the \ufffdtext"+c.want, d.Error())
	}
}

// TestTestsAreWritten compares whole tests, and names that are made of titles.
func TestTestsAreWritten(t *testing.T) {
	long := strings.Repeat("word ", 40)
	r := &replay.Recording{
		Session: "s-1", Title: "Über all: 7 Things, that ‹any› go wrong here today", Notes: []string{"Left out: \x1b[1m.", long},
		Messages: []*model.Message{
			model.UserText("a"), model.Response(model.Text("x\n y"), model.ToolCall("1", "find", `{"a":1}`), model.Thinking("no")), model.UserText("not told"),
		},
		Turns: []replay.Turn{
			{Prompt: []model.Part{model.User(strings.Repeat("ä", 80)), model.Media("image/png", nil), model.User(strings.Repeat("ä", 81))}, Messages: []int{0, 1, 2}, Reason: "done"},
			{Reason: "pending"},
		},
	}
	var b strings.Builder
	require.NoError(t, r.WriteTest(&b, replay.Source{}))
	fmt.Fprintln(&b, "=====")
	require.NoError(t, r.WriteTest(&b, replay.Source{Package: "shop", Name: "TestIt", File: "x.json", Setup: "make(1)"}))
	fmt.Fprintln(&b, "=====")
	r.Title = "‹any› ü"
	require.NoError(t, r.WriteTest(&b, replay.Source{}))
	sameAsFile(t, "tests.txt", b.String())

	for want, s := range map[string]replay.Source{
		`replay: package "a b" and test "TestSessionS1" must be identifiers, and the test must begin with Test`: {Package: "a b"},
		`replay: package "main_test" and test "It" must be identifiers, and the test must begin with Test`:      {Name: "It"},
		`replay: package "main_test" and test "Test-1" must be identifiers, and the test must begin with Test`:  {Name: "Test-1"},
	} {
		require.EqualError(t, r.WriteTest(&b, s), want)
	}
	require.ErrorContains(t, r.WriteTest(&b, replay.Source{Setup: "a b"}), `replay: Setup "a b" is not an expression`)
	broken := errors.New("no space")
	require.ErrorIs(t, r.WriteTest(brokenWriter{broken}, replay.Source{}), broken)
	r.Turns = slices.Clone(r.Turns)
	require.EqualError(t, replay.Play(t.Context(), r, 2, newShop().agent(), none{}, replay.PlayOptions{}), "replay: there is no turn 2: the recording has 2")
	require.EqualError(t, replay.Play(t.Context(), r, -1, newShop().agent(), none{}, replay.PlayOptions{}), "replay: there is no turn -1: the recording has 2")
	r.Turns[0].Before = []int{0}
	require.ErrorContains(t, r.WriteCases(&b), "replay: session s-1 has no turn that can be a case")
	r.Turns[0].Before, r.Notes = nil, []string{"one", "two", "three\nlines"}
	b.Reset()
	require.NoError(t, r.WriteCases(&b))
	require.True(t, strings.HasPrefix(b.String(), "# three lines\nname: \"‹any› ü\"\ncases:\n- name: \"‹any› ü, turn 1\"\n  inputs: \""), b.String())
	require.Contains(t, b.String(), "# Turn 2 is left out: it ended pending.\n")
	require.ErrorIs(t, r.WriteCases(brokenWriter{broken}), broken)
}

// brokenWriter fails.
type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// TestSecretsAreReplacedWhereverTextsStand has a secret in each place of a recording that users,
// models and tools can write to, and looks for it in the file.
func TestSecretsAreReplacedWhereverTextsStand(t *testing.T) {
	const secret = "hunter-22-hunter"
	text := func(at string) string { return at + " " + secret }
	js := func(at string) json.RawMessage { return json.RawMessage(`{"` + at + `":["` + secret + `"]}`) }
	decision := func(at string) *model.Decision {
		return &model.Decision{Args: js(at + "1"), Meta: js(at + "2"), Reason: text(at + "3"), By: text(at + "4")}
	}
	approval := func(at string) *model.Approval {
		return &model.Approval{
			Title: text(at + "1"), Reason: text(at + "2"), Scope: text(at + "3"), Source: text(at + "4"), ScopeTitle: text(at + "5"), Basis: text(at + "6"),
			Covers: []string{text(at + "7")}, Parts: []string{text(at + "8")}, Wider: []model.WiderScope{{Scope: text(at + "9"), Title: text(at + "10")}},
			Preview: []model.Preview{{Text: text("gone")}}, Effects: []model.Effect{{Path: text("gone")}}, Meta: js(at + "11"),
		}
	}
	parts := func(at string) []model.Part {
		return []model.Part{{
			Kind: model.PartToolReturn, Text: text(at + "1"), Args: model.RawArgs(js(at + "2")), Meta: js(at + "3"), URL: text(at + "4"), Name: text(at + "5"),
			Data: []byte(text(at + "6")), Decision: decision(at + "7-"),
		}, {Kind: model.PartToolCall, Args: model.RawArgs("{ no JSON " + secret)}}
	}
	m := &model.Message{
		Kind: model.KindRequest, Parts: parts("p"), Kept: parts("k"), Instructions: text("i"), Metadata: map[string]string{"m": text("m")},
		PendingCalls: []model.PendingCall{{ID: "1", Tool: "t", Args: js("pa"), Meta: js("pm"), Invalid: text("pi"), Approval: approval("pp"), Decision: decision("pd")}},
		SuspendedCalls: []model.SuspendedCall{{
			ID: "2", Tool: "t", Args: js("sa"), State: js("ss"), Approval: approval("sp"), Decision: decision("sd"), Told: []*model.Message{model.UserText(text("st"))},
		}},
		HandOver: &model.HandOver{Agent: "a", Args: js("ha"), State: js("hs"), Earlier: []json.RawMessage{js("he")}},
	}
	told := m.SuspendedCalls[0].Told[0]
	r := &replay.Recording{
		Session: "s", Title: text("title"), Messages: []*model.Message{m}, Files: []replay.File{{Path: "/a", Text: text("ft")}, {Path: "/b", Data: []byte(text("fd"))}},
		Frames: []replay.Frame{{
			Instructions: text("fi"), Tools: []model.ToolDef{{Name: "t", Description: text("td"), Schema: js("ts")}},
			Output: &model.OutputSchema{Name: "o", Description: text("od"), Schema: js("os")}, Settings: js("fs"),
		}},
		Turns: []replay.Turn{{
			Prompt: parts("tp"), Summaries: []string{text("tsum")}, Decisions: []replay.Decided{{Decision: *decision("tdec")}},
			Answers: toolset.DeferredResults{
				Decisions: map[string]toolset.Decision{"1": toolset.Decision(*decision("ad"))},
				Results:   map[string]toolset.Result{"1": {Text: text("ar"), Content: parts("ac"), Meta: js("am")}},
			},
			Checked: &replay.Checked{Output: js("co"), End: text("ce")},
		}},
	}
	plain, err := json.Marshal(r)
	require.NoError(t, err)
	before := strings.Count(string(plain), secret)
	require.NoError(t, r.Clean(secret, "short", "absent-from-all"))
	clean, err := json.Marshal(r)
	require.NoError(t, err)
	require.NotContains(t, string(clean), secret)
	require.NotContains(t, string(clean), base64.StdEncoding.EncodeToString([]byte(secret))[:12])
	require.NotContains(t, string(clean), "gone", "the tool makes previews again")
	require.Greater(t, before, 80)
	require.Equal(t, before-4, strings.Count(string(clean), "‹secret 1: known›"), "each, but for previews and effects")
	require.Equal(t, []string{"Left out: what looks like secrets (known: 1). Marks stand in their place, and match any text."}, r.Notes)
	require.Contains(t, told.Parts[0].Text, secret, "messages of the session are not changed")
	require.NoError(t, r.Clean(secret))
	require.Len(t, r.Notes, 1, "nothing is left to be found")
}
