// SPDX-License-Identifier: Apache-2.0

package adapter

import "github.com/ponte-go/ponte/internal/plainjson"

// AppendJSONString is [plainjson.AppendString].
func AppendJSONString[S ~string | ~[]byte](dst []byte, s S) []byte {
	return plainjson.AppendString(dst, s)
}

// AppendJSONChars is [plainjson.AppendChars].
func AppendJSONChars[S ~string | ~[]byte](dst []byte, s S) []byte {
	return plainjson.AppendChars(dst, s)
}
