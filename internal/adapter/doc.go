// SPDX-License-Identifier: Apache-2.0

// Package adapter has what the adapters of several providers share: how a conversation is laid out on the wire, what is
// checked before a request is sent, and how errors are told apart.
package adapter
