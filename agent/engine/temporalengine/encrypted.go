// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
)

// Encrypted returns blobs in which everything is encoded by a codec, such as one that encrypts.
// [Converter], with these blobs, encodes everything else that the server sees of runs in the same
// way, so workers and clients need nothing but the same Encrypted blobs, and [FailureConverter].
// What stays readable are names and ids: of workflows, agents, activities, queues and calls, and
// the search attributes of [Index].
//
// The key of a blob is the SHA-256 hash of what was put, before it was encoded.
func Encrypted(b Blobs, codec converter.PayloadCodec) Blobs { return &encrypted{b, codec} }

// encrypted are blobs whose data is encoded.
type encrypted struct {
	blobs Blobs
	codec converter.PayloadCodec
}

// Put implements [Blobs].
func (e *encrypted) Put(ctx context.Context, key string, data []byte) error {
	encoded, err := one(e.codec.Encode([]*commonpb.Payload{{Data: data}}))
	if err != nil {
		return err
	}
	if data, err = proto.Marshal(encoded); err != nil {
		return err
	}
	return e.blobs.Put(ctx, key, data)
}

// Get implements [Blobs].
func (e *encrypted) Get(ctx context.Context, key string) ([]byte, error) {
	data, err := e.blobs.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	encoded := new(commonpb.Payload)
	if err := proto.Unmarshal(data, encoded); err != nil {
		return nil, fmt.Errorf("temporalengine: blob %s is not encoded: %w", key, err)
	}
	decoded, err := one(e.codec.Decode([]*commonpb.Payload{encoded}))
	if err != nil {
		return nil, fmt.Errorf("temporalengine: blob %s: %w", key, err)
	}
	return decoded.GetData(), nil
}

// codecs are what payloads go through: on their way to the server the last one comes first.
func codecs(b Blobs, limit int) []converter.PayloadCodec {
	if e, ok := b.(*encrypted); ok {
		return []converter.PayloadCodec{&references{e.blobs, limit}, once{e.codec}}
	}
	return []converter.PayloadCodec{&references{b, limit}}
}

// encodedKey marks a payload that a codec has encoded.
const encodedKey = "ponte-encoded"

// once is a codec that encodes nothing twice: some payloads come from a converter already.
type once struct{ codec converter.PayloadCodec }

// Encode implements [converter.PayloadCodec].
func (o once) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		if marked(p) || string(p.GetMetadata()[converter.MetadataEncoding]) == byReference {
			return p, nil
		}
		made, err := one(o.codec.Encode([]*commonpb.Payload{p}))
		if err != nil {
			return nil, err
		}
		made = proto.CloneOf(made)
		if made.Metadata == nil {
			made.Metadata = map[string][]byte{}
		}
		made.Metadata[encodedKey] = []byte("1")
		return made, nil
	})
}

// Decode implements [converter.PayloadCodec]. What is not marked was written before there was a
// codec.
func (o once) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		if !marked(p) {
			return p, nil
		}
		p = proto.CloneOf(p)
		delete(p.Metadata, encodedKey)
		return one(o.codec.Decode([]*commonpb.Payload{p}))
	})
}

func marked(p *commonpb.Payload) bool { return len(p.GetMetadata()[encodedKey]) > 0 }

func each(
	payloads []*commonpb.Payload, f func(*commonpb.Payload) (*commonpb.Payload, error),
) ([]*commonpb.Payload, error) {
	made := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		var err error
		if made[i], err = f(p); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// one returns what a codec has made of one payload.
func one(made []*commonpb.Payload, err error) (*commonpb.Payload, error) {
	if err == nil && len(made) != 1 {
		err = fmt.Errorf("temporalengine: the codec made %d payloads of one", len(made))
	}
	if err != nil {
		return nil, err
	}
	return made[0], nil
}

// FailureConverter encodes the texts of errors as [Converter] encodes payloads. Workers and
// clients set it as client.Options.FailureConverter if their blobs are [Encrypted]: errors may
// contain what users and tools said.
func FailureConverter(b Blobs) converter.FailureConverter {
	return temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: Converter(b), EncodeCommonAttributes: true,
	})
}
