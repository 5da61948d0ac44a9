// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/proto"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/internal/sealtest"
	"github.com/ponte-go/ponte/toolset"
)

// keys is a codec that encrypts with the key named current, and decrypts with all. To rotate
// keys, add one and name it; remove the old one when no run and blob is left that needs it.
type ring struct {
	current string
	keys    map[string][]byte
}

func (r ring) gcm(name string) (cipher.AEAD, error) {
	key, ok := r.keys[name]
	if !ok {
		return nil, fmt.Errorf("there is no key %q", name)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Encode implements [converter.PayloadCodec].
func (r ring) Encode(payloads []*commonpb.Payload) (made []*commonpb.Payload, err error) {
	gcm, err := r.gcm(r.current)
	if err != nil {
		return nil, err
	}
	for _, p := range payloads {
		data, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		made = append(made, &commonpb.Payload{
			Metadata: map[string][]byte{"encoding": []byte("binary/encrypted"), "key": []byte(r.current)},
			Data:     gcm.Seal(nil, nil, data, nil),
		})
	}
	return made, nil
}

// Decode implements [converter.PayloadCodec].
func (r ring) Decode(payloads []*commonpb.Payload) (made []*commonpb.Payload, err error) {
	for _, p := range payloads {
		gcm, err := r.gcm(string(p.Metadata["key"]))
		if err != nil {
			return nil, err
		}
		data, err := gcm.Open(nil, nil, p.Data, nil)
		if err != nil {
			return nil, err
		}
		plain := new(commonpb.Payload)
		if err := proto.Unmarshal(data, plain); err != nil {
			return nil, err
		}
		made = append(made, plain)
	}
	return made, nil
}

const planted = "the-planted-secret"

// TestNothingReadableIsLeft of runs that end in each of the ways, in their histories, in the database of
// the server and in the blobs. The key is rotated in the middle.
func TestNothingReadableIsLeft(t *testing.T) {
	dial(t, new(temporalengine.MemoryBlobs)) // skips
	dir := temporalengine.DirBlobs{Dir: filepath.Join(t.TempDir(), "blobs")}
	old := ring{"a", map[string][]byte{"a": bytes.Repeat([]byte{1}, 32)}}
	rotated := ring{"b", map[string][]byte{"a": bytes.Repeat([]byte{1}, 32), "b": bytes.Repeat([]byte{2}, 32)}}
	ends := map[string]func(t *testing.T, c client.Client, run *temporalengine.Run[report]) error{
		"output": func(t *testing.T, _ client.Client, run *temporalengine.Run[report]) error {
			_, err := run.Answer(t.Context(), both(waiting(t, run)))
			return err
		},
		"failure": func(t *testing.T, _ client.Client, run *temporalengine.Run[report]) error {
			var no toolset.DeferredResults
			no.Decide(waiting(t, run)[0].Key(), toolset.Deny(planted+" fail"))
			_, err := run.Answer(t.Context(), no)
			return err
		},
		"cancellation": func(t *testing.T, _ client.Client, run *temporalengine.Run[report]) error {
			waiting(t, run)
			return errors.Join(run.Send(t.Context(), model.User(planted)), run.Cancel(t.Context()))
		},
		"termination": func(t *testing.T, c client.Client, run *temporalengine.Run[report]) error {
			waiting(t, run)
			return c.TerminateWorkflow(t.Context(), run.ID(), "", "by the test")
		},
	}
	own := server{program: shared.server.program, database: filepath.Join(t.TempDir(), "temporal.db")}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	own.address = l.Addr().String()
	require.NoError(t, l.Close())
	require.NoError(t, own.start())
	t.Cleanup(own.kill)
	for _, codec := range []converter.PayloadCodec{old, rotated, temporalengine.Codec(sealtest.Ring())} {
		blobs := temporalengine.Encrypted(dir, codec)
		c, err := client.Dial(client.Options{
			HostPort: own.address, DataConverter: temporalengine.Converter(blobs), FailureConverter: temporalengine.FailureConverter(blobs),
			Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		})
		require.NoError(t, err)
		defer c.Close()
		for name, end := range ends {
			for size, filler := range map[string]string{"small": "", "large": strings.Repeat(planted, 10_000)} {
				t.Run(name+" "+size, func(t *testing.T) {
					queue := rand.Text()
					work(t, c, queue, worker.Options{}, config(secretive(t, filler), blobs))
					runs, err := temporalengine.NewClient[report](c, temporalengine.ClientOptions{Name: "reporter", TaskQueue: queue, Blobs: blobs})
					require.NoError(t, err)
					run, err := runs.Start(t.Context(), temporalengine.Input{
						Prompt: planted + filler, Metadata: map[string]string{"user": planted},
					})
					require.NoError(t, err)
					require.NoError(t, end(t, c, run))
					res, err := run.Result(t.Context())
					var failed *temporalengine.Error
					switch {
					case name == "output":
						require.NoError(t, err)
						require.Equal(t, planted, res.Output.Text)
					default:
						require.ErrorAs(t, err, &failed)
						require.NotEmpty(t, failed.Messages)
						if name == "failure" {
							require.ErrorContains(t, err, planted)
						}
					}
					for _, e := range history(t, c, run.ID()) {
						data, err := proto.Marshal(e)
						require.NoError(t, err)
						require.NotContains(t, string(data), planted, e.EventType)
					}
				})
			}
		}
	}
	own.kill()
	files, err := filepath.Glob(own.database + "*")
	require.NoError(t, err)
	var database []byte
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		database = append(database, data...)
	}
	require.True(t, bytes.Contains(database, []byte("reporter")), "names are readable")
	require.False(t, bytes.Contains(database, []byte(planted)))
	blobs := 0
	require.NoError(t, filepath.WalkDir(dir.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		require.NotContains(t, string(data), planted)
		blobs++
		return err
	}))
	require.Positive(t, blobs)
}

// secretive is an agent that says the secret in all that it says.
func secretive(t *testing.T, filler string) *agent.Agent[deps, report] {
	t.Helper()
	type text struct{ Text string }
	tool := func(context.Context, *toolset.RunContext[deps], text) (string, error) {
		return planted + filler, nil
	}
	guard := toolset.Approve(func(context.Context, *toolset.RunContext[deps], text) (*toolset.Approval, error) {
		return &toolset.Approval{Reason: planted}, nil
	})
	say := func(_ context.Context, req *model.Request) (*model.Message, error) {
		last := req.Messages[len(req.Messages)-1].Parts[0]
		switch {
		case strings.Contains(last.Text, "fail"):
			return nil, errors.New(planted + " was too much")
		case len(req.Messages) == 1:
			return model.Response(model.Text(planted), model.ToolCall("a", "work", `{"Text":"`+planted+filler+`"}`)), nil
		}
		return model.Response(final(planted)), nil
	}
	return agent.Must(agent.New(agent.Config[deps, report]{
		Name: "secretive", Model: modeltest.Func(say), Tools: []*toolset.Tool[deps]{toolset.Func("work", "Work.", tool, guard)},
	}))
}
