// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// chunked gives a text in pieces of a size, and the last one with the end if together is set.
type chunked struct {
	text     string
	size     int
	together bool
}

func (c *chunked) Read(b []byte) (int, error) {
	n := copy(b, c.text[:min(c.size, len(c.text))])
	c.text = c.text[n:]
	if c.text == "" && (n == 0 || c.together) {
		return n, io.EOF
	}
	return n, nil
}

// The lines of a stream are the same in whatever pieces it comes. Those over the limit are told apart,
// and behind the end there is nothing more.
func TestLinesDoNotDependOnPieces(t *testing.T) {
	lines := []string{"", "a", strings.Repeat("b", 9), strings.Repeat("c", 10), strings.Repeat("d", 11), "e\r", strings.Repeat("f", 35), "last"}
	for _, end := range []string{"", "\n"} {
		text := strings.Join(lines, "\n") + end
		for size := 1; size <= len(text); size++ {
			for _, together := range []bool{false, true} {
				r := newLineReader(&chunked{text, size, together}, 10)
				for i, want := range lines {
					line, long, err := r.next()
					require.NoError(t, err)
					if len(want) > 10 {
						require.Nil(t, line, "line %d in pieces of %d", i, size)
						require.NotNil(t, long)
						continue
					}
					require.Nil(t, long, "line %d in pieces of %d", i, size)
					require.Equal(t, want, string(line), "line %d in pieces of %d", i, size)
				}
				for range 3 {
					line, long, err := r.next()
					require.Nil(t, line)
					require.Nil(t, long)
					require.Equal(t, io.EOF, err)
				}
			}
		}
	}
	because := errors.New("because")
	r := newLineReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(because)), 10)
	for _, want := range []string{"a", "b"} {
		line, _, err := r.next()
		require.NoError(t, err)
		require.Equal(t, want, string(line))
	}
	_, _, err := r.next()
	require.ErrorIs(t, err, because)
}

// sleepy gives nothing for a number of reads, and then what there is.
type sleepy struct {
	sleeps int
	r      io.Reader
}

func (s *sleepy) Read(b []byte) (int, error) {
	if s.sleeps > 0 {
		s.sleeps--
		return 0, nil
	}
	return s.r.Read(b)
}

// A stream that gives nothing a hundred times has come to its end.
func TestStreamsThatGiveNothing(t *testing.T) {
	r := newLineReader(&sleepy{99, strings.NewReader("x\n")}, 10)
	line, _, err := r.next()
	require.NoError(t, err)
	require.Equal(t, "x", string(line))
	r = newLineReader(&sleepy{100, strings.NewReader("x\n")}, 10)
	_, _, err = r.next()
	require.Equal(t, io.ErrNoProgress, err)
}

// What is found in a line that is passed over does not depend on its pieces, and of a line that is cut
// off it is what its whole members say.
func TestWhatIsFoundInLongLines(t *testing.T) {
	found := func(s *longLine) string {
		text := fmt.Sprintf("id %s", s.id)
		for name, set := range map[string]bool{"1 has id": s.hasID, "2 response": s.response, "3 method": s.method, "4 foreign": s.foreign} {
			if set {
				text += "," + name
			}
		}
		all := strings.Split(text, ",")
		for i := 1; i < len(all); i++ {
			for j := i + 1; j < len(all); j++ {
				if all[j] < all[i] {
					all[i], all[j] = all[j], all[i]
				}
			}
		}
		return strings.Join(all, ",")
	}
	var told strings.Builder
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":17,"result":{"id":3,"method":"x","a":[1,{"b":2}]}}`, `{ "method" : "a\"}b" , "id" : "q\\" , "params" : [ ] }`, `{"error":{"code":1},"id":null}`, `{"id":1.5,"id":true,"x":1}`, `[{"id":4,"result":1}]`, `{"id":[5],"result":1}`,
		`{"\u0069d":6,"result":"\\"}`, `{"result":1,"idx":1,"id`, `{"id":"` + strings.Repeat("x", 254) + `"}`, `{"id":"` + strings.Repeat("x", 255) + `"}`, `"id":7`, "{\t\"id\"\t:\r8\n}",
	} {
		before := ""
		for end := 0; end <= len(line); end++ {
			var whole, pieces longLine
			whole.feed([]byte(line[:end]))
			for i := range end {
				pieces.feed([]byte(line[i : i+1]))
			}
			require.Equal(t, found(&whole), found(&pieces), line[:end])
			text := found(&whole)
			whole.cutOff()
			pieces.cutOff()
			require.Equal(t, found(&whole), found(&pieces), line[:end])
			if cut := found(&whole); cut != text {
				text += "; cut off: " + cut
			}
			if text != before {
				shown := strings.ReplaceAll(line[:end], strings.Repeat("x", 254), "x×254")
				fmt.Fprintf(&told, "%q\n  %s\n", shown, text)
				before = text
			}
		}
	}
	goldenText(t, "long_lines.txt", told.String())
}

// TestEnvelopes compares what is read of lines before their parameters are.
func TestEnvelopes(t *testing.T) {
	var told strings.Builder
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"sessionId":"s\u0031","x":{"sessionId":"t"}}}`, `{"jsonrpc":"2.0","id":1,"method":"m","params":{"sessionId":7}}`, `{"jsonrpc":"2.0","id":1,"method":"m","params":[{"sessionId":"s"}]}`, ` { "jsonrpc" : "2.0" , "method" : 5 } `,
		`{"id":5.0}`, `{"id":-5e0}`, `{"id":9007199254740992.0}`, `{"id":9007199254740994.0}`, `{"id":5.5}`, `{"id":1e400}`, `{"id":5.0,"id":5}`, `{"id":5,"id":5.0}`, `{"id":5,"id":"5"}`, `{"id":null,"id":null}`, `{"id":"\u0061"}`,
		`{"result":null}`, `{"result":1,"result":1}`, `{"error":null,"error":null}`, `{"error":{},"error":null}`, `{"error":{"code":1,"message":"x"},"error":{"code":1,"message":"x"}}`, `{"error":{"code":1,"message":"x","data":null,"more":1}}`, `{"error":{"code":1,"message":"x","data":{"a":1}}}`,
		`{"error":{"code":1.0,"message":"x"}}`, `{"error":{"code":"1","message":"x"}}`, `{"error":{"code":1}}`, `{"error":{"message":"x"}}`, `{"error":[]}`, `{"method":"m","result":1}`, `{"method":"","error":{"code":1,"message":"x"}}`, `{"jsonrpc":2.0}`, `{"jsonrpc":"2.0","JSONRPC":"x"}`,
		`[]`, `[1,]`, `7`, `7 8`, `{}`, `{} {}`, `{"a":1,}`, `{"params":{"a":1,}}`, `{"params":{"a"}}`, ``, ` `,
	} {
		env, object, ok := parseEnvelope([]byte(line))
		id, named := env.answerTo()
		a := env.answer()
		fmt.Fprintf(&told, "%q\n  object %t ok %t id %s %t bad %t whole %s version %t method %q %t session %q params %s result %s error %s %t problem %q foreign %t\n  response %t answers %s %t: %s %v invalid %q\n",
			line, object, ok, env.id, env.hasID, env.badID, env.whole, env.version, env.method, env.hasMethod, env.session, env.params, env.result, env.errorBody, env.hasError, env.problem, env.foreign,
			env.isResponse(), id, named, a.result, a.err, env.invalid())
		h := ParseHeader([]byte(line))
		fmt.Fprintf(&told, "  header %s %s %q %q %s %s %s\n", h.Kind, h.ID, h.Method, h.Session, h.Params, h.Result, h.Error)
	}
	for _, e := range []*Error{{Code: 1, Message: "m"}, {Code: -2, Message: "é\n", Data: json.RawMessage(`[1]`)}, {Code: CodeRequestCancelled}} {
		fmt.Fprintf(&told, "%v %s %t %t\n", e, ResponseLine(IntID(1), nil, e), errors.Is(e, context.Canceled), errors.Is(e, &Error{Code: 1}))
	}
	goldenText(t, "envelopes.txt", told.String())
}

// A text is valid JSON exactly if encoding/json says so, whatever is wrong with it.
func TestValidity(t *testing.T) {
	const doc = `{"a":[1,-0.5e+3,0,true,false,null,{}],"b\"\\\/\b\u00e9":"x€","c":[[],[{"d":""}]] , "e" : 12.5E-1}`
	check := func(text []byte) {
		if want := json.Valid(text); want != valid(text) {
			t.Fatalf("%q: %t", text, want)
		}
	}
	for i := range doc {
		check([]byte(doc[:i]))
		check([]byte(doc[i:]))
		check([]byte(doc[:i] + doc[i+1:]))
		for _, c := range []byte("{}[]\",:\\/0-+.eEu tfnx\n\x1f\x7fA") {
			check([]byte(doc[:i] + string(c) + doc[i+1:]))
			check([]byte(doc[:i] + string(c) + doc[i:]))
		}
	}
	for _, text := range []string{"", " ", "1", "-", "-1", "01", "1.", ".1", "1e", "1e+", "1E-2", "tru", "nul", "falsey", `"\u12"`, `"\u123g"`, `"\uABCF"`, `"\x"`, "\"\t\"", "\"\x7f\"", "[1 2]", "{1:2}", "1 ", "\r\n\t 1", "\v1"} {
		check([]byte(text))
	}
	for _, depth := range []int{9999, 10_000, 10_001} {
		check([]byte(strings.Repeat("[", depth) + strings.Repeat("]", depth)))
		check([]byte(strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)))
		check([]byte(strings.Repeat(`[{"a":`, depth/2) + "[]" + strings.Repeat("}]", depth/2)))
	}
}

// A member that is there twice is found however deep it is, up to the depth that JSON may have.
func TestDepthOfAmbiguousMessages(t *testing.T) {
	twice := `{"x":1,"x":2}`
	for _, c := range []struct {
		depth int
		found bool
	}{{1, true}, {9997, true}, {9998, true}, {9999, false}, {10_000, false}} {
		line := `{"a":` + strings.Repeat("[", c.depth) + twice + strings.Repeat("]", c.depth) + "}"
		require.Equal(t, json.Valid([]byte(line)), c.found, c.depth)
		require.Equal(t, c.found, Ambiguous([]byte(line)) != "", c.depth)
	}
	for line, want := range map[string]string{
		`{"a":1,"A":2}`: `it has the member "a" twice`, `{"p":{"b":1,"B":2}}`: `it has the member "b" twice`, `{"p":{"q":{"b":1,"B":2}}}`: "", `{"p":[{"b":1,"B":2}]}`: "", `{"p":{"q":{"b":1,"b":2}},"a":1,"a":2}`: `it has the member "b" twice`,
		`{"a":[],"b":[ 1 , [ ] , {"c":1,"c":1} ]}`: `it has the member "c" twice`, `{"a":[1,{"c":1,"c":1}`: `it has the member "c" twice`, `{"a":[1 2,{"c":1,"c":1}]}`: "", `{"a":[1,,{"c":1,"c":1}]}`: "",
	} {
		require.Equal(t, want, Ambiguous([]byte(line)), line)
	}
}

// Empty elements, and what is no list, have no elements.
func TestElementsOfLists(t *testing.T) {
	for list, want := range map[string][]string{`[]`: nil, ` [ 1 , "a,]" , [2,3] , {"b":[4]} ] `: {"1", `"a,]"`, "[2,3]", `{"b":[4]}`}, `{}`: nil, `7`: nil, ``: nil} {
		var got []string
		s := scanner{data: []byte(list)}
		s.elements(func(e []byte) { got = append(got, string(bytes.Clone(e))) })
		require.Equal(t, want, got, list)
	}
}
