// SPDX-License-Identifier: Apache-2.0

package model

import "fmt"

// Identifier is implemented by models that know what their responses depend on besides the request and [Info].
type Identifier interface {
	// Identity returns a text that differs if the responses to the same request may: because of another address, other
	// default settings, or another wrapper. It is the same in each process, has no secret, and is not meant to be read.
	// Keys do not matter. It is empty if it is not known.
	Identity() string
}

// Identity returns the identity of a model, or "" if it is not known. A type that embeds a model and changes what it does
// has another identity than that model.
func Identity(m Model) string {
	known, ok := m.(Identifier)
	if !ok {
		return ""
	}
	id := known.Identity()
	if id == "" {
		return ""
	}
	return fmt.Sprintf("%T %s", m, id)
}
