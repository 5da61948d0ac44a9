// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/adapter"
)

// event is an event without what is valid until the next one only.
type event struct{ Name, Data string }

func readEvents(r io.Reader, limit int) ([]event, error) {
	return readWith(adapter.NewEventReader(r, limit))
}

func readWith(r *adapter.EventReader) (all []event, err error) {
	for {
		ev, err := r.Next()
		if err != nil {
			return all, err
		}
		all = append(all, event{ev.Name, string(ev.Data)})
	}
}

func TestEventReader(t *testing.T) {
	type events = []event
	for name, test := range map[string]struct {
		in   string
		want events
	}{
		"LF":                                   {"data: a\n\ndata: b\n\n", events{{"", "a"}, {"", "b"}}},
		"CRLF":                                 {"data: a\r\n\r\ndata: b\r\n\r\n", events{{"", "a"}, {"", "b"}}},
		"CR":                                   {"data: a\r\rdata: b\r\r", events{{"", "a"}, {"", "b"}}},
		"mixed ends":                           {"data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", events{{"", "a"}, {"", "b"}, {"", "c"}}},
		"no space after the colon":             {"data:a\n\n", events{{"", "a"}}},
		"one space is dropped":                 {"data:  a \n\n", events{{"", " a "}}},
		"several lines are joined by LF":       {"data: a\ndata: b\r\ndata:\ndata: c\n\n", events{{"", "a\nb\n\nc"}}},
		"comments are skipped":                 {": keep-alive\n\n:\ndata: a\n: between\ndata: b\n\n", events{{"", "a\nb"}}},
		"empty lines do no harm":               {"\n\n\r\n\ndata: a\n\n\n\n", events{{"", "a"}}},
		"id and retry are ignored":             {"id: 1\nretry: 5\ndata: a\n\nid: 2\n\n", events{{"", "a"}}},
		"unknown fields are ignored":           {"dat: x\ndatax: y\ndata: a\n\n", events{{"", "a"}}},
		"event names":                          {"event: error\ndata: a\n\nevent: message\ndata: b\n\nevent: x\ndata: c\n\n", events{{"error", "a"}, {"", "b"}, {"x", "c"}}},
		"a name without data is forgotten":     {"event: error\n\ndata: a\n\n", events{{"", "a"}}},
		"an error field is an error event":     {"error: {\"code\":1}\n\n", events{{"error", `{"code":1}`}}},
		"a byte order mark":                    {"\ufeffdata: a\n\n", events{{"", "a"}}},
		"only one byte order mark":             {"\ufeff\ufeffdata: a\n\ndata: b\n\n", events{{"", "b"}}},
		"the end in place of an empty line":    {"data: a\n", events{{"", "a"}}},
		"the end in place of the end of line":  {"data: a\n\ndata: [DONE]", events{{"", "a"}, {"", "[DONE]"}}},
		"the end after a comment":              {"data: a\n: x", events{{"", "a"}}},
		"data without a colon is an empty one": {"data\n\n", events{{"", ""}}},
		"nothing":                              {"", nil},
		"a colon in the data":                  {"data: a: b\n\n", events{{"", "a: b"}}},
		"a line longer than the buffer":        {"data: " + strings.Repeat("x", 100_000) + "\n\ndata: b\n\n", events{{"", strings.Repeat("x", 100_000)}, {"", "b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{
				strings.NewReader(test.in), iotest.OneByteReader(strings.NewReader(test.in)),
				iotest.HalfReader(strings.NewReader(test.in)), iotest.DataErrReader(strings.NewReader(test.in)),
			} {
				got, err := readEvents(r, 16<<20)
				require.ErrorIs(t, err, io.EOF)
				require.Equal(t, test.want, got)
			}
		})
	}
}

func TestEventReaderKeepsStrayLines(t *testing.T) {
	r := adapter.NewEventReader(strings.NewReader("\ufeffdata: a\r\r{\n \"error\": {\n\n: c\ndata: b"), 1000)
	r.Stray = true
	got, err := readWith(r)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, []event{{"", "a"}, {"", "{\n \"error\": {"}, {"", "b"}}, got)
}

func TestEventReaderLimitsEvents(t *testing.T) {
	for name, in := range map[string]string{
		"a line":             "data: " + strings.Repeat("x", 2000) + "\n\n",
		"a line without end": "data: " + strings.Repeat("x", 2000),
		"a comment":          ": " + strings.Repeat("x", 2000) + "\n\n",
		"many lines":         strings.Repeat("data: xxxxxxxx\n", 200) + "\n",
	} {
		got, err := readEvents(strings.NewReader("data: a\n\n"+in), 1000)
		require.ErrorContains(t, err, "more than 0 MiB without a complete event", name)
		require.Len(t, got, 1)
	}
}

func TestEventReaderReturnsReadErrors(t *testing.T) {
	broken := errors.New("broken")
	got, err := readEvents(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)), 16<<20)
	require.ErrorIs(t, err, broken)
	require.Equal(t, []event{{Data: "a"}}, got)
	_, err = readEvents(stuck{}, 16<<20)
	require.ErrorIs(t, err, io.ErrNoProgress)
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestForeignEventsAreThoseOfNoProtocol(t *testing.T) {
	for _, test := range []struct {
		event   adapter.Event
		foreign bool
	}{
		{adapter.Event{Name: "ping", Data: []byte("{}")}, true},
		{adapter.Event{Name: "ping", Data: []byte(`{"type":"ping"}`)}, true},
		{adapter.Event{Data: []byte(`{"type":"ping"}`)}, false},
		{adapter.Event{Name: "error", Data: []byte("out of order")}, false},
		{adapter.Event{Name: "chunk", Data: []byte(`{"choices":[]}`)}, false},
		{adapter.Event{Name: "response.created", Data: []byte("{}")}, false},
	} {
		require.Equal(t, test.foreign, test.event.Foreign("response.", `"choices"`), "%+v", test.event)
	}
}
