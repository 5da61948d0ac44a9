// SPDX-License-Identifier: Apache-2.0

// Package adapter is shared by the adapters of several providers: it lays conversations out for the
// wire, checks requests before they are sent, and classifies errors.
package adapter
