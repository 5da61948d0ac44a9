// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/ponte-go/ponte/agent/session"
)

// sealedEncoding marks payloads of a [Codec].
const sealedEncoding = "binary/ponte-sealed"

// Codec returns a codec for [Encrypted] that encrypts with the keyring of the sessions. Its first
// key encrypts, all of them decrypt.
func Codec(keys session.Keyring) converter.PayloadCodec { return codec{keys} }

type codec struct{ keys session.Keyring }

// Encode implements [converter.PayloadCodec].
func (c codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		data, err := proto.Marshal(p)
		if err == nil {
			data, err = c.keys.Seal(data, "payload")
		}
		if err != nil {
			return nil, err
		}
		made := map[string][]byte{converter.MetadataEncoding: []byte(sealedEncoding)}
		return &commonpb.Payload{Metadata: made, Data: data}, nil
	})
}

// Decode implements [converter.PayloadCodec].
func (c codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		if is := string(p.GetMetadata()[converter.MetadataEncoding]); is != sealedEncoding {
			return nil, fmt.Errorf("temporalengine: %w: a payload with the encoding %q",
				session.ErrCorrupt, is)
		}
		data, err := c.keys.Open(p.GetData(), "payload")
		if err != nil {
			return nil, err
		}
		opened := new(commonpb.Payload)
		return opened, proto.Unmarshal(data, opened)
	})
}
