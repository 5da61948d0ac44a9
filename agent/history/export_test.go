// SPDX-License-Identifier: Apache-2.0

package history

// WeakMap lets tests see what is remembered.
type WeakMap struct{ weakMap[[64]byte, int] }

// Set remembers a value for a key.
func (w *WeakMap) Set(key *[64]byte, v int) { w.set(key, v) }

// Get returns what is remembered for a key.
func (w *WeakMap) Get(key *[64]byte) (int, bool) { return w.get(key) }

// Len counts what is remembered.
func (w *WeakMap) Len() int { return len(w.entries) }

// Pieces splits a text into pieces of at most n bytes.
func Pieces(text string, n int) []string { return pieces(text, n) }
