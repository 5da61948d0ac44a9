// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

// anyJSON accepts every document. It is never asked about anything else.
func anyJSON(doc []byte) bool {
	if !json.Valid(doc) {
		panic("not JSON: " + string(doc))
	}
	return true
}

func repair(text string) string {
	fixed, ok := schema.Repair([]byte(text), true, anyJSON)
	if !ok {
		return "refused"
	}
	return string(fixed)
}

func TestRepairFixesUnambiguousJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1,}`:                           `{"a":1}`,
		`{"a":[1,2,],"b":{"c":"d" , } }`:     `{"a":[1,2],"b":{"c":"d"  } }`,
		"```json\n{\"a\":1}\n```":            `{"a":1}`,
		"```\n{\"a\":1}\n```\n":              `{"a":1}`,
		" ```json {\"a\":1}":                 `{"a":1}`,
		"```json\n{\"a\":[1,]}\n```":         `{"a":[1]}`,
		`{"a":"b"`:                           `{"a":"b"}`,
		`{"a":"b","c":true`:                  `{"a":"b","c":true}`,
		`{"a":["b","c"`:                      `{"a":["b","c"]}`,
		`{"a":{"b":{"c":"d"}`:                `{"a":{"b":{"c":"d"}}}`,
		`{"a":{"b":null`:                     `{"a":{"b":null}}`,
		"{\n  \"a\": 12\n":                   "{\n  \"a\": 12}",
		"```json\n{\"a\": 12\n```":           `{"a": 12}`,
		`{"a":"} ] , \" \\"`:                 `{"a":"} ] , \" \\"}`,
		`{"a":[["b"],["c"]`:                  `{"a":[["b"],["c"]]}`,
		`[[["a"`:                             `[[["a"]]]`,
		`{"a":[]`:                            `{"a":[]}`,
		`{"a":{}`:                            `{"a":{}}`,
		strings.Repeat("[", 8) + `"a"`:       strings.Repeat("[", 8) + `"a"` + strings.Repeat("]", 8),
		`{"text":"a, b, ","list":["x, ]",]}`: `{"text":"a, b, ","list":["x, ]"]}`,
	} {
		require.Equal(t, want, repair(text), "%s", text)
		require.Equal(t, want, string(schema.Repaired([]byte(text))), "%s", text)
	}
}

func TestRepairRefusesUnreadableJSON(t *testing.T) {
	for name, text := range map[string]string{
		"valid":                    `{"a":1}`,
		"valid with space":         " [ ] \n",
		"nothing":                  ``,
		"blank":                    "  \n",
		"only a fence":             "```json\n```",
		"a word":                   `yes`,
		"two documents":            `{"a":1}{"b":2}`,
		"a comma behind the end":   `{"a":1},`,
		"a bracket too many":       `{"a":1}}`,
		"the wrong bracket":        `{"a":[1}`,
		"a missing bracket inside": `{"a":[1,"b":2}`,
		"two commas":               `[1,,]`,
		"a comma alone":            `[,]`,
		"a comma first":            `[,1]`,
		"a comma after a colon":    `{"a":,}`,
		"a missing comma":          `[1 2]`,
		"a missing colon":          `{"a" 1}`,
		"a missing value":          `{"a":}`,
		"a number for a name":      `{1:2,}`,
		"a comma for a colon":      `{"a",1,}`,
		"no quotes":                `{a:1}`,
		"single quotes":            `{'a':1}`,
		"a comment":                `{"a":1} // one`,
		"prose":                    `Here it is: {"a":1}`,
		"NaN":                      `{"a":NaN,}`,
		"a plus":                   `{"a":+1,}`,
		"a leading zero":           `{"a":01,}`,
		"a bad escape":             `{"a":"\x",}`,
		"a line break in a text":   "{\"a\":\"b\nc\",}",
		"cut in a name":            `{"a":1,"b`,
		"cut behind a name":        `{"a":1,"b"`,
		"cut behind a colon":       `{"a":1,"b":`,
		"cut in a text":            `{"a":"b`,
		"cut in an escape":         `{"a":"b\`,
		"cut in a number":          `{"a":12`,
		"cut in a fraction":        `{"a":1.`,
		"cut in a literal":         `{"a":tru`,
		"cut behind a comma":       `{"a":"b",`,
		"cut behind a comma in []": `{"a":["b",`,
		"cut behind an opener":     `{"a":{`,
		"cut behind [":             `{"a":[`,
		"only an opener":           `{`,
		"comma and bracket":        `{"a":{"b":"c",}`,
		"too much missing":         strings.Repeat("[", 9) + `"a"`,
		"a zero byte":              "{\"a\":1,}\x00",
	} {
		require.Equal(t, "refused", repair(text), "%s: %s", name, text)
		require.Nil(t, schema.Repaired([]byte(text)), "%s: %s", name, text)
	}
}

func TestRepairRefusesTwoReadings(t *testing.T) {
	for _, text := range []string{
		`{"a":{"b":"x","c":"y"}`,            // "c" in "a", or beside it
		`{"a":{"b":"x","c":"y"`,             // the same, with two brackets missing
		`[["a","b"]`,                        // ["a"],"b" or ["a","b"]
		`{"a":[{"b":"x","c":"y"}`,           // the last bracket is the item's, or the root's
		`{"a":{"b":{"c":"x"},"d":"y"}`,      // "d" in "a", or beside it
		`{"a":{"b":["x","y"],"c":[],"d":{}`, // "c" and "d" in "a", or beside it
	} {
		require.Equal(t, "refused", repair(text), "%s", text)
	}
}

func TestRepairTriesABoundedNumberOfReadings(t *testing.T) {
	members := func(n int) string { return `{"k":"v"` + strings.Repeat(`,"k":"v"`, n) }
	asked := 0
	first := func(doc []byte) bool { // as a schema may that fits one reading only
		asked++
		return anyJSON(doc) && asked == 1
	}
	for n, want := range map[int]bool{32: true, 33: false, 5000: false} {
		asked = 0
		_, ok := schema.Repair([]byte(`{"a":`+members(n)+`}`), true, first)
		require.Equal(t, want, ok, "%d readings", n)
		require.LessOrEqual(t, asked, 33)
	}
	// Each of these readings fails at the end of the text, and looking for it there would take quadratic time.
	for n, want := range map[int]bool{20: true, 5000: false} {
		asked = 0
		_, ok := schema.Repair([]byte(`[{"a":`+members(n)+`},"z":"y"}`), true, first)
		require.Equal(t, want, ok, "%d readings", n)
		require.Equal(t, 1, asked)
	}
}

// The search for other readings takes up to 64 steps for each token of the text, and 1000 more. A text that needs one
// step more is not repaired.
func TestRepairSearchesForABoundedTime(t *testing.T) {
	for _, test := range []struct {
		name, begin, member string
		members             int
		end                 string
		repaired            bool
	}{
		{"all its steps", `[[1,{"a":{"k":"v"`, `,"k":"v"`, 51, `},"z":"y"},"x","x","x",["a"]`, true},
		{"one step more", `[1,[],[],{"a":{"k":"v"`, `,"k":"v"`, 132, `},"z":"y"}`, false},
		{"one step more, in another text", `[{"a":{"k":"v"`, `,"k":"v"`, 119, `,"k":[],"k":[],"k":[1],"k":[1],"k":[1],"k":[1],"k":[1],"k":[1]},"z":"y"}`, false},
	} {
		text := []byte(test.begin + strings.Repeat(test.member, test.members) + test.end)
		asked := 0
		_, ok := schema.Repair(text, true, func(doc []byte) bool {
			asked++
			return asked == 1
		})
		require.Equal(t, test.repaired, ok, test.name)
	}
}

func TestRepairIsDecidedByTheSchema(t *testing.T) {
	type edit struct {
		Path string `json:"path"`
		Text string `json:"text,omitempty"`
	}
	type strict struct {
		Edit edit `json:"edit"`
	}
	type loose struct {
		Edit edit   `json:"edit"`
		Text string `json:"text,omitempty"`
	}
	type outside struct {
		Edit struct {
			Path string `json:"path"`
		} `json:"edit"`
		Text string `json:"text"`
	}
	const text = `{"edit":{"path":"a","text":"b"}`
	fixed, ok := schema.Repair([]byte(text), true, fits[strict](t))
	require.True(t, ok, "text has a place in edit only")
	require.Equal(t, text+"}", string(fixed))
	_, ok = schema.Repair([]byte(text), true, fits[loose](t))
	require.False(t, ok, "text has two places")
	_, ok = schema.Repair([]byte(text), true, fits[outside](t))
	require.False(t, ok, "brackets are added at the end or not at all")
	_, ok = schema.Repair([]byte(`{"edit":{"text":"b"}`), true, fits[strict](t))
	require.False(t, ok, "what results does not fit")
	items, ok := schema.Repair([]byte(`{"items":[{"city":"Oslo"},{"city":"Rome","days":3}`), true, fits[page[weatherQuery]](t))
	require.True(t, ok)
	require.Equal(t, `{"items":[{"city":"Oslo"},{"city":"Rome","days":3}]}`, string(items))
}

// fits accepts what decodes into a T.
func fits[T any](t *testing.T) func([]byte) bool {
	typ := typeFor[T](t)
	return func(doc []byte) bool { return typ.Decode(doc, new(T)) == nil }
}

func TestRepairCompletesNothingThatWasCutOff(t *testing.T) {
	for _, text := range []string{`{"a":"b"`, `{"a":["b"`, `{"a":{"b":true}`, "{\"a\":1\n"} {
		_, ok := schema.Repair([]byte(text), true, anyJSON)
		require.True(t, ok, text)
		_, ok = schema.Repair([]byte(text), false, anyJSON)
		require.False(t, ok, text)
	}
	_, ok := schema.Repair([]byte("```json\n{\"a\":1,}\n```"), false, anyJSON)
	require.True(t, ok, "nothing is missing here")
}

func TestRepairCostsNothingForValidJSON(t *testing.T) {
	if raceEnabled {
		t.Skip("pools forget at random under the race detector")
	}
	text := []byte(`{"a":[1,2,{"b":"c"}]}`)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if schema.Repaired(text) != nil {
			panic("changed")
		}
		_, _ = schema.Repair(text, true, anyJSON)
	}))
}

// TestRepairNeverMovesABracket takes brackets out of random documents, anywhere in them. Whatever is repaired must be the
// document that it was: where another one could be meant, that is the proof of a second reading.
func TestRepairNeverMovesABracket(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	repaired, refused := 0, 0
	for range 30000 {
		doc := randomJSON(rng, 4)
		if doc[0] != '{' && doc[0] != '[' {
			continue
		}
		broken := doc
		for range 1 + rng.IntN(3) {
			closers := regexp.MustCompile(`[\]}]`).FindAllStringIndex(broken, -1)
			if len(closers) == 0 {
				break
			}
			at := closers[len(closers)-1-rng.IntN(min(len(closers), 4))][0]
			broken = broken[:at] + broken[at+1:]
		}
		if json.Valid([]byte(broken)) {
			continue
		}
		got := repair(broken)
		if got == "refused" {
			refused++
			continue
		}
		repaired++
		require.JSONEq(t, doc, got, "%s", broken)
	}
	t.Logf("%d repaired, %d refused", repaired, refused)
	require.Greater(t, repaired, 1000)
	require.Greater(t, refused, 1000)
}

// TestRepairAgreesWithBruteForce compares Repair with a search that puts missing brackets in all places.
func TestRepairAgreesWithBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		doc := strings.TrimRight(randomJSON(rng, 3), "]}")
		if len(doc) > 60 {
			continue
		}
		readings := map[string]bool{}
		missing := strings.Count(doc, "{") + strings.Count(doc, "[") - strings.Count(doc, "}") - strings.Count(doc, "]")
		if missing < 1 || missing > 2 {
			continue
		}
		everywhere(doc, missing, 0, readings)
		got := repair(doc)
		if got == "refused" {
			continue // with one reading it may be, because it ends in a number for example
		}
		require.Len(t, readings, 1, "%s", doc)
		require.True(t, readings[compact(t, got)], "%s: %s", doc, got)
	}
}

// everywhere adds n closing brackets in all places from a position on, and collects the valid documents.
func everywhere(text string, n, from int, found map[string]bool) {
	if n == 0 {
		if json.Valid([]byte(text)) {
			var b bytes.Buffer
			_ = json.Compact(&b, []byte(text))
			found[b.String()] = true
		}
		return
	}
	for i := from; i <= len(text); i++ {
		for _, c := range "]}" {
			everywhere(text[:i]+string(c)+text[i:], n-1, i+1, found)
		}
	}
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, json.Compact(&b, []byte(text)))
	return b.String()
}

// randomJSON writes a document whose strings hold no brackets. Names differ, so that no two fields are the same.
func randomJSON(rng *rand.Rand, depth int) string {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rng.IntN(kinds) {
	case 0:
		return `"` + []string{"", "a", "b,c", `\"`, "d:e"}[rng.IntN(5)] + `"`
	case 1:
		return strconv.Itoa(rng.IntN(100))
	case 2:
		return []string{"true", "false", "null"}[rng.IntN(3)]
	case 3, 4:
		if depth == 0 {
			return `"x"`
		}
		var members []string
		for i := range rng.IntN(4) {
			members = append(members, `"k`+strconv.Itoa(rng.IntN(1000)*10+i)+`":`+randomJSON(rng, depth-1))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	var items []string
	for range rng.IntN(4) {
		items = append(items, randomJSON(rng, depth-1))
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// scalars finds the strings, numbers and words of a text, by means that the package does not use.
var scalars = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[^\s{}\[\],:"]+`)

func FuzzRepair(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,}`, "```json\n{\"a\":[1,]}\n```", `{"a":"b"`, `{"a":{"b":"c","d":"e"}`, `[["a"],["b"]`, `{"a":[{"b":true}`, "{\"a\": 1\n",
		`{"a":"\u00e9",}`, "``` {} ```", `[1,,]`, `{"a":1}`, "{\"a\":\"\xff\",}", `{"name":"x","score":1`, `{"name":"x","score":1,"tags":["a"`,
	} {
		f.Add([]byte(seed))
	}
	fence := regexp.MustCompile("^\\s*```(?:[a-zA-Z0-9+-]*[\r\n]|(?i:json))?|```\\s*$")
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		typ := typeFor[fuzzed](t)
		for name, accepts := range map[string]func([]byte) bool{
			"any":   anyJSON,
			"typed": func(doc []byte) bool { return typ.Decode(doc, new(fuzzed)) == nil },
		} {
			for _, complete := range []bool{true, false} {
				fixed, ok := schema.Repair(text, complete, accepts)
				require.Equal(t, before, text, "the text was changed")
				if !ok {
					require.Nil(t, fixed)
					continue
				}
				require.False(t, json.Valid(text), "%s: %q was valid", name, text)
				require.True(t, json.Valid(fixed), "%s: %q became %q", name, text, fixed)
				require.True(t, accepts(fixed))
				require.Equal(t, string(fixed), string(schema.Repaired(text)))
				inner := bytes.TrimSpace(fence.ReplaceAll(bytes.TrimSpace(text), nil))
				require.Equal(t, scalars.FindAllString(string(inner), -1), scalars.FindAllString(string(fixed), -1), "%s: %q became %q", name, text, fixed)
				if !complete {
					require.Equal(t, strings.Count(string(inner), "}")+strings.Count(string(inner), "]"),
						strings.Count(string(fixed), "}")+strings.Count(string(fixed), "]"), "%q was completed", text)
				}
				again, ok := schema.Repair(fixed, complete, accepts)
				require.False(t, ok, "%q is repaired again, to %q", fixed, again)
			}
		}
	})
}
