// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

func TestLineReaderSkipsLongLines(t *testing.T) {
	long := strings.Repeat("x", 100)
	in := "{}\n" + `{"jsonrpc":"2.0","id":7,"method":"m","params":"` + long + `"}` + "\n" +
		`{"jsonrpc":"2.0","id":"a","result":"` + long + `"}` + "\n" + `{"jsonrpc":"2.0","method":"m","params":"` + long + `"}` + "\n" + long + long + "\r\nlast"
	r := acp.NewLineReader(strings.NewReader(in), 100)
	line, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, "{}", string(line))
	for _, want := range []acp.LongLineError{
		{Limit: 100, Kind: acp.KindRequest, ID: acp.IntID(7)}, {Limit: 100, Kind: acp.KindResponse, ID: acp.StringID("a")},
		{Limit: 100, Kind: acp.KindNotification}, {Limit: 100, Kind: acp.KindInvalid},
	} {
		_, err = r.Next()
		var got *acp.LongLineError
		require.ErrorAs(t, err, &got)
		require.Equal(t, want, *got)
		require.ErrorContains(t, err, "longer than 100 bytes")
	}
	line, err = r.Next()
	require.NoError(t, err)
	require.Equal(t, "last", string(line))
	_, err = r.Next()
	require.ErrorIs(t, err, io.EOF)
}

func TestHeaderIsRead(t *testing.T) {
	for line, want := range map[string]acp.Header{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"sessionId":"s"}}`: {Kind: acp.KindRequest, ID: acp.IntID(1), Method: "m", Session: "s", Params: json.RawMessage(`{"sessionId":"s"}`)},
		`{"jsonrpc":"2.0","method":"m"}`:                                   {Kind: acp.KindNotification, Method: "m"},
		`{"jsonrpc":"2.0","id":"a","result":{}}`:                           {Kind: acp.KindResponse, ID: acp.StringID("a"), Result: json.RawMessage(`{}`)},
		`{"jsonrpc":"2.0","id":1,"error":{"code":1}}`:                      {Kind: acp.KindError, ID: acp.IntID(1), Error: json.RawMessage(`{"code":1}`)},
		`{"jsonrpc":"1.0","id":1,"method":"m"}`:                            {Kind: acp.KindInvalid, ID: acp.IntID(1), Method: "m"},
		`{"jsonrpc":"2.0","id":1,"method":"m"`:                             {},
		`{"jsonrpc":"2.0","id":1,"method":"m"} x`:                          {},
		`7`:  {},
		`[]`: {},
		`{`:  {},
		``:   {},
	} {
		require.Equal(t, want, acp.ParseHeader([]byte(line)), line)
	}
}

func TestAmbiguousMessagesAreFound(t *testing.T) {
	for line, want := range map[string]string{
		`{"a":1,"b":{"c":[{"d":1,"D":2}]}}`:                               "",
		`{"a":{"a":1}}`:                                                   "",
		`{"method":"a","method":"b"}`:                                     "method",
		`{"method":"a","\u006dethod":"b"}`:                                "method",
		`{"method":"a","Method":"b"}`:                                     "method",
		`{"params":{"path":"a","PATH":"b"}}`:                              "path",
		`{"params":{"sessionId":"a","\u017feſſionId":1,"seſſionId":"b"}}`: "sessionid",
		`{"params":{"env":[{"name":"a","name":"b"}]}}`:                    "name",
		`{"params":[[[{"x":1,"x":1}]]]}`:                                  "x",
		`[{"x":1,"x":2}]`:                                                 "",
		strings.Repeat("[", 20_000):                                       "",
	} {
		got := acp.Ambiguous([]byte(line))
		require.Equal(t, want == "", got == "", "%.100s: %s", line, got)
		require.Contains(t, got, want)
	}
}

func TestSetParamChangesOneMember(t *testing.T) {
	set := func(old json.RawMessage) (json.RawMessage, error) {
		if old == nil {
			return json.RawMessage(`[0]`), nil
		}
		return append(append(json.RawMessage(`[`), old...), ",1]"...), nil
	}
	for line, want := range map[string]string{
		`{"params" : { "a":  1 , "x" : [ 2 ] , "b":1e400 } ,"_meta":{"x":9}}`: `{"params" : { "a":  1 , "x" : [[ 2 ],1] , "b":1e400 } ,"_meta":{"x":9}}`,
		`{"id":1,"params":{}}`:            `{"id":1,"params":{"x":[0]}}`,
		`{"id":1,"params":{"y":{"x":3}}}`: `{"id":1,"params":{"x":[0],"y":{"x":3}}}`,
		`{"params":{"\u0078":null}}`:      `{"params":{"\u0078":[null,1]}}`,
	} {
		got, err := acp.SetParam([]byte(line), "x", set)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	for line, want := range map[string]string{
		`{"params":[]}`: "no parameters", `{}`: "no parameters", `[]`: "no parameters", `{"params":{}`: "no parameters",
		`{"params":{"x":1,"x":2}}`: "twice", `{"params":{},"params":{}}`: "twice",
	} {
		_, err := acp.SetParam([]byte(line), "x", set)
		require.ErrorContains(t, err, want, line)
	}
	_, err := acp.SetParam([]byte(`{"params":{}}`), "x", func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`]`), nil })
	require.ErrorContains(t, err, "not JSON")
	failure := errors.New("no")
	_, err = acp.SetParam([]byte(`{"params":{}}`), "x", func(json.RawMessage) (json.RawMessage, error) { return nil, failure })
	require.ErrorIs(t, err, failure)
}

func TestResponseLine(t *testing.T) {
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`, string(acp.ResponseLine(acp.IntID(1), json.RawMessage(`{"a":1}`), nil)))
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"no"}}`, string(acp.ResponseLine(acp.StringID("a"), nil, acp.Errorf(acp.CodeInvalidRequest, "no"))))
}

// A change of one member leaves a message of which the rest is equal.
func FuzzSetParam(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[{"name":"a"}]}}`))
	f.Add([]byte(`{"params":{"a":[{"b":{}}]}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		got, err := acp.SetParam(line, "x", func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`"set"`), nil })
		if err != nil {
			return
		}
		var before, after map[string]json.RawMessage
		if json.Unmarshal(line, &before) != nil { // it nests too deep for encoding/json
			return
		}
		require.NoError(t, json.Unmarshal(got, &after))
		var old, params map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(before["params"], &old))
		require.NoError(t, json.Unmarshal(after["params"], &params))
		require.Equal(t, `"set"`, string(params["x"]))
		delete(old, "x")
		delete(params, "x")
		require.Equal(t, old, params)
		delete(before, "params")
		delete(after, "params")
		require.Equal(t, before, after)
	})
}
