// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// Any bytes are JSON exactly if encoding/json takes them for JSON, and any value is the one that it reads.
func TestTextIsJSONIfEncodingJSONSaysSo(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	pieces := strings.Split(`{|}|[|]|,|:|"|\|/| |`+"\t|\n|\r|\v|\x00|\x1f|\x7f|\xff|"+`é|𝄞|true|false|null|tru|0|1|9|-|+|.|e|E|1.5|-0|01|1e9|1E+2|2e-3|1.|.5|e5|"a"|"b":|"\u00e9"|"\ud834\udd1e"|"\ud834"|"\udd1e"|\u12|\uAbCd|\n|\b|\f|\r|\t|\/|\\|\"|\x|abcdefgh|abcdefg"|[]|{}|[1,2]|{"a":1}|{"a":[]}`, "|")
	for range 150_000 {
		var b strings.Builder
		for range 1 + r.IntN(9) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		text := b.String()
		if r.IntN(3) == 0 {
			text = `["` + text + `"]`
		}
		var value acp.ElicitationContentValue
		err := acp.UnmarshalByTable([]byte(text), &value)
		require.Equal(t, !json.Valid([]byte(text)), err != nil && err.Error() == "acp: not valid JSON", "%q: %v", text, err)
		if err != nil {
			continue
		}
		var want []string
		if trimmed := strings.TrimSpace(text); trimmed[0] == '[' && !strings.Contains(text, "null") && utf8.ValidString(text) && json.Unmarshal([]byte(text), &want) == nil {
			require.Equal(t, want, value.StringArray, "%q", text)
		}
	}
}

// Strings come through as they are, but for bytes that are no UTF-8, and in no more than a line.
func TestStringsComeThrough(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 20_000 {
		raw := make([]byte, r.IntN(24))
		const letters = "abcdefgh\"\\\n\r\t\b\f\x00\x1f /<>&\x7f\xc3\xa9\xf0\x9d\x84\x9e\xff\xe2\x80\xa8"
		for i := range raw {
			raw[i] = letters[r.IntN(len(letters))]
		}
		text := string(raw)
		data, err := acp.MarshalByTable(&acp.ElicitationContentValue{String: &text})
		require.NoError(t, err)
		require.NotContains(t, string(data), "\n")
		require.True(t, utf8.Valid(data))
		var byLibrary string
		require.NoError(t, json.Unmarshal(data, &byLibrary), "%q", data)
		want := strings.ToValidUTF8(text, "\uFFFD")
		if utf8.ValidString(text) {
			require.Equal(t, want, byLibrary)
		}
		var back acp.ElicitationContentValue
		require.NoError(t, acp.UnmarshalByTable(data, &back))
		require.Equal(t, byLibrary, *back.String)
	}
	text := "\x00\x0f\x10\x1f\n\r\t\b\"\\/\x7f"
	data, err := acp.MarshalByTable(&acp.ElicitationContentValue{String: &text})
	require.NoError(t, err)
	require.Equal(t, `"\u0000\u000f\u0010\u001f\n\r\t\u0008\"\\/`+"\x7f"+`"`, string(data))
}

// A value of a form is of the kind that its JSON has: whole numbers are integers while they are exact.
func TestValuesOfFormsHaveTheirKinds(t *testing.T) {
	for text, want := range map[string]any{
		`"a"`: "a", ` "a" `: "a", `true`: true, `false`: false, `[]`: []string{}, `["a","b"]`: []string{"a", "b"}, `0`: int64(0), `-7`: int64(-7),
		`9223372036854775807`: int64(math.MaxInt64), `-9223372036854775808`: int64(math.MinInt64), `9223372036854775808`: float64(1 << 63),
		`5.0`: int64(5), `1e3`: int64(1000), `-2E2`: int64(-200), `9007199254740992.0`: int64(1 << 53), `9007199254740993e0`: int64(1 << 53), `9007199254740994.0`: float64(1<<53 + 2), `-9007199254740992.0`: int64(-1 << 53),
		`-9007199254740994.0`: float64(-1<<53 - 2), `1.5`: 1.5, `-0.25`: -0.25, `1e400`: json.RawMessage(`1e400`), `null`: json.RawMessage(`null`), `{"a":1}`: json.RawMessage(`{"a":1}`), `["a",1]`: json.RawMessage(`["a",1]`),
	} {
		var v acp.ElicitationContentValue
		require.NoError(t, acp.Unmarshal([]byte(text), &v), text)
		var got any
		switch {
		case v.String != nil:
			got = *v.String
		case v.Boolean != nil:
			got = *v.Boolean
		case v.Integer != nil:
			got = *v.Integer
		case v.Number != nil:
			got = *v.Number
		case v.StringArray != nil:
			got = v.StringArray
		default:
			got = v.Unknown
		}
		require.Equal(t, want, got, text)
		again, err := acp.Marshal(&v)
		require.NoError(t, err)
		var back acp.ElicitationContentValue
		require.NoError(t, acp.Unmarshal(again, &back))
		if v.Number == nil || *v.Number != math.Trunc(*v.Number) { // which is an integer when it is written
			require.Equal(t, v, back, text)
		}
	}
	text := "a"
	for n, v := range map[int]acp.ElicitationContentValue{0: {}, 2: {String: &text, StringArray: []string{}}, 3: {String: &text, StringArray: []string{}, Unknown: json.RawMessage("1")}} {
		_, err := acp.Marshal(&v)
		require.EqualError(t, err, map[int]string{0: "acp: ElicitationContentValue: no variant is set", 2: "acp: ElicitationContentValue: 2 variants are set, want one", 3: "acp: ElicitationContentValue: 3 variants are set, want one"}[n])
	}
	_, err := acp.Marshal(&acp.SessionConfigSelectOptions{Ungrouped: []acp.SessionConfigSelectOption{}, Grouped: []acp.SessionConfigSelectGroup{}})
	require.EqualError(t, err, "acp: SessionConfigSelectOptions: 2 variants are set, want one")
}

// Numbers are written so that they are read as the same, and as encoding/json writes them where exponents do not differ.
func TestNumbersAreWrittenInFull(t *testing.T) {
	for _, f := range []float64{0, 1, -1.5, 1e20, 1e21, 9.99e20, -1e21, 1e-6, 9.9e-7, 1e-7, 123456.789, math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 53} {
		data, err := acp.MarshalByTable(&acp.ElicitationContentValue{Number: &f})
		require.NoError(t, err)
		back, err := strconv.ParseFloat(string(data), 64)
		require.NoError(t, err)
		require.Equal(t, f, back)
		want, err := json.Marshal(f)
		require.NoError(t, err)
		require.Equal(t, strings.Contains(string(want), "e"), strings.Contains(string(data), "e"), "%s %s", want, data)
	}
	for f, want := range map[float64]string{math.Inf(1): "acp: +Inf has no JSON form", math.Inf(-1): "acp: -Inf has no JSON form"} {
		_, err := acp.MarshalByTable(&acp.ElicitationContentValue{Number: &f})
		require.EqualError(t, err, want)
	}
	nan := math.NaN()
	_, err := acp.MarshalByTable(&acp.ElicitationContentValue{Number: &nan})
	require.EqualError(t, err, "acp: NaN has no JSON form")
	type limits struct {
		Line uint32  `json:"line"`
		Size uint64  `json:"size"`
		Code int32   `json:"code"`
		Cost float64 `json:"cost"`
		On   bool    `json:"on"`
		Name string  `json:"name"`
	}
	zero := `"line":0,"size":0,"code":0,"cost":0,"on":false,"name":""`
	for member, want := range map[string]string{
		`"line":4294967295`: "", `"line":4294967296`: "line: want an integer from 0 to 2^32-1", `"line":4.294967295e9`: "", `"line":4.294967296e9`: "line: want an integer from 0 to 2^32-1",
		`"size":18446744073709551615`: "", `"size":18446744073709551616`: "size: want an integer from 0 to 2^64-1", `"size":9007199254740991.0`: "", `"size":9007199254740992.0`: "size: want an integer from 0 to 2^64-1",
		`"code":2147483647`: "", `"code":2147483648`: "code: the number is out of range", `"code":-2147483648`: "", `"code":-2147483649`: "code: the number is out of range", `"code":9223372036854775808`: "code: want a 64-bit integer",
		`"code":1.5`: "code: want a 64-bit integer", `"code":"7"`: "code: is a string, want an integer", `"line":null`: "line: is null, want an integer", `"cost":1e400`: "cost: the number is out of range", `"cost":[]`: "cost: is an array, want a number",
		`"on":0`: "on: is a number, want a boolean", `"on":-1`: "on: is a number, want a boolean", `"name":{}`: "name: is an object, want a string", `"name":true`: "name: is a boolean, want a string", `"name":false`: "name: is a boolean, want a string",
	} {
		var v limits
		err := acp.UnmarshalByTable([]byte(`{`+zero+`,`+member+`}`), &v)
		if want == "" {
			require.NoError(t, err, member)
			continue
		}
		require.EqualError(t, err, "acp: limits."+want, member)
	}
}

// What a proxy sees of a line without reading its parameters.
func TestHeadersOfLines(t *testing.T) {
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"sessionId":"s"}}`: `request 1 m s {"sessionId":"s"} - -`,
		`{"jsonrpc":"2.0","method":"m","params":{"sessionId":7}}`:          `notification null m  {"sessionId":7} - -`,
		` {"jsonrpc":"2.0","id":"a","method":"m"} `:                        `request "a" m  - - -`,
		`{"jsonrpc":"2.0","id":null,"method":"m"}`:                         `request null m  - - -`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                             `response 1   - {} -`,
		`{"jsonrpc":"2.0","id":1,"result":null}`:                           `response 1   - null -`,
		`{"jsonrpc":"2.0","id":1,"error":{}}`:                              `error 1   - - {}`,
		`{"jsonrpc":"2.0","id":1,"result":1,"error":null}`:                 `response 1   - 1 -`,
		`{"jsonrpc":"2.0","id":1,"error":null}`:                            `response 1   - - -`,
		`{"jsonrpc":"2.0","result":{}}`:                                    `invalid null   - {} -`,
		`{"jsonrpc":"2.0","id":1.5,"result":{}}`:                           `invalid null   - {} -`,
		`{"jsonrpc":"2.0","id":1,"id":2,"result":{}}`:                      `invalid 2   - {} -`,
		`{"jsonrpc":"2.0","id":1,"id":1,"result":{}}`:                      `response 1   - {} -`,
		`{"jsonrpc":"2.0","id":1,"result":1,"result":2}`:                   `invalid 1   - 2 -`,
		`{"jsonrpc":"2.0","id":1,"error":{},"error":{"a":1}}`:              `invalid 1   - - {"a":1}`,
		`{"jsonrpc":"2.0","id":1}`:                                         `invalid 1   - - -`,
		`{"jsonrpc":"1.0","id":1,"method":"m"}`:                            `invalid 1 m  - - -`,
		`{"id":1,"method":"m"}`:                                            `invalid 1 m  - - -`,
		`{"jsonrpc":"2.0","id":true,"method":"m"}`:                         `invalid null m  - - -`,
		`{"jsonrpc":"2.0","id":1,"method":7}`:                              `invalid 1   - - -`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}`:               `request 1 m  [1] - -`,
		`{"jsonrpc":"2.0","id":1,"method":"m","result":1}`:                 `request 1 m  - 1 -`,
		`[]`:                          `invalid null   - - -`,
		`7`:                           `invalid null   - - -`,
		`{"jsonrpc":"2.0","method":"`: `invalid null   - - -`,
		``:                            `invalid null   - - -`,
	} {
		h := acp.ParseHeader([]byte(line))
		show := func(raw json.RawMessage) string {
			if raw == nil {
				return "-"
			}
			return string(raw)
		}
		require.Equal(t, want, fmt.Sprintf("%s %s %s %s %s %s %s", h.Kind, h.ID, h.Method, h.Session, show(h.Params), show(h.Result), show(h.Error)), line)
	}
	for id, want := range map[acp.RequestID]string{acp.IntID(-7): "-7", acp.StringID("a\"b"): `"a\"b"`, {}: "null"} {
		data, err := json.Marshal(id)
		require.NoError(t, err)
		require.Equal(t, want, string(data))
		require.Equal(t, want == "null", id.IsNull())
		var back acp.RequestID
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, id, back)
	}
	for text, want := range map[string]string{`1.5`: "a number", `1e3`: "a number", `1E3`: "a number", `true`: "a boolean", `{}`: "an object", `[1]`: "an array"} {
		var id acp.RequestID
		require.EqualError(t, acp.Unmarshal([]byte(text), &id), "acp: : is "+want+", want an integer, a string or null")
	}
}

func TestErrorsHaveCodes(t *testing.T) {
	cancelled := acp.Errorf(acp.CodeRequestCancelled, "stop %d\x1b", 7)
	require.EqualError(t, cancelled, "acp: stop 7⟨ESC⟩ (-32800)")
	require.ErrorIs(t, cancelled, acp.ErrRequestCancelled)
	require.ErrorContains(t, acp.ErrTurnCancelled, "acp: turn cancelled by session/cancel")
	for err, code := range map[*acp.Error]int{
		acp.ErrParse: -32700, acp.ErrInvalidRequest: -32600, acp.ErrMethodNotFound: -32601, acp.ErrInvalidParams: -32602, acp.ErrInternal: -32603,
		acp.ErrAuthRequired: -32000, acp.ErrResourceNotFound: -32002, acp.ErrRequestCancelled: -32800,
	} {
		require.Equal(t, code, err.Code)
		require.NotErrorIs(t, err, errors.ErrUnsupported)
		for _, other := range []*acp.Error{acp.ErrParse, acp.ErrInternal} {
			require.Equal(t, other.Code == code, errors.Is(err, other))
		}
		with := err.WithData(map[string]int{"a": 1})
		require.JSONEq(t, `{"a":1}`, string(with.Data))
		require.Nil(t, err.Data)
		require.Nil(t, err.WithData(func() {}).Data)
		require.Equal(t, err.Message, with.Message)
	}
	require.EqualError(t, &acp.DecodeError{Type: "T", Problem: "x"}, "acp: T: x")
	require.EqualError(t, &acp.DecodeError{Type: "T", Field: "f", Problem: "x"}, "acp: T.f: x")
	require.EqualError(t, &acp.AnswerError{Problem: "x"}, "acp: the peer sent a malformed answer: x")
	require.EqualError(t, &acp.LongLineError{Kind: acp.KindRequest, Limit: 7}, "acp: a request is longer than 7 bytes")
}

// Secrets of messages are in no print and in no log, however they are printed.
func TestSecretsOfMessagesAreNotPrinted(t *testing.T) {
	servers := []acp.MCPServer{
		{HTTP: &acp.MCPServerHTTP{Name: "kept", URL: "https://u:hush@h/p?key=hush", Headers: []acp.HTTPHeader{{Name: "kept", Value: "hush"}}}},
		{SSE: &acp.MCPServerSSE{Name: "kept", URL: "https://h/p?key=hush", Headers: []acp.HTTPHeader{{Name: "kept", Value: "hush"}}}},
		{Stdio: &acp.MCPServerStdio{Name: "kept", Command: "c", Env: []acp.EnvVariable{{Name: "kept", Value: "hush"}}}},
	}
	all := []any{
		acp.HTTPHeader{Name: "kept", Value: "hush"}, acp.EnvVariable{Name: "kept", Value: "hush"}, *servers[0].HTTP, *servers[1].SSE, *servers[2].Stdio, servers[0], servers[1], servers[2],
		acp.NewSessionRequest{Cwd: "kept", MCPServers: servers}, acp.LoadSessionRequest{Cwd: "kept", MCPServers: servers}, acp.ResumeSessionRequest{Cwd: "kept", MCPServers: servers},
		acp.CreateTerminalRequest{Command: "kept", Env: []acp.EnvVariable{{Name: "kept", Value: "hush"}}},
	}
	for _, v := range all {
		p := reflect.New(reflect.TypeOf(v))
		p.Elem().Set(reflect.ValueOf(v))
		for _, one := range []any{v, p.Interface()} {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
				text := fmt.Sprintf(verb, one)
				require.NotContains(t, text, "hush", "%T %s", one, verb)
				if p := reflect.ValueOf(one); p.Kind() != reflect.Pointer && p.Type() != reflect.TypeFor[acp.MCPServer]() {
					require.Contains(t, text, "kept", "%T %s", one, verb)
				}
			}
			var text, doc strings.Builder
			slog.New(slog.NewTextHandler(&text, nil)).Info("m", "value", one)
			slog.New(slog.NewJSONHandler(&doc, nil)).Info("m", "value", one)
			for _, logged := range []string{text.String(), doc.String()} {
				require.NotContains(t, logged, "hush", "%T", one)
				require.Contains(t, logged, "kept", "%T", one)
			}
		}
		data, err := json.Marshal(v)
		require.NoError(t, err)
		require.Contains(t, string(data), "hush", "what is sent has all of it")
	}
}
