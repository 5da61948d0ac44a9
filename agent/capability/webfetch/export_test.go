// SPDX-License-Identifier: Apache-2.0

package webfetch

// Markdown is exported for tests of its work and memory.
var Markdown = markdown
