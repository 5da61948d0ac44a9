// SPDX-License-Identifier: Apache-2.0

package webfetch

// Markdown is exported for tests of its work and memory.
var Markdown = markdown

// SetOf and Union make the sets of elements.
var SetOf, Union = setOf, union
