// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/replay"
)

// numbers are marks with their numbers.
var numbers = regexp.MustCompile(`‹secret \d+: ([a-z]+)›`)

// cleaned returns the arguments of a call after secrets were replaced, and what was replaced.
// Another part of the message has what is known.
func cleaned(t *testing.T, args string, known ...string) (text, note string) {
	t.Helper()
	r := &replay.Recording{Session: "s", Messages: []*model.Message{{
		Kind: model.KindResponse, Parts: []model.Part{model.Text("It is " + strings.Join(known, "")), {Kind: model.PartToolCall, CallID: "1", Tool: "t", Args: model.RawArgs(args)}},
	}}}
	require.NoError(t, r.Clean(known...))
	return numbers.ReplaceAllString(string(r.Messages[0].Parts[1].Args), "‹secret: $1›"), strings.Join(r.Notes, "\n")
}

// A member whose name says that it is a password is one with its blanks and quotes, however deep it
// is, if it has six bytes.
func TestPasswordsAreFoundByTheirNames(t *testing.T) {
	const note = "Left out: what looks like secrets (password: 1). Marks stand in their place, and match any text."
	for args, want := range map[string]string{
		`{"password":"a b c!"}`:                                         `{"password":"‹secret: password›"}`,
		`{"password":"a b c"}`:                                          `{"password":"a b c"}`,
		`[[{"in":{"User-Passwd":"it is 'so'"}}]]`:                       `[[{"in":{"User-Passwd":"‹secret: password›"}}]]`,
		`{"a":[1,null,{"b":[{"PassPhrase":"one two"}]}],"c":"one two"}`: `{"a":[1,null,{"b":[{"PassPhrase":"‹secret: password›"}]}],"c":"‹secret: password›"}`,
		`{"pwd":["one two"]}`:                                           `{"pwd":["one two"]}`,
		`{"passwords":"one two"}`:                                       `{"passwords":"one two"}`,
		`{"x":{"pwd":"one two","pass":"two one"}}`:                      `{"x":{"pwd":"‹secret: password›","pass":"two one"}}`,
	} {
		text, said := cleaned(t, args)
		require.JSONEq(t, want, text, args)
		require.Equal(t, map[bool]string{true: note, false: ""}[strings.Contains(want, "secret")], said, args)
	}
}

// A secret that is known counts from six bytes on, and of one with several lines, such as a key,
// each line from twenty bytes on, but not the lines around it.
func TestKnownSecretsHaveALength(t *testing.T) {
	line, short := strings.Repeat("k", 20), strings.Repeat("s", 19)
	key := "-----BEGIN A KEY-----\n" + line + "\n" + short + "\n-----END A KEY-----\n"
	for _, c := range []struct {
		args, known, want string
	}{
		{`{"a":"123456"}`, "123456", `{"a":"‹secret: known›"}`},
		{`{"a":"12345"}`, "12345", `{"a":"12345"}`},
		{`{"a":"` + line + `"}`, key, `{"a":"‹secret: known›"}`},
		{`{"a":"` + short + `"}`, key, `{"a":"` + short + `"}`},
		{`{"a":"-----BEGIN A KEY-----"}`, key, `{"a":"-----BEGIN A KEY-----"}`},
	} {
		text, _ := cleaned(t, c.args, c.known)
		require.JSONEq(t, c.want, text, c.args)
	}
}
