// SPDX-License-Identifier: Apache-2.0

package unstable

import "github.com/ponte-go/ponte/acpbridge/acp/internal/codec"

func marshalJSON(v any) ([]byte, error) { return codec.Marshal(v) }

func unmarshalJSON(data []byte, v any) error { return codec.Unmarshal(data, v) }
