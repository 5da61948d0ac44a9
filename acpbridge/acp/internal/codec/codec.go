// SPDX-License-Identifier: Apache-2.0

// Package codec lends the codec of package acp, which is not for users, to package unstable. Package acp sets the variables.
package codec

var (
	// Marshal encodes what the pointer points to.
	Marshal func(pointer any) ([]byte, error)
	// Unmarshal decodes JSON into what the pointer points to.
	Unmarshal func(data []byte, pointer any) error
)
