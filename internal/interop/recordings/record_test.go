// SPDX-License-Identifier: Apache-2.0

//go:build unix

package recordings_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recording is one recorded exchange, as python/recordings.py prints it.
type recording struct {
	Package  string
	Cassette string
	Index    int
	// Provider is who answered, Protocol what the answer speaks. Without a protocol the recording is not checked, for the reason in
	// Skip.
	Provider, Protocol, Skip string

	Status      int
	ContentType string `json:"content_type"`
	Gzip        bool
	Streamed    bool
	// Body is what came over the wire.
	Body []byte
	Want want
}

// want is what python/decode.py makes of an answer: an error or a message.
type want struct {
	Error *struct {
		Status              int
		Message, Code, Type string
	}
	Message *struct {
		ID, Model, Finish string
		Usage             usage
		Parts             []wantPart
	}
}

type usage struct {
	Input      int64
	Output     int64
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Reasoning  int64
}

type wantPart struct {
	Kind      string
	Text      string
	Phase     string
	ID        string
	Tool      string
	Args      string
	ArgsJSON  json.RawMessage `json:"args_json"`
	Extra     json.RawMessage
	Signature string
	MediaType string `json:"media_type"`
	Data      []byte
	JSON      json.RawMessage
	List      json.RawMessage
}

func (r *recording) String() string { return fmt.Sprintf("%s/%s#%d", r.Package, r.Cassette, r.Index) }

// plain returns the body without its compression.
func (r *recording) plain(t testing.TB) []byte {
	if !r.Gzip {
		return r.Body
	}
	zipped, err := gzip.NewReader(bytes.NewReader(r.Body))
	require.NoError(t, err)
	plain, err := io.ReadAll(zipped)
	require.NoError(t, err)
	return plain
}

// readRecordings returns all recordings of the archives.
func readRecordings(t testing.TB) []*recording {
	dir, python := archives(t)
	out, err := run(python, "-B", "python/recordings.py", dir) // -B: no compiled files in the clone
	require.NoError(t, err)
	var all []*recording
	lines := bufio.NewReader(bytes.NewReader(out))
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		r := &recording{}
		require.NoError(t, json.Unmarshal(line, r))
		all = append(all, r)
	}
}

// serve returns the URL of a server that answers every POST with the recorded answer, in pieces of an odd size.
func serve(t testing.TB, r *recording) string {
	const piece = 509
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		contentType := r.ContentType
		if contentType == "" { // some recorders blank headers
			contentType = "application/json"
			if r.Streamed {
				contentType = "text/event-stream"
			}
		}
		w.Header().Set("Content-Type", contentType)
		if r.Gzip {
			w.Header().Set("Content-Encoding", "gzip")
		}
		w.WriteHeader(r.Status)
		for rest := r.Body; len(rest) > 0; {
			n := min(piece, len(rest))
			if _, err := w.Write(rest[:n]); err != nil {
				return
			}
			if r.Streamed {
				_ = http.NewResponseController(w).Flush()
			}
			rest = rest[n:]
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimSuffix(server.URL, "/")
}
