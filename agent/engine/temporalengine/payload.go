// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"
)

const (
	// maxInline is the size in bytes up to which data is part of an event.
	maxInline = 64 << 10
	// blobTimeout bounds how long data is put or got. What fails is tried again by Temporal.
	blobTimeout = 30 * time.Second
	// loadTimeout bounds how long a history is loaded.
	loadTimeout = 5 * time.Minute
	// byReference marks a payload whose data is the key of a blob.
	byReference = "binary/ponte-blob"
)

// errBlobs is part of the errors of payloads that are kept in blobs that cannot be reached.
var errBlobs = errors.New("temporalengine: the blobs cannot be reached")

// patiently calls f until it succeeds, the context ends, or the blob does not exist. Temporal drops
// a signal that cannot be read.
func patiently(ctx context.Context, f func() error) error {
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := f()
		if err == nil {
			return nil
		}
		if errors.Is(err, ErrNoBlob) || errors.Is(err, errChanged) {
			return fmt.Errorf("%w: %w", errBlobs, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", errBlobs, err)
		}
	}
}

// Converter converts what travels between clients, workflows and activities. It keeps everything
// above 64 KiB in blobs, which limits the size of payloads. All programs that start, execute or ask
// about the runs set it as client.Options.DataConverter. Workflows of other kinds can use it, too.
func Converter(b Blobs) converter.DataConverter {
	return anywhere{byReferences(b), byReferencesOver(b, littleInline)}
}

// littleKey marks the context of a call to the service that there may be thousands of in one execution of a workflow.
type littleKey struct{}

// withLittle has [Converter] keep in blobs what is larger than littleInline. A step that takes long
// cannot be continued as a new workflow, and the server accepts 10,000 signals for a workflow, but
// only 50 MiB.
func withLittle(ctx context.Context) context.Context {
	return context.WithValue(ctx, littleKey{}, true)
}

// anywhere is a converter that is patient in workflows: to get a blob may take more than the second that a workflow has before Temporal calls it
// stuck. In activities it is not. A local activity gets the converter of its workflow, and would pause that detection from a goroutine of
// its own, while the workflow's may end: in SDK 1.50 both wait for each other's lock then, and the worker stands still.
type anywhere struct {
	converter.DataConverter
	little converter.DataConverter
}

// WithWorkflowContext implements [workflow.ContextAware].
func (c anywhere) WithWorkflowContext(ctx workflow.Context) converter.DataConverter {
	return inWorkflow{patient(ctx, c.DataConverter), c}
}

// WithContext implements [workflow.ContextAware].
func (c anywhere) WithContext(ctx context.Context) converter.DataConverter {
	if ctx.Value(littleKey{}) != nil {
		return c.little
	}
	return c
}

// inWorkflow is the converter of a workflow. Unavailable data fails the workflow task, which
// Temporal retries, on this worker or another one. An error would fail the workflow if the data is
// its input, and a signal would be dropped.
type inWorkflow struct {
	converter.DataConverter
	outside anywhere
}

// FromPayload implements [converter.DataConverter].
func (c inWorkflow) FromPayload(p *commonpb.Payload, to any) error {
	return reached(c.DataConverter.FromPayload(p, to))
}

// FromPayloads implements [converter.DataConverter].
func (c inWorkflow) FromPayloads(p *commonpb.Payloads, to ...any) error {
	return reached(c.DataConverter.FromPayloads(p, to...))
}

// reached panics if the blobs could not be reached.
func reached(err error) error {
	if errors.Is(err, errBlobs) {
		panic(short(err))
	}
	return err
}

// WithWorkflowContext implements [workflow.ContextAware].
func (c inWorkflow) WithWorkflowContext(ctx workflow.Context) converter.DataConverter {
	return c.outside.WithWorkflowContext(ctx)
}

// WithContext implements [workflow.ContextAware].
func (c inWorkflow) WithContext(context.Context) converter.DataConverter { return c.outside }

var _, _ workflow.ContextAware = anywhere{}, inWorkflow{}

func byReferences(b Blobs) converter.DataConverter { return byReferencesOver(b, maxInline) }

// byReferencesOver keeps in blobs what has more bytes than the limit.
func byReferencesOver(b Blobs, limit int) converter.DataConverter {
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codecs(b, limit)...)
}

// references is a codec that keeps large payloads elsewhere.
type references struct {
	blobs Blobs
	limit int
}

// Encode implements [converter.PayloadCodec].
func (r *references) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	ctx, cancel := context.WithTimeout(context.Background(), blobTimeout)
	defer cancel()
	made := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		made[i] = p
		if len(p.GetData()) <= r.limit {
			continue
		}
		data, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
		if err != nil {
			return nil, err
		}
		key := keyOf(data)
		if err := patiently(ctx, func() error { return r.blobs.Put(ctx, key, data) }); err != nil {
			return nil, fmt.Errorf("put blob: %w", err)
		}
		made[i] = &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(byReference)}, Data: []byte(key)}
	}
	return made, nil
}

// Decode implements [converter.PayloadCodec].
func (r *references) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	ctx, cancel := context.WithTimeout(context.Background(), blobTimeout)
	defer cancel()
	made := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		made[i] = p
		if string(p.GetMetadata()[converter.MetadataEncoding]) != byReference {
			continue
		}
		var data []byte
		err := patiently(ctx, func() (err error) {
			data, err = get(ctx, r.blobs, string(p.GetData()))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("get blob: %w", err)
		}
		made[i] = new(commonpb.Payload)
		if err := proto.Unmarshal(data, made[i]); err != nil {
			return nil, fmt.Errorf("temporalengine: blob %s: %w", p.GetData(), err)
		}
	}
	return made, nil
}
