// SPDX-License-Identifier: Apache-2.0

package workspace

// IndexRare finds a text in a block as a search does.
func IndexRare(block, text []byte) int { return indexRare(block, text, rarest(text)) }
