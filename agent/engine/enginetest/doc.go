// SPDX-License-Identifier: Apache-2.0

// Package enginetest checks implementations of engine.Engine and of journal.Journal.
package enginetest
