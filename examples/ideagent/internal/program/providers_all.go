// SPDX-License-Identifier: Apache-2.0

//go:build providers

package program

// With -tags providers the program knows every provider, at the price of their SDKs: 28 MB instead
// of 11, and twice the build time.
import (
	_ "github.com/ponte-go/ponte/agent/model/anthropicmodel" // anthropic
	_ "github.com/ponte-go/ponte/agent/model/geminimodel"    // google, vertex
)
