// SPDX-License-Identifier: Apache-2.0

// Package durable tests that the module for Temporal and the module for Postgres work together. It
// is a separate module, because each of them keeps the other's dependencies out.
package durable
