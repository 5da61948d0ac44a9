// SPDX-License-Identifier: Apache-2.0

// Package lsp speaks the Language Server Protocol as a client: a [Conn] with a server that is not
// trusted, the types of the protocol that code intelligence needs, and positions in a [Text].
package lsp

//go:generate go run ../dev/lspgen -out types_gen.go
